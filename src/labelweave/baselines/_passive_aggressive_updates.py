"""Weights of passive-aggressive learners, feature-major, and the steps that rows make in them.

The array has a row for every feature and a last one for the intercepts, and a column for every
label, their number rounded up to a multiple of eight: so many are worked on at a time.
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
    """Return the weights of learners that have seen nothing, (D + 1, L rounded up)."""
    return np.zeros((n_features + 1, -(-n_labels // _LANES) * _LANES))


def scorer_of(weights: Floats, n_labels: int) -> LinearScorer:
    """Return what gives the scores of rows under these weights."""
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
    """Learn from rows in turn, in place.

    Parameters
    ----------
    weights : (D + 1, L rounded up) array
    X, labels
        The rows, (n, D) and (n, L).
    limits : (n,) array
        The longest step of each row.
    order : (m,) array
        Rows in the order they are presented.
    intercept : bool
        Whether there is a feature that is always 1.
    n_threads : int
    scores : (m, L) array, optional
        Takes the score of each row as it was before the row was learned from.
    """
    native.passive_aggressive(
        native_matrix(X), labels, limits, order, intercept, weights, scores, n_threads
    )
