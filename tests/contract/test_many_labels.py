"""Where label vectors are too many to list: results are estimated, and still do not waver."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from tests.contract.samples import check_batches, sample, values_of

# Chains and fields of so many labels are decided without a proof, and say so.
pytestmark = pytest.mark.filterwarnings("ignore::labelweave.decision.UnprovenModeWarning")

# So many labels that the marginals of a chain are estimated from draws (MAX_ENUMERATED), and the
# mode of a field is not proven by a table (MAX_SEARCHED).
X, Y = sample(n=30, n_features=3, n_labels=22, seed=5)


def test_number_of_jobs(estimator):
    one = clone(estimator).set_params(n_jobs=1).fit(X, Y)
    two = estimator.set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(values_of(two, X[:4]), values_of(one, X[:4]))
    np.testing.assert_array_equal(two.predict(X[:4]), one.predict(X[:4]))


def test_batches_and_order_of_rows(case, estimator):
    batches = [[0], [4, 2, 1, 0], [3, 3, 3]]
    check_batches(estimator.fit(X, Y), X[:5], batches, bitwise=case.bitwise)


def test_more_labels_than_rows(estimator):
    rows, labels = sample(n=10, n_features=3, n_labels=24, seed=4)
    model = estimator.fit(rows, labels)
    assert model.predict(rows[:2]).shape == (2, 24)
    assert np.isfinite(values_of(model, rows[:2])).all()
