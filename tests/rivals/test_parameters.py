"""Parameters that the other systems of the papers share: folds, and the base estimator first."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from labelweave import (
    LabelPowerset,
    LaSVM,
    PassiveAggressive,
    RAkEL,
    StackedBinaryRelevance,
    ThresholdedSVM,
)
from tests.contract.samples import sample

X, Y = sample(n=40, n_features=4, n_labels=3)


@pytest.mark.parametrize("cv", [0, -1, 2.0, True, None, "auto", [1]])
@pytest.mark.parametrize("kind", [LaSVM, PassiveAggressive, StackedBinaryRelevance, ThresholdedSVM])
def test_folds(kind, cv):
    with pytest.raises(ValueError, match="cv must be a whole number of at least [12]; got"):
        kind(cv=cv).fit(X, Y)


@pytest.mark.parametrize("kind", [LabelPowerset, RAkEL])
def test_the_base_estimator_is_the_one_positional_argument(kind):
    by_name = kind(estimator=LogisticRegression()).fit(X, Y)
    by_place = kind(LogisticRegression()).fit(X, Y)
    np.testing.assert_array_equal(by_place.predict(X), by_name.predict(X))
    with pytest.raises(TypeError, match="positional"):
        kind(LogisticRegression(), 1.0)
