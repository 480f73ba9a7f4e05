"""Rows with labels that are no linear function of the features."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist


def rings(n_rows: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points of the plane, and whether they lie in a disc and in the first quadrant."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 2))
    return X, np.stack([np.hypot(*X.T) < 1, X.min(axis=1) > 0], axis=1).astype(np.int8)


def rows(n_rows: int = 60, n_columns: int = 5, seed: int = 0) -> np.ndarray:
    """Return normal numbers, half of them zero."""
    random = np.random.default_rng(seed)
    shape = (n_rows, n_columns)
    return random.normal(size=shape) * (random.random(shape) < 0.5)


def gram(X: np.ndarray, gamma: float) -> np.ndarray:
    """Return the exact kernel of all pairs of rows."""
    return np.exp(-gamma * cdist(X, X, "sqeuclidean"))
