"""Every test that asks for `case` or `estimator` runs once for each estimator of the contract."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from labelweave.models.base import Estimator
from tests.contract.estimators import DEFAULTS, Case
from tests.contract.samples import is_probabilistic
from tests.contract.variants import VARIANTS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a law on all defaults and variants; on variants that do not touch it as a slow test.

    Nor does a variant touch a law that a class keeps or breaks whatever its parameters are
    (`of_classes`).
    """
    if "case" not in metafunc.fixturenames:
        return
    law = metafunc.module.__name__.rpartition(".test_")[2]
    of_classes = metafunc.definition.get_closest_marker("of_classes") is not None
    cases = [pytest.param(case, id=name) for name, case in DEFAULTS.items()]
    # The fast suite would make thousands of tests in every worker to throw them away.
    fast_only = metafunc.config.getoption("markexpr") == "not slow"
    for name, variant in VARIANTS.items():
        if law in variant.laws and not of_classes:
            cases.append(pytest.param(variant.case, id=name))
        elif not fast_only:
            cases.append(pytest.param(variant.case, id=name, marks=pytest.mark.slow))
    metafunc.parametrize("case", cases)


# Of scikit-learn's checks, those that repeat a law of this folder on the same classes.
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
READERS = ("BinaryRelevance(", "LabelPowerset(", "MLkNN(", "LaSVM(", "BayesianOnlineClassifier(")


def is_repeated(check: str) -> bool:
    """Whether a check of scikit-learn, by the name of its test, repeats a law."""
    if SPARSE in check:
        return not any(f"[{name}" in check for name in READERS)
    return any(name in check for name in REPEATED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave scikit-learn's checks that repeat a law to the whole suite."""
    for item in items:
        if "test_sklearn_checks.py" in item.nodeid and is_repeated(item.name):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def weighted(case: Case) -> None:
    """Skip where sample weights have no meaning."""
    if not case.weighted:
        pytest.skip("takes no sample weights")


@pytest.fixture
def probabilistic(case: Case) -> None:
    """Skip where there are no probabilities to ask for."""
    if not is_probabilistic(case.estimator):
        pytest.skip("has no probabilities")


@pytest.fixture
def marginals_of_the_joint(case: Case) -> None:
    """Skip where marginals are not those of the joint distribution."""
    if "marginals" in case.unsuited:
        pytest.skip(case.unsuited["marginals"])


@pytest.fixture
def estimator(case: Case) -> Estimator:
    """Return a fresh, unfitted copy."""
    copy: Estimator = clone(case.estimator)
    return copy
