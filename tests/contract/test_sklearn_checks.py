"""scikit-learn's own checks, with no expected failures.

Those of one estimator are one test: a thousand tests of a few milliseconds cost more to hand to
workers than to run. The error of a failed check names it.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.contract.estimators import SKLEARN_CHECKED, SKLEARN_CHECKED_VARIANTS

# The checks fit on data made to provoke warnings of base classifiers; what they assert is enough.
pytestmark = pytest.mark.filterwarnings("default")

# Checks that repeat a law of this folder on the same classes.
REPEATED = (
    "check_classifiers_multilabel_representation_invariance",  # inputs
    "check_estimator_sparse_matrix",
    "check_f_contiguous_array_estimator",
    "readonly_memmap=True",
    "check_fit_idempotent",  # determinism
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_estimators_pickle",  # persistence
    "check_sample_weight_equivalence_on_dense_data",  # weights
)
# It has more kinds of sparse arrays than `test_inputs`: one class of each way to read them.
SPARSE = "check_estimator_sparse_array"
READERS = ("BinaryRelevance", "LabelPowerset", "MLkNN", "LaSVM", "BayesianOnlineClassifier")


def name_of(check: Any) -> str:
    options = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return f"{check.func.__name__}({options})"


def is_repeated(estimator: BaseEstimator, check: str) -> bool:
    if SPARSE in check:
        return type(estimator).__name__ not in READERS
    return any(name in check for name in REPEATED)


def run_checks(estimator: BaseEstimator, wanted: Callable[[str], bool]) -> None:
    """Run the checks whose names are wanted, then raise all that failed."""
    failures = []
    for fresh, check in estimator_checks_generator(estimator):
        if wanted(name_of(check)):
            try:
                check(fresh)
            except Exception as error:
                if not isinstance(error, unittest.SkipTest):
                    error.add_note(name_of(check))
                    failures.append(error)
    if failures:
        raise ExceptionGroup(f"{estimator!r} fails checks", failures)


@pytest.mark.parametrize("estimator", SKLEARN_CHECKED, ids=repr)
def test_scikit_learn(estimator):
    run_checks(estimator, lambda check: not is_repeated(estimator, check))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", SKLEARN_CHECKED, ids=repr)
def test_scikit_learn_repeats_laws(estimator):
    run_checks(estimator, lambda check: is_repeated(estimator, check))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", SKLEARN_CHECKED_VARIANTS, ids=repr)
def test_scikit_learn_on_variants(estimator):
    run_checks(estimator, lambda check: True)
