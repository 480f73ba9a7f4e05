"""The same random state gives the same bits, however the work is split."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import cpu_count
from sklearn.base import clone
from sklearn.utils import check_random_state

from tests.contract.samples import check_batches, is_probabilistic, sample, values_of

X, Y = sample()
FIVE_X, FIVE_Y = sample(n=40, n_features=4, n_labels=5, seed=5)


def test_number_of_jobs(estimator):
    one = clone(estimator).set_params(n_jobs=1).fit(X, Y)
    many = clone(estimator).set_params(n_jobs=-1 if cpu_count() > 1 else 2).fit(X, Y)
    np.testing.assert_array_equal(values_of(many, X), values_of(one, X))
    np.testing.assert_array_equal(many.predict(X), one.predict(X))
    if is_probabilistic(one):
        np.testing.assert_array_equal(
            many.predict_joint(X).sample(20, random_state=1),
            one.predict_joint(X).sample(20, random_state=1),
        )


def test_batches_and_order_of_rows(case, estimator):
    batches = [[0], [1, 2], [11, 4, 7, 0], [5, 5, 5], list(range(3, 12))]
    check_batches(estimator.fit(X, Y), X[:12], batches, bitwise=case.bitwise)


def test_fitting_again_gives_the_same_model(estimator):
    estimator.set_params(random_state=7)
    first = values_of(estimator.fit(FIVE_X, FIVE_Y), FIVE_X)
    np.random.seed(99)  # noqa: NPY002 - the global generator must have no say
    np.testing.assert_array_equal(values_of(estimator.fit(FIVE_X, FIVE_Y), FIVE_X), first)


@pytest.mark.of_classes
def test_no_random_state_counts_as_zero(estimator):
    zero = clone(estimator).set_params(random_state=0).fit(FIVE_X, FIVE_Y)
    np.random.seed(99)  # noqa: NPY002 - the global generator must have no say
    none = estimator.set_params(random_state=None).fit(FIVE_X, FIVE_Y)
    np.testing.assert_array_equal(values_of(none, FIVE_X), values_of(zero, FIVE_X))
    np.testing.assert_array_equal(none.predict(FIVE_X), zero.predict(FIVE_X))


@pytest.mark.of_classes
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
