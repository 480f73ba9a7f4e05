"""Weights of passive-aggressive learners, feature-major, and their updates.

The array has one row per feature and a last one for the intercepts, and one column per label,
padded to a multiple of eight for the vector registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.features import native_matrix
from labelweave._core import native
from labelweave.baselines._decision_functions import LinearScorer

_LANES = 8


def no_weights(n_features: int, n_labels: int) -> Floats:
    """Return zero weights, (D + 1, L rounded up)."""
    return np.zeros((n_features + 1, -(-n_labels // _LANES) * _LANES))


def scorer_of(weights: Floats, n_labels: int) -> LinearScorer:
    """Return the decision function of these weights."""
    coef = np.ascontiguousarray(weights[:-1, :n_labels].T)
    return LinearScorer(coef, weights[-1, :n_labels].copy())


def learn(
    weights: Floats,
    X: Any,
    labels: Labels,
    limits: Floats,
    order: Indices,
    *,
    intercept: bool,
    n_threads: int,
    scores: Floats | None = None,
) -> None:
    """Update the weights by rows in turn, in place.

    Parameters
    ----------
    weights : (D + 1, L rounded up) array
    X, labels
        The rows, (n, D) and (n, L).
    limits : (n,) array
        The maximum step size of each row.
    order : (m,) array
        Rows in the order of presentation.
    intercept : bool
        Whether to learn an intercept, as a constant feature of 1.
    n_threads : int
    scores : (m, L) array, optional
        Receives the score of each row before its update.
    """
    native.passive_aggressive(
        native_matrix(X), labels, limits, order, intercept, weights, scores, n_threads
    )
