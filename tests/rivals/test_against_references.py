"""The other systems of the papers against plain loops that follow the papers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from labelweave import BinaryRelevance, InstanceBasedLogistic, MLkNN, StackedBinaryRelevance
from labelweave._common.folds import assign_folds
from labelweave.joint import IndependentJoint
from tests.contract.samples import sample
from tests.reference import neighbours as reference

X, Y = sample(n=90, n_features=6)
TRAIN, LABELS, TEST = X[:60], Y[:60], X[60:]
# Features of 0 to 2, so that many rows are equally far.
TIED = np.clip(np.round(X), 0, 2)


@pytest.mark.parametrize("k", [1, 4, 10])
@pytest.mark.parametrize("smoothing", [0.3, 1.0])
def test_mlknn(k, smoothing):
    for rows in (X, TIED):
        model = MLkNN(n_neighbors=k, smoothing=smoothing).fit(rows[:60], LABELS)
        expected = reference.mlknn(rows[:60], LABELS, rows[60:], k, smoothing)
        np.testing.assert_allclose(model.predict_proba(rows[60:]), expected, rtol=1e-12)
        sparse = MLkNN(n_neighbors=k, smoothing=smoothing).fit(sp.csr_array(rows[:60]), LABELS)
        np.testing.assert_array_equal(
            sparse.predict_proba(rows[60:]), model.predict_proba(rows[60:])
        )


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("k", [3, 10])
def test_instance_based_logistic(passthrough, k):
    settings = {"passthrough": passthrough, "C": 2.0, "label_penalty": 0.1}
    for rows in (X, TIED):
        model = InstanceBasedLogistic(n_neighbors=k, **settings).fit(rows[:60], LABELS)
        expected = reference.iblr(rows[:60], LABELS, rows[60:], k, **settings)
        np.testing.assert_allclose(model.predict_proba(rows[60:]), expected, atol=1e-7)


@pytest.mark.parametrize("outputs", ["probability", "label"])
@pytest.mark.parametrize("n_folds", [1, 4])
def test_stacked_binary_relevance(outputs, n_folds):
    model = StackedBinaryRelevance(
        outputs=outputs, cv=n_folds, C=0.7, label_penalty=0.2, random_state=5
    ).fit(TRAIN, LABELS)
    fold, found = assign_folds(TRAIN, np.ones(60), n_folds, model._seed())
    assert found == n_folds
    expected = reference.stacked(
        TRAIN, LABELS, TEST, fold, C=0.7, label_penalty=0.2, labels=outputs == "label"
    )
    np.testing.assert_allclose(model.predict_proba(TEST), expected, atol=1e-6)


@pytest.mark.parametrize(
    "estimator", [MLkNN(), InstanceBasedLogistic(), StackedBinaryRelevance()], ids=repr
)
def test_labels_are_independent_given_the_features(estimator):
    joint = estimator.fit(TRAIN, LABELS).predict_joint(TEST)
    assert isinstance(joint, IndependentJoint)


@pytest.mark.parametrize(
    "estimator", [MLkNN(n_neighbors=30), InstanceBasedLogistic(n_neighbors=30, C=1.0)], ids=repr
)
@pytest.mark.parametrize("n", [1, 2, 12])
def test_fewer_rows_than_neighbours(estimator, n):
    """All other rows are neighbours then, of new rows as of the training rows."""
    model = estimator.fit(TRAIN[:n], LABELS[:n])
    assert model.n_neighbors_ == n - 1
    probability = model.predict_proba(TEST)
    assert ((probability > 0) & (probability < 1)).all()


def test_both_layers_share_the_penalty_that_suits_the_first():
    stacked = StackedBinaryRelevance().fit(TRAIN, LABELS)
    single = BinaryRelevance().fit(TRAIN, LABELS)
    assert stacked.C_ == stacked.first_layer_.C == stacked.second_layer_.C == single.C_
    np.testing.assert_allclose(
        stacked.first_layer_.scores(TEST), single.conditionals_.scores(TEST), atol=1e-6
    )


def test_answers_to_unseen_rows_earn_less_trust():
    """A first layer that has learned noise by heart looks right only on the rows it has seen."""
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(150, 60)), random.integers(0, 2, size=(150, 3))
    for seed in range(3):
        settings = {"C": 1.0, "label_penalty": 0.01, "random_state": seed}
        seen = StackedBinaryRelevance(cv=1, **settings).fit(rows, labels)
        unseen = StackedBinaryRelevance(cv=5, **settings).fit(rows, labels)
        trust = [model.second_layer_.coupling.diagonal() for model in (seen, unseen)]
        assert (trust[0] > 3.0).all()
        assert (trust[1] < 1.0).all()


def test_parameters_changed_after_fit_do_not_change_the_model():
    model = InstanceBasedLogistic(n_neighbors=3, C=1.0).fit(TRAIN, LABELS)
    expected = model.predict_proba(TEST)
    np.testing.assert_array_equal(
        model.set_params(passthrough=True, n_neighbors=9).predict_proba(TEST), expected
    )
    stacked = StackedBinaryRelevance(C=1.0, label_penalty=1.0).fit(TRAIN, LABELS)
    expected = stacked.predict_proba(TEST)
    np.testing.assert_array_equal(stacked.set_params(outputs="label").predict_proba(TEST), expected)
