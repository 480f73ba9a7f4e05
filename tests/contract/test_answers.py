"""predict, predict_proba, predict_joint and score tell one story."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit

from labelweave.decision import (
    CardinalityThreshold,
    ClassMassNormalization,
    HammingLoss,
    SubsetLoss,
    TunedThresholds,
)
from labelweave.decision.probabilities import Probabilities, check_scores
from labelweave.inference import Auto, Exhaustive, Greedy
from labelweave.joint import JointDistribution
from tests.contract.samples import all_vectors, answers, is_probabilistic, sample

X, Y = sample(n=60)
TEST = X[40:]


@pytest.fixture(scope="module")
def fitted():
    """Return the models of this module, each fitted once, by the number of its case."""
    return {}


@pytest.fixture
def model(case, estimator, fitted):
    """Return a copy of a fitted model, whose parameters a test may change."""
    if id(case) not in fitted:
        fitted[id(case)] = estimator.fit(X[:40], Y[:40])
    return deepcopy(fitted[id(case)])


def table(joint: JointDistribution) -> np.ndarray:
    """Probabilities of all label vectors, (n, 2^L), asked one vector at a time."""
    columns = [
        joint.log_prob(np.tile(vector, (joint.n_rows, 1))) for vector in all_vectors(joint.n_labels)
    ]
    return np.exp(np.stack(columns, axis=1))


@pytest.mark.usefixtures("probabilistic")
def test_shapes_and_types(model):
    labels, probability, joint = (
        model.predict(TEST),
        model.predict_proba(TEST),
        model.predict_joint(TEST),
    )
    assert labels.shape == probability.shape == (20, 4)
    assert labels.dtype == np.int64
    assert probability.dtype == np.float64
    assert isinstance(joint, JointDistribution)
    assert (joint.n_rows, joint.n_labels) == (20, 4)
    assert set(np.unique(labels)) <= {0, 1}


@pytest.mark.parametrize("strategy", ["auto", Greedy()])
@pytest.mark.usefixtures("probabilistic")
def test_every_way_to_ask_for_the_mode_is_one_search(model, strategy):
    if "inference" in model.get_params():
        model.set_params(inference=strategy)
    elif strategy != "auto":
        pytest.skip("has no inference")
    expected = model.set_params(decision="subset").predict(TEST)
    joint = model.predict_joint(TEST)
    for labels in (
        model.decide(TEST, "subset").labels,
        model.decide(TEST, SubsetLoss()).labels,
        joint.decide("subset").labels,
        joint.decide(SubsetLoss()).labels,
        model.set_params(decision=SubsetLoss()).predict(TEST),
    ):
        np.testing.assert_array_equal(labels, expected)
    if strategy == "auto":
        np.testing.assert_array_equal(joint.mode().labels, Auto()(joint).labels)


@pytest.mark.usefixtures("probabilistic", "marginals_of_the_joint")
def test_the_joint_is_a_distribution_with_these_marginals(model):
    joint = model.predict_joint(TEST)
    probabilities = table(joint)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(
        model.predict_proba(TEST), probabilities @ all_vectors(4), atol=1e-12
    )
    # Marginals in closed form may round differently.
    np.testing.assert_allclose(model.predict_proba(TEST), joint.marginals(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("decision", "strategy"),
    [("subset", "auto"), ("subset", Greedy()), ("subset", Exhaustive()), ("hamming", "auto")],
)
@pytest.mark.usefixtures("probabilistic")
def test_predict_is_the_decision_of_the_joint(model, decision, strategy):
    model.set_params(decision=decision)
    if "inference" in model.get_params():
        model.set_params(inference=strategy)
    elif strategy != "auto":
        pytest.skip("has no inference")
    joint, labels = model.predict_joint(TEST), model.predict(TEST)
    if decision == "hamming":
        np.testing.assert_array_equal(labels, model.predict_proba(TEST) > 0.5)
    elif strategy == Greedy():
        np.testing.assert_array_equal(labels, Greedy()(joint).labels)
    else:  # no vector is more probable
        best = table(joint).max(axis=1)
        np.testing.assert_allclose(np.exp(joint.log_prob(labels)), best, rtol=1e-9)


@pytest.mark.usefixtures("probabilistic", "marginals_of_the_joint")
def test_a_decision_may_be_any_callable(model):
    for decision in (SubsetLoss(Auto()), HammingLoss(), lambda joint: joint.known * 0):
        model.set_params(decision=decision)
        np.testing.assert_array_equal(model.predict(TEST), decision(model.predict_joint(TEST)))


def test_without_probabilities_there_are_decision_values(model):
    if is_probabilistic(model):
        pytest.skip("has probabilities")
    for name in ("predict_joint", "predict_proba"):
        with pytest.raises(AttributeError, match=name):
            getattr(model, name)
    labels = model.predict(TEST)
    assert labels.shape == (20, 4)
    assert labels.dtype == np.int64
    if hasattr(model, "decision_function"):
        margins = model.decision_function(TEST)
        assert margins.dtype == np.float64
        np.testing.assert_array_equal(labels, margins > 0)


def test_score_is_subset_accuracy(model):
    expected = (model.predict(TEST) == Y[40:]).all(axis=1).mean()
    for form in (np.asarray, pd.DataFrame, sp.csr_matrix, lambda a: a.astype(bool)):
        assert model.score(TEST, form(Y[40:])) == expected


@pytest.mark.usefixtures("probabilistic")
def test_conditioning_agrees_with_bayes_rule(model):
    joint = model.predict_joint(TEST)
    vectors = all_vectors(4)
    probabilities = table(joint)
    agrees = vectors[:, 1] == 1
    evidence = probabilities[:, agrees].sum(axis=1)
    possible = evidence > 0
    assert possible.any()
    given = joint[possible].condition({1: 1})
    expected = np.where(agrees, probabilities[possible], 0.0) / evidence[possible, None]
    np.testing.assert_allclose(table(given), expected, atol=1e-10)


@pytest.mark.usefixtures("probabilistic")
def test_log_odds_are_those_of_the_probabilities(model):
    log_odds = model.predict_log_odds(TEST)
    assert log_odds.shape == (20, 4)
    np.testing.assert_allclose(expit(log_odds), model.predict_proba(TEST), atol=1e-5)
    if model.threshold_rule() is None:
        np.testing.assert_allclose(model.scored(TEST).scores, expit(log_odds), atol=1e-12)


def test_rules_that_rank_rows_use_their_order_alone(model):
    """A strictly increasing transformation of the scores, up to 10,000, changes no label."""
    if not is_probabilistic(model) and model.threshold_rule() is None:
        pytest.skip("decides row by row, without scores")
    scores = model.scored(TEST).scores
    ranked = check_scores(scores)
    places = np.unique(ranked, return_inverse=True)[1].reshape(ranked.shape)
    stretched = 2e4 * places / max(places.max(), 1) - 1e4
    rates = Y[:40].mean(axis=0)
    for rule in (
        ClassMassNormalization(fallback=None),
        CardinalityThreshold(),
        TunedThresholds(),
        TunedThresholds(average="micro"),
    ):
        as_given, transformed = (
            rule.informed(rates, (values, Y[40:])).label(values)
            for values in (scores, Probabilities(stretched))
        )
        np.testing.assert_array_equal(as_given, transformed)


@pytest.mark.slow
@pytest.mark.usefixtures("probabilistic")
@pytest.mark.parametrize("decision", ["macro_f1", "micro_f1"])
def test_decisions_are_tuned_on_held_out_rows(estimator, decision):
    model = estimator.set_params(decision=decision).fit(X[:40], Y[:40])
    expected = model.predict_proba(TEST) > model.thresholds_
    np.testing.assert_array_equal(model.predict(TEST), expected)


def test_no_rows_are_refused_as_everywhere_in_scikit_learn(model):
    for answer in answers(model):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            answer(TEST[:0])


def test_other_features_are_refused(model):
    for answer in answers(model):
        with pytest.raises(ValueError, match=r"X has 4 features, but .* is expecting 5 features"):
            answer(TEST[:, :4])


def test_other_feature_names_are_refused(estimator):
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = estimator.fit(frame, Y)
    assert list(model.feature_names_in_) == list("vwxyz")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"v": "other"}))
