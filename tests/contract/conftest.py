"""Every test that asks for `case` or `estimator` runs once for each estimator of the contract."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from labelweave.models import LabelClassifier
from tests.contract.estimators import CASES, Case
from tests.contract.samples import is_probabilistic


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


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
