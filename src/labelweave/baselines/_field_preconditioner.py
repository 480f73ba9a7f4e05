"""A block-diagonal preconditioner for Newton systems of a field.

The Hessian is dominated by its diagonal blocks, one for the weights and the intercept of each label
and one for the couplings, so these are inverted. If they would be too large (wide X) or too costly
(sparse X), only their diagonals are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from labelweave._common.arrays import Floats

# Numbers in the blocks of all labels; 2^24 of them take 128 MB.
_MOST_CELLS = 2**24
# Relative increase of the diagonal that keeps a block positive definite in spite of rounding, which
# is coarse for sums in single precision.
_JITTER = 1e-6


class BlockInverse:
    """The inverse of the diagonal blocks of a Hessian, or of their diagonals.

    Parameters
    ----------
    X : (n, D) array or CSR
    curvature : (n, L) array
        Second derivatives of the loss by each score.
    by_edge : (E, E) or (E,) array
        Second derivatives by the couplings, or their diagonal, with the penalty.
    penalty : float
        Penalty of the weights.
    """

    def __init__(self, X: Any, curvature: Floats, by_edge: Floats, penalty: float) -> None:
        self.n_features, self.n_labels = X.shape[1], curvature.shape[1]
        wide = self.n_labels * (self.n_features + 1) ** 2 > _MOST_CELLS
        self.blocks: Floats | None = None
        if isinstance(X, np.ndarray) and not wide:
            self.blocks = _inverse_blocks(X, curvature, penalty)
        else:
            self.inverse = 1 / np.column_stack(_diagonals(X, curvature, penalty))
        self.by_edge = _inverse(by_edge) if by_edge.ndim == 2 else 1 / _positive(by_edge)

    def __call__(self, residual: Floats) -> Floats:
        """Return the inverse times a vector laid out as the objective's parameters."""
        cut = self.n_labels * self.n_features
        by_weight, by_intercept, by_edge = np.split(residual, [cut, cut + self.n_labels])
        columns = np.column_stack([by_weight.reshape(self.n_labels, -1), by_intercept])
        if self.blocks is None:
            solved = self.inverse * columns
        else:
            solved = np.matmul(self.blocks, columns[:, :, None])[:, :, 0]
        edges = self.by_edge @ by_edge if self.by_edge.ndim == 2 else self.by_edge * by_edge
        return np.concatenate([solved[:, :-1].ravel(), solved[:, -1], edges])


def _inverse_blocks(X: Floats, curvature: Floats, penalty: float) -> Floats:
    """Invert [X, 1]' diag(curvature) [X, 1] + penalty for every label, (L, D + 1, D + 1)."""
    n_rows, n_features = X.shape
    # Columns of unit norm in single precision: accurate enough for a preconditioner.
    length = np.sqrt(_positive(np.einsum("nd,nd->d", X, X)))
    columns = np.column_stack([X / length, np.ones(n_rows)]).astype(np.float32)
    scale = np.append(1 / length, 1.0)
    ridge = np.append(penalty / length**2, 0.0)
    blocks = np.empty((curvature.shape[1], n_features + 1, n_features + 1))
    for block, weight in zip(blocks, curvature.T, strict=True):
        weighted = np.sqrt(np.maximum(weight, 0.0)).astype(np.float32)[:, None] * columns
        gram = (weighted.T @ weighted).astype(np.float64)
        gram.flat[:: n_features + 2] += ridge
        block[:] = scale[:, None] * _inverse(gram) * scale
    return blocks


def _diagonals(X: Any, curvature: Floats, penalty: float) -> tuple[Floats, Floats]:
    squared = X.multiply(X).tocsr() if hasattr(X, "multiply") else X**2
    by_weight = np.asarray(squared.T @ curvature).T + penalty
    return by_weight, _positive(curvature.sum(axis=0))


def _inverse(matrix: Floats) -> Floats:
    """Invert a positive semidefinite matrix, or its diagonal if it is numerically singular."""
    # Unit diagonal: scales of features may differ by many orders of magnitude.
    scale = 1 / np.sqrt(_positive(matrix.diagonal()))
    scaled = scale[:, None] * matrix * scale
    np.fill_diagonal(scaled, 1 + _JITTER)
    factor, failed = dpotrf(scaled, lower=1, overwrite_a=1)
    if failed:
        return np.diag(scale**2)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    whole = np.tril(lower) + np.tril(lower, -1).T
    return np.asarray(scale[:, None] * whole * scale)


def _positive(diagonal: Floats) -> Floats:
    return np.maximum(diagonal, np.finfo(float).tiny)
