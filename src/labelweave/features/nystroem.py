"""Nyström features: the kernel's values at landmarks, made orthogonal (math.md, 1.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats, Positions
from labelweave._common.features import linear_scores
from labelweave.features.distances import squared_distances

# A row at a distance of less than 1e-5 from the span of the landmarks, in the kernel's feature
# space, where all rows have length 1, would add a feature that no penalised model can use; and
# dividing by that distance magnifies rounding errors.
_SMALLEST_RESIDUAL = 1e-10
# Landmarks that are proposed at a time.
_BLOCK = 64


@dataclass(frozen=True)
class NystroemMap:
    """The features φ(x) = √m A k(Z, x) of m landmarks Z, where AᵀA is the inverse of k(Z, Z).

    A is the inverse of a Cholesky factor, lower triangular, so the first features are those of the
    first landmarks alone. The usual choice, the inverse square root of k(Z, Z), gives the same
    features up to a rotation, which penalised models cannot tell from them.

    Attributes
    ----------
    landmarks : (m, D) array or CSR
    whitening : (m, m) array
        The matrix A.
    gamma : float
    """

    landmarks: Any
    whitening: Floats
    gamma: float

    @property
    def n_features(self) -> int:
        """Number of features m."""
        return len(self.whitening)

    def first(self, n_features: int) -> NystroemMap:
        """Return the map of the first landmarks."""
        whitening = np.ascontiguousarray(self.whitening[:n_features, :n_features])
        return replace(self, landmarks=self.landmarks[:n_features], whitening=whitening)

    def __call__(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the features of the rows of X, (n, m)."""
        kernel = squared_distances(X, self.landmarks, n_threads)
        kernel *= -self.gamma
        np.exp(kernel, out=kernel)
        features = linear_scores(kernel, self.whitening, np.zeros(self.n_features), n_threads)
        features *= np.sqrt(self.n_features)
        return features


def choose_landmarks(
    X: Any, gamma: float, n_landmarks: int, landmarks: str, seed: int
) -> NystroemMap:
    """Draw landmarks among the rows of X.

    Parameters
    ----------
    X : (n, D) array or CSR
        Distinct rows, in an order that may matter.
    gamma : float
    n_landmarks : int
        There will be fewer if these span all rows.
    landmarks : {"uniform", "kmeans++", "cholesky"}
        A landmark is drawn with a probability proportional to a row's score: one; its squared
        distance from the nearest landmark so far; or the squared distance from the span of the
        landmarks so far in the kernel's feature space (randomly pivoted Cholesky).
    seed : int

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> features = choose_landmarks(X, 1.0, 3, "uniform", 0)(X)
    >>> (features @ features.T / 3).round(3)
    array([[1.   , 0.368, 0.   ],
           [0.368, 1.   , 0.   ],
           [0.   , 0.   , 1.   ]])
    """
    random = np.random.default_rng(seed)
    partial = _PartialCholesky(X, gamma, min(n_landmarks, X.shape[0]), landmarks)
    with threadpool_limits(limits=1, user_api="blas"):  # other threads, other bits
        while partial.extend(random):
            pass
        pivots = partial.pivots
        factor = partial.factor[pivots, : len(pivots)]
        whitening = solve_triangular(factor, np.eye(len(pivots)), lower=True)
    return NystroemMap(X[pivots], np.ascontiguousarray(whitening), gamma)


class _PartialCholesky:
    """The factor F of k(X, X) ≈ F Fᵀ for the landmarks so far, its pivots."""

    def __init__(self, X: Any, gamma: float, n_landmarks: int, landmarks: str) -> None:
        n_rows = X.shape[0]
        self.X, self.gamma, self.landmarks = X, gamma, landmarks
        self.pivots: list[int] = []
        self.factor = np.zeros((n_rows, n_landmarks))
        self.residual = np.ones(n_rows)
        self.nearest = np.full(n_rows, np.inf)

    def scores(self) -> Floats:
        """Return the rows' scores, zero for those that the landmarks span already."""
        score = np.ones(len(self.residual))
        if self.landmarks == "cholesky":
            score = self.residual
        elif self.landmarks == "kmeans++" and self.pivots:
            score = self.nearest
        return np.where(self.residual > _SMALLEST_RESIDUAL, score, 0.0)

    def extend(self, random: np.random.Generator) -> bool:
        """Propose a block of landmarks and accept some; return whether there was any to propose.

        A proposal whose score has fallen since, because of others of its block, is accepted with
        probability new score / old score. So landmarks are as probable as if they were drawn one
        by one (Epperly, Tropp and Webber, 2024), and most of the work is products of matrices.
        """
        old = self.scores()
        proposed = _draw(old, min(_BLOCK if self.pivots else 1, self._n_missing), random)
        if len(proposed) == 0:
            return False
        n_before = len(self.pivots)
        distances = squared_distances(self.X, self.X[proposed])
        columns = np.exp(-self.gamma * distances)
        columns -= self.factor[:, :n_before] @ self.factor[proposed, :n_before].T
        for row, distance, column in zip(proposed, distances.T, columns.T, strict=True):
            if self.scores()[row] > old[row] * random.random():
                block = slice(n_before, len(self.pivots))
                self._accept(
                    row, distance, column - self.factor[:, block] @ self.factor[row, block]
                )
        return True

    @property
    def _n_missing(self) -> int:
        return int(self.factor.shape[1]) - len(self.pivots)

    def _accept(self, row: int, distance: Floats, column: Floats) -> None:
        column /= np.sqrt(column[row])
        self.factor[:, len(self.pivots)] = column
        self.residual -= column**2
        self.nearest = np.minimum(self.nearest, distance)
        self.pivots.append(int(row))


def _draw(scores: Floats, n_rows: int, random: np.random.Generator) -> Positions:
    """Draw rows without replacement, in turn, with probabilities proportional to their scores."""
    n_rows = min(n_rows, int(np.count_nonzero(scores)))
    waiting = random.standard_exponential(len(scores))
    with np.errstate(divide="ignore"):
        return np.argsort(waiting / scores, kind="stable")[:n_rows]
