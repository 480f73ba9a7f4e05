"""Every test that asks for `case` or `estimator` runs once for each estimator of the contract."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from labelweave.models import LabelClassifier
from tests.contract.estimators import DEFAULTS, Case
from tests.contract.samples import is_probabilistic
from tests.contract.variants import VARIANTS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a law on all defaults and variants; on variants that do not touch it as a slow test."""
    if "case" not in metafunc.fixturenames:
        return
    law = metafunc.module.__name__.rpartition(".test_")[2]
    cases = [pytest.param(case, id=name) for name, case in DEFAULTS.items()]
    # The fast suite would make thousands of tests in every worker to throw them away.
    fast_only = metafunc.config.getoption("markexpr") == "not slow"
    for name, variant in VARIANTS.items():
        if law in variant.laws:
            cases.append(pytest.param(variant.case, id=name))
        elif not fast_only:
            cases.append(pytest.param(variant.case, id=name, marks=pytest.mark.slow))
    metafunc.parametrize("case", cases)


# Of scikit-learn's checks, those that `test_inputs` has as well: another sparse container, data
# that are read-only, and these as float32.
REPEATED = ("check_estimator_sparse_matrix", "readonly_memmap=True")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave scikit-learn's checks that repeat a law to the whole suite."""
    for item in items:
        if "test_sklearn_checks.py" in item.nodeid and any(name in item.name for name in REPEATED):
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
def estimator(case: Case) -> LabelClassifier:
    """Return a fresh, unfitted copy."""
    copy: LabelClassifier = clone(case.estimator)
    return copy
