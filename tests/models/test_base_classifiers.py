"""Any scikit-learn classifier as the conditional of a label."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from labelweave import BinaryRelevance, ClassifierChain
from labelweave.inference import BestFirst, Exhaustive, Greedy
from labelweave.joint import enumeration as enumeration_of_joints
from labelweave.logistic.conditionals import LabelGraph
from labelweave.models.conditionals import (
    ConstantConditional,
    LabelConditionals,
    classifier_log_odds,
    with_labels,
)
from tests.contract.samples import all_vectors, sample

X, Y = sample(n=80)


class Opaque(GaussianNB):
    """Naive Bayes in a class nobody knows: its log-odds are not taken to be additive."""


FOREST = RandomForestClassifier(5, max_depth=3)


@pytest.mark.parametrize("model", [BinaryRelevance, ClassifierChain])
def test_open_seeds_are_filled_and_differ_by_label(model):
    fitted = model(estimator=FOREST).fit(X, Y)
    seeds = [estimator.random_state for estimator in fitted.estimators_]
    assert len(set(seeds)) == 4
    assert fitted.estimator.random_state is None
    again = model(estimator=FOREST).fit(X, Y)
    assert [estimator.random_state for estimator in again.estimators_] == seeds
    other = model(estimator=FOREST, random_state=1).fit(X, Y)
    assert [estimator.random_state for estimator in other.estimators_] != seeds


def test_a_seed_that_was_given_is_kept():
    base = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=12))
    fitted = BinaryRelevance(estimator=base).fit(X, Y)
    assert {estimator[-1].random_state for estimator in fitted.estimators_} == {12}


def test_seeds_inside_a_pipeline_are_filled():
    fitted = BinaryRelevance(estimator=make_pipeline(StandardScaler(), FOREST)).fit(X, Y)
    assert all(estimator[-1].random_state is not None for estimator in fitted.estimators_)


@pytest.mark.parametrize(
    "base",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        CalibratedClassifierCV(LinearSVC(), cv=2),
        FOREST,
        Opaque(),
    ],
)
def test_each_label_sees_the_features_and_the_labels_before(base):
    order = [2, 0, 3, 1]
    model = ClassifierChain(estimator=base, order=order).fit(X, Y)
    widths = [estimator.n_features_in_ for estimator in model.estimators_]
    assert [widths[label] for label in order] == [5, 6, 7, 8]
    joint = model.predict_joint(X[:6])
    assert joint.conditionals.linear is None
    # The probability of a vector is the product of what the fitted classifiers say.
    expected = np.ones(6)
    for position, label in enumerate(order):
        given = np.hstack([X[:6], Y[:6][:, order[:position]]])
        probability = model.estimators_[label].predict_proba(given)
        expected *= probability[np.arange(6), Y[:6, label]]
    np.testing.assert_allclose(np.exp(joint.log_prob(Y[:6])), expected, atol=1e-12)


def test_certain_classifiers_make_certain_joints():
    """A deep tree answers 0 or 1: probabilities stay exact and the mode is still found."""
    model = ClassifierChain(estimator=DecisionTreeClassifier()).fit(X, Y)
    joint = model.predict_joint(X)
    np.testing.assert_array_equal(joint.log_prob(Y), 0.0)
    np.testing.assert_array_equal(model.predict(X), Y)
    np.testing.assert_array_equal(joint.entropy(), 0.0)
    with pytest.raises(ValueError, match="probability zero"):
        joint.condition({0: 1 - Y[:, 0]})


@pytest.mark.parametrize("model", [BinaryRelevance, ClassifierChain])
@pytest.mark.parametrize("base", [None, LogisticRegression()])
@pytest.mark.parametrize("value", [0, 1])
def test_constant_labels_are_smoothed_after_laplace(model, base, value):
    labels = Y.copy()
    labels[:, 1] = value
    fitted = model(estimator=base).fit(X, labels)
    expected = (80 * value + 1) / (80 + 2)
    np.testing.assert_allclose(fitted.predict_proba(X)[:, 1], expected, rtol=1e-12)
    weighted = model(estimator=base).fit(X, labels, sample_weight=np.full(80, 0.5))
    expected = (40 * value + 1) / (40 + 2)
    np.testing.assert_allclose(weighted.predict_proba(X)[:, 1], expected, rtol=1e-12)


def test_log_odds_of_a_constant_label():
    np.testing.assert_array_equal(classifier_log_odds(ConstantConditional(1.5), X[:3]), [1.5] * 3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_label_columns_are_appended(form):
    joined = with_labels(form(X), Y.astype(np.int8), np.array([3, 1]))
    dense = joined if isinstance(joined, np.ndarray) else joined.toarray()
    np.testing.assert_array_equal(dense, np.hstack([X, Y[:, [3, 1]]]))


def test_features_are_repeated_block_by_block(monkeypatch):
    """However many vectors are asked about, a classifier sees a bounded number at once."""
    base = LogisticRegression().fit(np.hstack([X, Y[:, :2]]), Y[:, 2])
    rows = np.random.default_rng(0).integers(0, len(X), 500)
    prefix = Y[rows].astype(np.int8)
    expected = classifier_log_odds(base, np.hstack([X[rows], Y[rows][:, :2]]))
    seen = []
    probabilities = LogisticRegression.predict_proba

    def watched(self, features):
        seen.append(features.size)
        return probabilities(self, features)

    monkeypatch.setattr(LogisticRegression, "predict_proba", watched)
    monkeypatch.setattr(enumeration_of_joints, "BLOCK_CELLS", 700)
    conditionals = LabelConditionals(LabelGraph.chain(np.arange(3)), None, [None, None, base])
    actual = conditionals.log_odds(X, 2, rows, prefix)
    np.testing.assert_allclose(actual, expected, atol=1e-12)
    assert len(seen) == 5
    assert max(seen) <= 700


def test_many_labels_are_searched_not_enumerated():
    """The default finds the mode of 14 labels of any classifiers without all 2^14 vectors."""
    rows, labels = sample(n=40, n_features=3, n_labels=14, seed=3)
    model = ClassifierChain(estimator=Opaque()).fit(rows, labels)
    joint = model.predict_joint(rows[:3])
    found = joint.log_prob(model.predict(rows[:3]))
    np.testing.assert_allclose(found, joint.mode(Exhaustive()).log_prob)
    assert (found > Greedy()(joint).log_prob + 1e-9).any()
    assert (BestFirst()(joint).nodes < 1000).all()
    few = ClassifierChain(estimator=Opaque()).fit(rows, labels[:, :8])
    best = few.predict_joint(rows).mode(Exhaustive()).log_prob
    np.testing.assert_allclose(few.predict_joint(rows).log_prob(few.predict(rows)), best)


def test_binary_relevance_and_a_chain_agree_on_the_first_label():
    order = [1, 0, 2, 3]
    alone = BinaryRelevance(estimator=BernoulliNB()).fit(X, Y).predict_proba(X)[:, 1]
    chained = ClassifierChain(estimator=BernoulliNB(), order=order).fit(X, Y).predict_joint(X)
    vectors = all_vectors(4)
    total = sum(
        np.exp(chained.log_prob(np.tile(vector, (80, 1)))) for vector in vectors[vectors[:, 1] == 1]
    )
    np.testing.assert_allclose(total, alone, atol=1e-12)
