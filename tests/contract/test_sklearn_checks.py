"""scikit-learn's own checks, with no expected failures."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.contract.estimators import SKLEARN_CHECKED, SKLEARN_CHECKED_VARIANTS

# The checks fit on data made to provoke warnings of base classifiers; what they assert is enough.
pytestmark = pytest.mark.filterwarnings("default")


@parametrize_with_checks(SKLEARN_CHECKED)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(SKLEARN_CHECKED_VARIANTS)
def test_scikit_learn_on_variants(estimator, check):
    check(estimator)
