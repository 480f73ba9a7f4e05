"""Sample weights count rows, or there is no argument for them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from labelweave.models.conditionals import ConstantConditional
from tests.contract.samples import is_probabilistic, sample, values_of

X, Y = sample()


@pytest.mark.usefixtures("weighted")
def test_weights_mean_repetition(case, estimator):
    """A row of weight two is the row twice; to the tolerance of the base classifier's solver."""
    if "repeated rows" in case.unsuited:
        pytest.skip(case.unsuited["repeated rows"])
    # Chosen penalties may differ where two candidates are about as good: they are fixed here.
    chosen = {name for name, value in estimator.get_params().items() if value == "cv"}
    estimator.set_params(**dict.fromkeys(chosen, 1.0))
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    weighted = values_of(clone(estimator).fit(X, Y, sample_weight=weight), X)
    repeated = values_of(estimator.fit(X[rows], Y[rows]), X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6 if case.bitwise else 1e-3)


@pytest.mark.usefixtures("weighted")
def test_rows_without_weight_are_as_if_removed(estimator):
    kept = np.arange(len(X)) % 3 > 0
    rows = np.where(kept[:, None], X, 1e4 * X)  # far from all others, where they would be noticed
    weighted = clone(estimator).fit(rows, Y, sample_weight=kept * 1.0)
    removed = estimator.fit(X[kept], Y[kept])
    np.testing.assert_allclose(values_of(weighted, X), values_of(removed, X), atol=1e-7)


@pytest.mark.usefixtures("weighted")
def test_a_label_seen_only_without_weight_is_constant(case, estimator):
    if "known counts" in case.unsuited:
        pytest.skip(case.unsuited["known counts"])
    labels = Y.copy()
    labels[:, 1] = np.arange(len(X)) < 5
    model = estimator.fit(X, labels, sample_weight=(np.arange(len(X)) >= 5) * 1.0)
    assert not model.predict(X)[:, 1].any()
    if is_probabilistic(model):
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (len(X) - 5 + 2))
    if hasattr(model, "estimators_"):
        assert isinstance(model.estimators_[1], ConstantConditional)


def test_weights_are_taken_or_no_argument(case, estimator):
    assert has_fit_parameter(estimator, "sample_weight") == case.weighted


def test_score_takes_weights(estimator):
    model = estimator.fit(X, Y)
    right = (model.predict(X) == Y).all(axis=1)
    weight = np.linspace(1, 2, len(X))
    assert model.score(X, Y, sample_weight=weight) == pytest.approx(
        (right * weight).sum() / weight.sum()
    )
