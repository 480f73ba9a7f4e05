"""Class weights: against scikit-learn, against repeated rows, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from labelweave import BinaryRelevance, ClassifierChain
from labelweave.logistic.conditionals import LabelGraph, fit_conditionals
from labelweave.models import chains as classifier_chain

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(80, 4))
Y = (X[:, :3] + RANDOM.normal(size=(80, 3)) > [0.5, 1.2, -0.3]).astype(np.int64)
WEIGHTS = ["balanced", {0: 1.0, 1: 5.0}, {1: 0.5}]


@pytest.mark.parametrize("class_weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_each_label_as_scikit_learn_fits_it(class_weight, weighted):
    weight = RANDOM.integers(1, 4, size=len(X)).astype(float) if weighted else None
    model = BinaryRelevance(C=0.7, class_weight=class_weight).fit(X, Y, sample_weight=weight)
    for j in range(3):
        by_class = class_weight
        if weighted and class_weight == "balanced":  # of which scikit-learn may ignore the weights
            mass = np.bincount(Y[:, j], weights=weight)
            by_class = dict(enumerate(mass.sum() / (2 * mass)))
        other = LogisticRegression(C=0.7, class_weight=by_class, tol=1e-10, max_iter=1000)
        other.fit(X, Y[:, j], sample_weight=weight)
        np.testing.assert_allclose(model.conditionals_.weights[j], other.coef_[0], atol=1e-6)
        assert model.conditionals_.intercept[j] == pytest.approx(other.intercept_[0], abs=1e-6)


def test_balanced_chains_find_more_of_rare_labels():
    settings = {"C": 0.5, "label_penalty": 1.0}
    plain = ClassifierChain(**settings).fit(X, Y)
    balanced = ClassifierChain(**settings, class_weight="balanced").fit(X, Y)
    rare = 1
    assert balanced.predict_proba(X)[:, rare].mean() > plain.predict_proba(X)[:, rare].mean() + 0.1


def test_even_weights_change_nothing():
    plain, even = (
        ClassifierChain(C=0.5, label_penalty=1.0, class_weight=w).fit(X, Y)
        for w in (None, {0: 1.0, 1: 1.0})
    )
    np.testing.assert_allclose(even.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_order_and_penalties_are_chosen_without_class_weights():
    plain, weighted = (
        ClassifierChain(order="auto", class_weight=w).fit(X, Y) for w in (None, {0: 1.0, 1: 20.0})
    )
    np.testing.assert_array_equal(weighted.order_, plain.order_)
    assert (weighted.C_, weighted.label_penalty_) == (plain.C_, plain.label_penalty_)
    by_hand = fit_conditionals(
        X,
        Y,
        LabelGraph.chain(plain.order_),
        C=plain.C_,
        label_penalty=plain.label_penalty_,
        class_weight={0: 1.0, 1: 20.0},
    )
    np.testing.assert_allclose(weighted.conditionals_.weights, by_hand.weights, atol=1e-9)
    np.testing.assert_allclose(weighted.conditionals_.coupling, by_hand.coupling, atol=1e-9)
    assert np.abs(weighted.conditionals_.weights - plain.conditionals_.weights).max() > 0.01


def test_wrong_weights_are_named_before_the_order_is_chosen(monkeypatch):
    monkeypatch.setattr(classifier_chain, "best_order", None)  # not even begun
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        ClassifierChain(order="auto", class_weight="even").fit(X, Y)
    with pytest.raises(ValueError, match="in the way that estimator offers"):
        ClassifierChain(estimator=GaussianNB(), order="auto", class_weight="balanced").fit(X, Y)


def test_a_label_of_one_class_has_nothing_to_balance():
    constant = np.column_stack([Y, np.zeros(len(Y), dtype=np.int64)])
    model = BinaryRelevance(C=1.0, class_weight="balanced").fit(X, constant)
    assert (model.predict_proba(X)[:, 3] < 0.1).all()


@pytest.mark.parametrize("wrong", ["even", {2: 1.0}, {0: -1.0}, {1: np.nan}, [1, 2]])
def test_wrong_weights_are_named(wrong):
    for model in (BinaryRelevance, ClassifierChain):
        with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
            model(class_weight=wrong).fit(X, Y)
        with pytest.raises(ValueError, match="in the way that estimator offers"):
            model(estimator=GaussianNB(), class_weight="balanced").fit(X, Y)
