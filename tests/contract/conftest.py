"""Every test that asks for `case` or `estimator` runs once for each estimator of the contract."""

from __future__ import annotations

import pytest
from sklearn.base import clone

from labelweave.models import MultiLabelClassifier
from tests.contract.estimators import CASES, Case


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def weighted(case: Case) -> None:
    """Skip where sample weights have no meaning."""
    if not case.weighted:
        pytest.skip("takes no sample weights")


@pytest.fixture
def estimator(case: Case) -> MultiLabelClassifier:
    """Return a fresh, unfitted copy."""
    copy: MultiLabelClassifier = clone(case.estimator)
    return copy
