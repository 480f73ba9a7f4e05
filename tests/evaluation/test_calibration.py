"""Calibration: optimal temperatures, functions of marginals, and what neither may change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelweave import (
    BinaryRelevance,
    CalibratedJointCV,
    ChainEnsemble,
    ClassifierChain,
    LabelPowerset,
    persistence,
)
from labelweave._common.folds import Fold
from labelweave.decision import MajorityVote, PrecisionAtK, RankingLoss
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint
from labelweave.metrics import METRICS
from labelweave.models.calibration import (
    calibrated_by_others,
    fit_marginal_calibration,
    held_out_loss,
    held_out_temperature,
)
from labelweave.models.cross_fitting import CrossFit
from labelweave.models.methods import make_method, with_preprocessing
from tests.contract.samples import sample
from tests.joint.cases import chain_parameters, forms, make, seeds

BR = BinaryRelevance(C=1.0)
CHAIN = ClassifierChain(C=1.0, label_penalty=0.1)
NAIVE = BinaryRelevance(estimator=GaussianNB())
X, Y = sample(n=150, n_features=4, n_labels=3, seed=3)
NEW = sample(n=40, n_features=4, n_labels=3, seed=4)[0]


# ---------------------------------------------------------------------- temperature


def fit_temperature(joint, labels, sample_weight=None):
    """Return the temperature that the labels of these rows choose."""
    weight = np.ones(joint.n_rows) if sample_weight is None else sample_weight
    rows = CrossFit([joint], [Fold(np.arange(0), np.arange(joint.n_rows))])
    return held_out_temperature(rows, np.asarray(labels, dtype=np.int8), weight)


@given(seeds)
@settings(max_examples=15)
def test_the_temperature_is_the_maximum_of_the_enumerated_likelihood(seed):
    joint, _ = make("mixture", seed, 30, 3)
    labels = joint.sample(1, 5)[:, 0]
    weight = np.random.default_rng(seed).random(30)
    table = joint._table(np.arange(3))
    code = labels @ 2 ** np.arange(3)

    def loss(log_beta):
        power = np.exp(log_beta) * table
        power = power - np.log(np.exp(power).sum(axis=1, keepdims=True))
        prior = 2 * (np.exp(log_beta) - 1 - log_beta)
        return prior - weight @ power[np.arange(30), code]

    best = minimize_scalar(loss, bounds=(-4, 4), method="bounded", options={"xatol": 1e-8})
    temperature = fit_temperature(joint, labels, sample_weight=weight)
    assert loss(-np.log(temperature)) == pytest.approx(best.fun, abs=1e-5)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_overconfidence_by_a_known_factor_is_undone(factor):
    true = ChainJoint(*chain_parameters(np.random.default_rng(0), 4000, 4, 1.0))
    labels = true.sample(1, 1)[:, 0]
    assert fit_temperature(true.tempered(1 / factor), labels) == pytest.approx(factor, rel=0.05)


def test_long_chains_find_their_temperature_from_draws():
    rng = np.random.default_rng(1)
    scores, coupling, order = chain_parameters(rng, 300, 18, 0.5)
    true = ChainJoint(scores - 1.0, coupling, order)
    labels = true.sample(1, 1)[:, 0]
    sharp = true.tempered(0.5, samples=64)
    assert fit_temperature(sharp, labels) == pytest.approx(2.0, rel=0.1)


def test_few_rows_hardly_move_the_temperature():
    few = CalibratedJointCV(estimator=BR).fit(X[:2], Y[:2])
    assert 1 / 3 < few.temperature_ < 3
    constant = CalibratedJointCV(estimator=BR).fit(X, np.ones_like(Y))
    assert 1 / 3 < constant.temperature_ <= 1
    certain = CrossFit([IndependentJoint([[np.inf]])], [Fold(np.arange(0), np.arange(1))])
    assert str(held_out_loss(certain, np.ones((1, 1), np.int8), np.ones(1), 1.0)) == "0.0"


def test_where_no_temperature_matters_it_is_one():
    certain = IndependentJoint(np.array([[np.inf], [-np.inf]]))
    assert fit_temperature(certain, [[1], [0]]) == 1.0
    flat = IndependentJoint(np.zeros((5, 2)))
    assert fit_temperature(flat, np.ones((5, 2))) == 1.0


def test_impossible_vectors_do_not_count():
    listed = ListedJoint([[1], [0]], np.log([[0.9, 0.1]] * 4 + [[1.0, 1e-300]]))
    listed.log_weights[4] = 0.0, -np.inf
    with pytest.warns(UserWarning, match="1 held-out row"):
        with_impossible = fit_temperature(listed, [[1], [1], [1], [0], [0]])
    assert with_impossible == pytest.approx(fit_temperature(listed[:4], [[1], [1], [1], [0]]))


def test_rows_of_probability_zero_never_make_the_others_surer():
    cautious = ListedJoint([[1], [0]], np.log([[0.6, 0.4]] * 50 + [[1.0, 1e-300]]))
    cautious.log_weights[50] = 0.0, -np.inf
    truth = np.ones((51, 1), dtype=np.int8)
    assert fit_temperature(cautious, truth) < 0.5
    truth[50] = 0
    with pytest.warns(UserWarning, match="at least 1"):
        assert fit_temperature(cautious, truth) == 1.0


# ---------------------------------------------------------------------- marginals


@given(seeds, st.integers(5, 60), st.integers(1, 4))
@settings(max_examples=15)
def test_sigmoids_minimise_their_penalised_loss(seed, n, L):
    rng = np.random.default_rng(seed)
    p, labels = rng.random((n, L)), rng.integers(0, 2, (n, L))
    weight = rng.random(n)
    found = fit_marginal_calibration(p, labels, weight)
    for j in range(L):

        def loss(ab, j=j):
            u = ab[0] * logit(p[:, j]) + ab[1]
            return weight @ (np.logaddexp(0, u) - labels[:, j] * u) + (
                ((ab[0] - 1) ** 2 + ab[1] ** 2) / 2
            )

        increasing = [(0.05, None), (None, None)]
        best = minimize(loss, [1.0, 0.0], bounds=increasing, tol=1e-14)
        assert loss([found.slope[j], found.intercept[j]]) == pytest.approx(best.fun, abs=1e-8)


@given(seeds)
@settings(max_examples=10)
def test_isotonic_functions_increase_and_stay_within_zero_and_one(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=2, size=(300, 3))
    labels = (rng.random(z.shape) < expit(z / 2 - [0, 1, 6])).astype(np.int8)
    p = expit(z)
    found = fit_marginal_calibration(p, labels, np.ones(300), isotonic=True)
    assert [len(knots[0]) > 0 for knots in found.knots] == [True, True, False]
    grid = np.repeat(np.linspace(0, 1, 500)[:, None], 3, axis=1)
    values = found(grid)
    assert (np.diff(values, axis=0) >= -1e-12).all()
    assert ((values > 0) & (values < 1)).all()


def test_few_rows_do_not_turn_the_order_of_marginals_round():
    z = np.array([[-3.0], [-2.0], [-1.0], [0.0], [1.0]] * 6)
    labels = (z == -3.0).astype(np.int8)
    found = fit_marginal_calibration(expit(z), labels, np.ones(30))
    assert found.slope[0] > 0
    # With the slope as small as it may be, the intercept is still the best one.
    gradient = (expit(found.slope * z + found.intercept) - labels).sum() + found.intercept
    assert gradient == pytest.approx(0, abs=1e-8)


def test_few_positives_hardly_move_a_label():
    p = np.full((30, 1), 0.02)
    labels = np.zeros((30, 1), dtype=np.int8)
    found = fit_marginal_calibration(p, labels, np.ones(30))
    assert 0.001 < found(p)[0, 0] < 0.02
    labels[0] = 1
    assert fit_marginal_calibration(p, labels, np.ones(30))(p)[0, 0] == pytest.approx(
        0.03, abs=0.01
    )


# ---------------------------------------------------------------------- estimator


@pytest.mark.parametrize("estimator", [BR, CHAIN, NAIVE], ids=["br", "chain", "naive Bayes"])
def test_the_mode_stays_and_the_joint_is_tempered(estimator):
    model = CalibratedJointCV(estimator=estimator).fit(X, Y)
    plain = clone(estimator).fit(X, Y)
    np.testing.assert_array_equal(model.predict(NEW), plain.predict(NEW))
    joint, expected = (
        model.predict_joint(NEW),
        plain.predict_joint(NEW).tempered(model.temperature_),
    )
    np.testing.assert_allclose(joint.marginals(), expected.marginals())
    np.testing.assert_array_equal(joint.mode().labels, plain.predict_joint(NEW).mode().labels)
    np.testing.assert_allclose(model.predict_proba(NEW), joint.marginals())
    before, after = model.log_loss_["joint"]
    assert after <= before


def test_the_temperature_is_that_of_rows_held_out():
    splits = list(KFold(4).split(X))
    model = CalibratedJointCV(estimator=CHAIN, cv=splits).fit(X, Y)
    tables, labels = [], []
    for train, test in splits:
        joint = clone(CHAIN).fit(X[train], Y[train]).predict_joint(X[test])
        tables.append(joint._table(np.arange(3)))
        labels.append(Y[test])
    whole, truth = ListedJoint.of_table(np.concatenate(tables)), np.concatenate(labels)
    assert model.temperature_ == pytest.approx(fit_temperature(whole, truth), rel=1e-3)
    assert model.log_loss_["joint"][0] == pytest.approx(-whole.log_prob(truth).mean())


def test_folds_use_the_penalties_that_were_chosen_on_all_rows():
    chosen = CalibratedJointCV(estimator=ClassifierChain()).fit(X, Y)
    inner = chosen.estimator_
    fixed = ClassifierChain(C=inner.C_, label_penalty=inner.label_penalty_)
    again = CalibratedJointCV(estimator=fixed).fit(X, Y)
    assert again.temperature_ == pytest.approx(chosen.temperature_)


def test_a_frozen_model_is_calibrated_by_all_rows():
    fitted = clone(NAIVE).fit(X[:75], Y[:75])
    model = CalibratedJointCV(estimator=FrozenEstimator(fitted)).fit(X[75:], Y[75:])
    expected = fit_temperature(fitted.predict_joint(X[75:]), Y[75:])
    assert model.temperature_ == pytest.approx(expected, rel=1e-3)
    np.testing.assert_array_equal(model.predict(NEW), fitted.predict(NEW))


@pytest.mark.parametrize("way", ["sigmoid", "isotonic"])
def test_marginals_of_naive_bayes_are_calibrated(way):
    X, Y = sample(n=400, n_features=4, n_labels=3, seed=5)
    repeated = np.repeat(X, 6, axis=1)  # evidence that naive Bayes counts six times
    model = CalibratedJointCV(estimator=NAIVE, temperature=None, marginals=way)
    model.fit(repeated[:300], Y[:300])
    assert model.temperature_ == 1.0
    before, after = model.log_loss_["marginals"]
    assert after < before
    rows, truth = repeated[300:], Y[300:]
    plain = model.estimator_.predict_proba(rows)
    assert METRICS["log_loss"](truth, model.predict_proba(rows)) < METRICS["log_loss"](truth, plain)
    np.testing.assert_allclose(model.predict_joint(rows).marginals(), plain)


def test_no_row_judges_a_function_that_was_fitted_to_it():
    rng = np.random.default_rng(0)
    p, labels, weight = rng.random((4, 1)), np.array([[0], [1], [1], [0]], np.int8), np.ones(4)
    # Three folds that share some rows.
    folds = [Fold(np.arange(0), np.array(rows)) for rows in ([0, 1], [2, 1], [3, 0])]
    marginals = CrossFit([p[fold.held_out] for fold in folds], folds)
    found = calibrated_by_others(marginals, labels, weight, None, isotonic=False)
    for k, others in enumerate(([2, 3], [0, 3, 0], [1, 2, 1])):
        by_others = fit_marginal_calibration(p[others], labels[others], weight[others])
        expected = by_others(p[folds[k].held_out])
        np.testing.assert_allclose(found[2 * k : 2 * k + 2], expected)
    repeated = CalibratedJointCV(estimator=BR, marginals="isotonic", cv=ShuffleSplit(3))
    assert np.isfinite(repeated.fit(X, Y).log_loss_["marginals"]).all()


def test_decisions_by_marginals_use_the_calibrated_ones():
    model = CalibratedJointCV(estimator=NAIVE, marginals="sigmoid", decision="hamming").fit(X, Y)
    marginals = model.predict_proba(NEW)
    np.testing.assert_array_equal(model.predict(NEW), marginals > 0.5)
    decided = model.decide(NEW, "hamming")
    np.testing.assert_allclose(decided.risk, np.minimum(marginals, 1 - marginals).mean(axis=1))
    best = model.decide(NEW, PrecisionAtK(1)).labels.argmax(axis=1)
    np.testing.assert_array_equal(best, marginals.argmax(axis=1))
    ranking = RankingLoss(normalized=False)
    above = marginals > marginals.mean(axis=1, keepdims=True)
    ranked = model.decide(NEW, ranking)
    np.testing.assert_array_equal(ranked.labels, above)
    np.testing.assert_allclose(ranked.risk, ranking.risk(model.predict_joint(NEW), above))
    # The probability of a whole vector is that of the tempered joint.
    mode = model.decide(NEW, "subset")
    np.testing.assert_allclose(mode.score, np.exp(model.predict_joint(NEW).mode().log_prob))


def test_thresholds_are_tuned_on_the_calibrated_marginals_of_the_same_folds():
    model = CalibratedJointCV(estimator=BR, marginals="sigmoid", decision="macro_f1").fit(X, Y)
    chosen = model.predict_proba(NEW) > model.thresholds_
    np.testing.assert_array_equal(model.predict(NEW), chosen)
    plain = CalibratedJointCV(estimator=BR, temperature=None, decision="macro_f1").fit(X, Y)
    chosen = plain.predict_proba(NEW) > plain.thresholds_
    np.testing.assert_array_equal(plain.predict(NEW), chosen)


def test_votes_of_an_ensemble_are_those_of_its_members():
    ensemble = make_method("ecc(n_estimators=3, C=1, label_penalty=0.1)")
    model = CalibratedJointCV(ensemble, decision=MajorityVote()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(NEW), clone(ensemble).fit(X, Y).predict(NEW))


def test_equal_rows_leave_everything_as_it_is():
    model = CalibratedJointCV(estimator=BR, marginals="isotonic", decision="macro_f1")
    model.fit(np.ones((20, 2)), Y[:20])
    assert (model.temperature_, model.marginal_calibration_, model.log_loss_) == (1.0, None, {})
    assert model.predict(np.ones((2, 2))).shape == (2, 3)


def test_pipelines_are_calibrated_as_a_whole():
    pipeline = make_pipeline(StandardScaler(), BinaryRelevance(C=1.0))
    model = CalibratedJointCV(estimator=pipeline).fit(10 * X, Y)
    np.testing.assert_array_equal(model.predict(NEW), pipeline.fit(10 * X, Y).predict(NEW))
    prepared = with_preprocessing(CalibratedJointCV(estimator=BR), X)
    assert [name for name, _ in prepared.estimator.steps] == ["standardscaler", "binaryrelevance"]


def test_model_files_keep_the_calibration(tmp_path):
    model = CalibratedJointCV(estimator=CHAIN, marginals="isotonic").fit(X, Y)
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(
        again.predict_joint(NEW).log_prob(Y[:40]), model.predict_joint(NEW).log_prob(Y[:40])
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"temperature": "hot"},
            "temperature must be None, 'cv' or a finite number above 0; got 'hot'",
        ),
        ({"marginals": "platt"}, "marginals must be None, 'sigmoid' or 'isotonic'"),
        ({"cv": 1}, "cv must be a splitter, .* or a whole number of at least 2"),
        ({"cv": []}, "cv must be a splitter"),
        ({"cv": "5"}, "cv must be a splitter"),
        ({"estimator": LogisticRegression()}, "estimator must be an estimator of P"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        CalibratedJointCV(**parameters).fit(X, Y)


# ---------------------------------------------------------------------- methods and metrics


def test_methods_are_calibrated_by_name():
    model = make_method("calibrated(pcc(C=1), decision='f1')", seed=3)
    assert (model.temperature, model.marginals, model.decision) == ("cv", None, "f1")
    assert model.random_state == model.estimator.random_state == 3
    both = make_method("calibrated(br(features=KernelFeatures()), marginals='isotonic')")
    assert both.marginals == "isotonic"
    assert type(both.estimator.steps[0][1]).__name__ == "KernelFeatures"
    assert make_method("calibrated(estimator=br(C=1))").estimator.C == 1


def test_a_temperature_may_be_given():
    given = CalibratedJointCV(BR, temperature=3.0).fit(X, Y)
    assert given.temperature_ == 3.0
    joint = given.estimator_.predict_joint(NEW).tempered(3.0)
    np.testing.assert_allclose(given.predict_proba(NEW), joint.marginals())
    assert len(given.log_loss_["joint"]) == 2
    assert CalibratedJointCV(BR, temperature=None).fit(X, Y).temperature_ == 1.0


def test_log_loss_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    p, labels, weight = rng.random((20, 3)), rng.integers(0, 2, (20, 3)), rng.random(20)
    p[0, 0], p[1, 1] = 0, 1
    expected = [
        sklearn_log_loss(labels[:, j], p[:, j], sample_weight=weight, labels=[0, 1])
        for j in range(3)
    ]
    assert METRICS["log_loss"](labels, p, sample_weight=weight) == pytest.approx(np.mean(expected))
    assert np.isnan(METRICS["log_loss"](labels, p + 1))
    for wrong in (weight[:3], weight[:, None], -weight, 0 * weight):
        with pytest.raises(ValueError, match="sample_weight must"):
            METRICS["log_loss"](labels, p, sample_weight=wrong)
    joint = IndependentJoint(logit(p))
    for truth in (labels[:5], labels[:, :2]):
        with pytest.raises(ValueError, match="Y_true must have the shape"):
            METRICS["joint_calibration_error"](truth, joint)


@given(forms, seeds)
@settings(max_examples=10)
def test_the_joint_calibration_error_of_one_bin_is_the_difference_of_means(form, seed):
    joint, _ = make(form, seed, 20, 3)
    truth = joint.sample(1, 3)[:, 0]
    mode = joint.mode()
    right, p = (mode.labels == truth).all(axis=1), np.exp(mode.log_prob)
    error = METRICS["joint_calibration_error"](truth, joint)
    assert error >= abs(p.mean() - right.mean()) - 1e-9
    in_bins = sum(abs((p - right)[(p * 10).astype(int).clip(0, 9) == b].sum()) for b in range(10))
    assert error == pytest.approx(in_bins / 20)


def test_listed_vectors_that_were_not_seen_cost_infinitely_much_before_and_after():
    model = CalibratedJointCV(estimator=LabelPowerset(C=1.0)).fit(X, Y)
    assert np.isfinite(model.temperature_)
    trees = CalibratedJointCV(estimator=BinaryRelevance(estimator=DecisionTreeClassifier()))
    with pytest.warns(UserWarning, match="held-out row.*JointClassifierCV.*marginals='sigmoid'"):
        trees.fit(X, Y)
    assert trees.temperature_ >= 1
    assert trees.log_loss_["joint"] == (np.inf, np.inf)
    ensemble = CalibratedJointCV(estimator=ChainEnsemble(n_estimators=2, C=1.0, label_penalty=0.1))
    assert np.isfinite(ensemble.fit(X, Y).log_loss_["joint"]).all()
