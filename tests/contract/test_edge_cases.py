"""Unusual data that every estimator must live with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from labelweave.joint import JointDistribution
from tests.contract.samples import is_probabilistic, sample, values_of

X, Y = sample()


def suited(case, kind):
    if kind in case.unsuited:
        pytest.skip(case.unsuited[kind])


def check_answers(model, rows) -> JointDistribution | None:
    """Assert that every answer is finite and of the right shape, and return the joint."""
    n, n_labels = rows.shape[0], model.n_labels_
    values, labels = values_of(model, rows), model.predict(rows)
    assert values.shape == labels.shape == (n, n_labels)
    assert np.isfinite(values).all()
    if not is_probabilistic(model):
        return None
    assert ((values >= 0) & (values <= 1)).all()
    joint = model.predict_joint(rows)
    assert np.isfinite(joint.mode().log_prob).all()
    assert np.isfinite(joint.entropy()).all()
    return joint


@pytest.mark.parametrize("value", [0, 1])
def test_a_constant_label_is_likely_not_certain(case, estimator, value):
    suited(case, "constant label")
    labels = Y.copy()
    labels[:, 2] = value
    model = estimator.fit(X, labels)
    check_answers(model, X)
    assert (model.predict(X)[:, 2] == value).all()
    if not is_probabilistic(model):
        return
    probability = model.predict_proba(X)[:, 2]
    assert ((probability > 0) & (probability < 1)).all()
    assert (np.abs(probability - value) < 0.1).all()
    # Evidence against all experience is possible and changes nothing it should not.
    other = model.predict_joint(X).condition({2: 1 - value})
    np.testing.assert_array_equal(other.marginals()[:, 2], 1 - value)


@pytest.mark.parametrize("value", [0, 1])
def test_all_labels_constant(estimator, value):
    model = estimator.fit(X, np.full((len(X), 3), value))
    check_answers(model, X)
    assert (model.predict(X) == value).all()


@pytest.mark.usefixtures("marginals_of_the_joint")
def test_one_label(estimator):
    model = estimator.fit(X, Y[:, :1])
    joint = check_answers(model, X)
    assert model.predict(X).shape == (48, 1)
    if joint is not None:
        probability = model.predict_proba(X)[:, 0]
        ones = np.ones((48, 1))
        np.testing.assert_allclose(np.exp(joint.log_prob(ones)), probability, atol=1e-12)


def test_rows_of_zeros(case, estimator):
    rows = X.copy()
    rows[::4] = 0.0
    model = estimator.fit(rows, Y)
    check_answers(model, np.zeros((3, 5)))
    if "sparse" not in case.unsuited:
        check_answers(model, sp.csr_matrix((3, 5)))


def test_a_feature_that_never_varies(estimator):
    rows = X.copy()
    rows[:, 1], rows[:, 3] = 0.0, 7.0
    check_answers(estimator.fit(rows, Y), rows)


def test_rows_without_labels(estimator):
    labels = Y.copy()
    labels[::2] = 0
    check_answers(estimator.fit(X, labels), X)


def test_duplicated_rows(case, estimator):
    rows = np.repeat(X[:12], 4, axis=0)
    model = estimator.fit(rows, Y)
    check_answers(model, rows)
    values = values_of(model, rows).reshape(12, 4, 4)
    np.testing.assert_allclose(values, values[:, :1].repeat(4, axis=1), atol=1e-12)


@pytest.mark.usefixtures("probabilistic")
def test_identical_rows_give_frequencies(case, estimator):
    suited(case, "identical rows")
    rows = np.ones((48, 3))
    model = estimator.fit(rows, Y)
    check_answers(model, rows)
    first = model.predict_proba(rows)[0, 0 if not hasattr(model, "order_") else model.order_[0]]
    label = 0 if not hasattr(model, "order_") else model.order_[0]
    assert first == pytest.approx(Y[:, label].mean(), abs=1e-3)


def test_many_more_features_than_rows(estimator):
    rows, labels = sample(n=12, n_features=400, n_labels=3, seed=2)
    check_answers(estimator.fit(rows, labels), rows)


def test_one_row(estimator):
    model = estimator.fit(X[:1], Y[1:2])
    check_answers(model, X)
    assert (model.predict(X) == Y[1]).all()


def test_two_rows(case, estimator):
    suited(case, "one row a class")
    check_answers(estimator.fit(X[:2], Y[:2]), X)


def test_separable_data_is_learned(estimator):
    labels = Y[:, :2]
    rows = np.hstack([20.0 * labels - 10.0, X[:, :1]])
    model = estimator.fit(rows, labels)
    check_answers(model, rows)
    np.testing.assert_array_equal(model.predict(rows), labels)


def test_a_label_that_copies_another(estimator):
    labels = np.column_stack([Y[:, 0], Y[:, 0], Y[:, 1]])
    model = estimator.fit(X, labels)
    check_answers(model, X)
    predicted = model.predict(X)
    assert (predicted[:, 0] == predicted[:, 1]).mean() > 0.9


@pytest.mark.parametrize("scale", [pytest.param(1e-6, marks=pytest.mark.slow), 1e6])
def test_features_of_odd_size(estimator, scale):
    check_answers(estimator.fit(X * scale, Y), X * scale)
