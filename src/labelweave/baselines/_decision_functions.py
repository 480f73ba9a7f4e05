"""Decision functions of trained support vector machines: a score for every row and label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from labelweave._common.arrays import Floats, Labels, Positions
from labelweave._common.features import linear_scores, native_matrix
from labelweave._core import native

# Kernel values per block.
_BLOCK = 1 << 22


class Scorer(Protocol):
    """Scores of labels; those of a row are the same bits whatever the other rows are."""

    @property
    def intercept(self) -> Floats:
        """The intercept of each label, (L,)."""

    def scores(self, X: Any, n_threads: int) -> Floats:
        """Return the score of every row and label, (n, L)."""


@dataclass(frozen=True)
class LinearScorer:
    """``X weights' + intercept``.

    Attributes
    ----------
    weights : (L, D) array
    intercept : (L,) array
    """

    weights: Floats
    intercept: Floats

    def scores(self, X: Any, n_threads: int) -> Floats:
        """Return the score of every row and label, (n, L)."""
        return linear_scores(X, self.weights, self.intercept, n_threads)


@dataclass(frozen=True)
class KernelScorer:
    """``Σ_s alpha_s exp(-gamma |x - x_s|²) + intercept``.

    Attributes
    ----------
    support : (S, D) array or sparse matrix
        Support vectors of any label.
    alpha : (L, S) array
    intercept : (L,) array
    gamma : float
    """

    support: Any
    alpha: Floats
    intercept: Floats
    gamma: float

    def scores(self, X: Any, n_threads: int) -> Floats:
        """Return the score of every row and label, (n, L)."""
        scores: Floats = np.empty((X.shape[0], len(self.intercept)))
        step = max(1, _BLOCK // max(1, self.support.shape[0]))
        for first in range(0, X.shape[0], step):
            rows = X[first : first + step]
            similarity: Floats = np.empty((rows.shape[0], self.support.shape[0]))
            native.kernel_matrix(
                native_matrix(rows), native_matrix(self.support), self.gamma, similarity, n_threads
            )
            scores[first : first + step] = linear_scores(
                similarity, self.alpha, self.intercept, n_threads
            )
        return scores


def varying(labels: Labels) -> Positions:
    """Return the labels that take both values: a machine needs both classes."""
    return np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0))
