"""Every test that asks for `case` or `estimator` runs once for each estimator of the contract."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet
from sklearn.base import clone

from labelweave.models.base import Estimator
from tests.contract.estimators import DEFAULTS, Case
from tests.contract.samples import is_probabilistic
from tests.contract.variants import VARIANTS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a law on all defaults and variants."""
    if "case" not in metafunc.fixturenames:
        return
    law = metafunc.module.__name__.rpartition(".test_")[2]
    of_classes = metafunc.definition.get_closest_marker("of_classes") is not None
    fast = metafunc.config.getoption("fast")
    metafunc.parametrize("case", cases_of(law, of_classes=of_classes, fast=fast))


def cases_of(law: str, *, of_classes: bool, fast: bool) -> list[ParameterSet]:
    """Return the cases of a law; those of variants that do not touch it are slow.

    No variant touches a law that a class keeps or breaks whatever its parameters are
    (`of_classes`). The fast suite does without slow cases, instead of making thousands of them in
    every worker to throw them away.
    """
    cases = [pytest.param(case, id=name) for name, case in DEFAULTS.items()]
    for name, variant in VARIANTS.items():
        if law in variant.laws and not of_classes:
            cases.append(pytest.param(variant.case, id=name))
        elif not fast:
            cases.append(pytest.param(variant.case, id=name, marks=pytest.mark.slow))
    return cases


@pytest.fixture
def thorough(request: pytest.FixtureRequest, case: Case) -> bool:
    """Return whether to try all forms of an input: the fast suite does so on one class.

    All classes read their data by the same functions; the others show that they call them.
    """
    return case is DEFAULTS["br"] or not request.config.getoption("fast")


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
