"""The same random state gives the same bits, however the work is split."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import check_random_state

from tests.contract.samples import is_probabilistic, sample, values_of

# Chains and fields of so many labels are decided without a proof, and say so.
pytestmark = pytest.mark.filterwarnings("ignore::labelweave.decision.proof.UnprovenModeWarning")

X, Y = sample()
# So many labels that the marginals of a chain are estimated from draws.
WIDE_X, WIDE_Y = sample(n=40, n_features=4, n_labels=30, seed=5)


def assert_same(case, actual, expected):
    if case.bitwise:
        np.testing.assert_array_equal(actual, expected)
    else:
        np.testing.assert_allclose(actual, expected, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_number_of_jobs(estimator, n_jobs):
    one = clone(estimator).set_params(n_jobs=1).fit(X, Y)
    many = estimator.set_params(n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(values_of(many, X), values_of(one, X))
    np.testing.assert_array_equal(many.predict(X), one.predict(X))
    if is_probabilistic(one):
        np.testing.assert_array_equal(
            many.predict_joint(X).sample(20, random_state=1),
            one.predict_joint(X).sample(20, random_state=1),
        )


def test_number_of_jobs_with_many_labels(estimator):
    one = clone(estimator).set_params(n_jobs=1).fit(WIDE_X, WIDE_Y)
    two = estimator.set_params(n_jobs=2).fit(WIDE_X, WIDE_Y)
    np.testing.assert_array_equal(values_of(two, WIDE_X[:7]), values_of(one, WIDE_X[:7]))
    np.testing.assert_array_equal(two.predict(WIDE_X[:7]), one.predict(WIDE_X[:7]))


@pytest.mark.parametrize("labels", ["few", "many"])
def test_batches_and_order_of_rows(case, estimator, labels):
    features, targets = (X, Y) if labels == "few" else (WIDE_X, WIDE_Y)
    model = estimator.fit(features, targets)
    rows = features[:12]
    probability, predicted = values_of(model, rows), model.predict(rows)
    batches = [[0], [11, 4, 7, 0], [5, 5, 5]]
    if labels == "few":
        batches += [[1, 2], list(range(3, 12))]
    for batch in batches:
        assert_same(case, values_of(model, rows[batch]), probability[batch])
        np.testing.assert_array_equal(model.predict(rows[batch]), predicted[batch])
    if not is_probabilistic(model):
        return
    joint = model.predict_joint(rows)
    draws = joint.sample(10, random_state=0)
    for batch in batches:
        part = model.predict_joint(rows[batch])
        np.testing.assert_array_equal(part.sample(10, random_state=0), draws[batch])
        assert_same(case, part.log_prob(predicted[batch]), joint.log_prob(predicted)[batch])


@pytest.mark.parametrize("seed", [None, 0, 7])
def test_fitting_again_gives_the_same_model(estimator, seed):
    estimator.set_params(random_state=seed)
    first = clone(estimator).fit(WIDE_X, WIDE_Y[:, :5])
    np.random.seed(99)  # noqa: NPY002 - the global generator must have no say
    second = estimator.fit(WIDE_X, WIDE_Y[:, :5])
    third = estimator.fit(WIDE_X, WIDE_Y[:, :5])
    for model in (second, third):
        np.testing.assert_array_equal(values_of(model, WIDE_X), values_of(first, WIDE_X))


def test_no_random_state_counts_as_zero(estimator):
    none = clone(estimator).set_params(random_state=None).fit(X, Y)
    zero = estimator.set_params(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(values_of(none, X), values_of(zero, X))
    np.testing.assert_array_equal(none.predict(X), zero.predict(X))


def test_a_random_state_object_is_used(estimator):
    expected = clone(estimator).set_params(random_state=check_random_state(4)).fit(X, Y)
    actual = estimator.set_params(random_state=check_random_state(4)).fit(X, Y)
    np.testing.assert_array_equal(values_of(actual, X), values_of(expected, X))


def test_order_of_training_rows_does_not_matter(case, estimator):
    order = np.random.default_rng(0).permutation(len(X))
    first = values_of(clone(estimator).fit(X, Y), X)
    second = values_of(estimator.fit(X[order], Y[order]), X)
    # Foreign solvers stop at their own tolerance.
    np.testing.assert_allclose(second, first, atol=1e-7 if case.bitwise else 1e-3)
