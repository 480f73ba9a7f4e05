"""Small data for the contract, and what its tests ask of a fitted model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]


def sample(n: int = 48, n_features: int = 5, n_labels: int = 4, seed: int = 0) -> Arrays:
    """Rows whose labels depend on the features and on the label before."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, n_features))
    weights = random.normal(size=(n_features, n_labels))
    noise = random.logistic(size=(n, n_labels))
    Y = np.zeros((n, n_labels), dtype=np.int64)
    for label in range(n_labels):
        before = 2.0 * Y[:, label - 1] - 1.0 if label else 0.0
        Y[:, label] = X @ weights[:, label] + before + noise[:, label] > 0
    # Both values of every label, whatever the draw.
    Y[0], Y[1] = 0, 1
    return X, Y


def all_vectors(n_labels: int) -> NDArray[np.int8]:
    """All 2^L label vectors."""
    codes = np.arange(2**n_labels)
    return ((codes[:, None] >> np.arange(n_labels)) & 1).astype(np.int8)


def is_probabilistic(model: Any) -> bool:
    """Whether a model has probabilities; if not, it has decision values at best."""
    return hasattr(model, "predict_joint")


def answers(model: Any) -> list[Callable[[Any], Any]]:
    """All that a model can be asked about rows."""
    names = ("predict", "predict_proba", "predict_joint", "decision_function")
    return [getattr(model, name) for name in names if hasattr(model, name)]


def values_of(model: Any, X: Any) -> NDArray[Any]:
    """Return the finest numbers a model has: probabilities, decision values or else labels."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    return np.asarray(model.predict(X))


def check_batches(model: Any, rows: Any, batches: list[list[int]], *, bitwise: bool) -> None:
    """Assert that rows get the same values, labels and draws in any batch and any order."""
    rtol, atol = (0.0, 0.0) if bitwise else (1e-7, 1e-12)
    values, labels = values_of(model, rows), model.predict(rows)
    for batch in batches:
        given = rows[batch]
        np.testing.assert_allclose(values_of(model, given), values[batch], rtol, atol)
        np.testing.assert_array_equal(model.predict(given), labels[batch])
    if not is_probabilistic(model):
        return
    joint = model.predict_joint(rows)
    draws, log_prob = joint.sample(10, random_state=0), joint.log_prob(labels)
    for batch in batches:
        part = model.predict_joint(rows[batch])
        np.testing.assert_array_equal(part.sample(10, random_state=0), draws[batch])
        np.testing.assert_allclose(part.log_prob(labels[batch]), log_prob[batch], rtol, atol)
