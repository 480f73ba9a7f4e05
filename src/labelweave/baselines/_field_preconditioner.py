"""A block-diagonal preconditioner for Newton systems of a field.

The Hessian is dominated by its diagonal blocks, one for the weights and the intercept of each label
and one for the couplings, so these are inverted. If the former would be too large (wide X) or too
costly (sparse X), only the diagonal of the weights is, and the intercepts join the couplings: a
coupling moves its labels' scores in many rows at once, much as their intercepts do.
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
# A column shorter than this counts as empty: the penalty divided by its square would overflow.
_LEAST_SQUARE = 1e-290


class BlockInverse:
    """The inverse of the diagonal blocks of a Hessian.

    Parameters
    ----------
    X : (n, D) array or CSR
    curvature : (n, L) array
        Second derivatives of the loss by each score.
    by_offset : (L + E, L + E) or (L + E,) array
        Second derivatives by intercepts and couplings, or their diagonal, with the penalty.
    penalty : float
        Penalty of the weights.
    """

    def __init__(self, X: Any, curvature: Floats, by_offset: Floats, penalty: float) -> None:
        self.n_features, self.n_labels = X.shape[1], curvature.shape[1]
        wide = self.n_labels * (self.n_features + 1) ** 2 > _MOST_CELLS
        self.blocks: Floats | None = None
        if isinstance(X, np.ndarray) and not wide:
            self.blocks = _inverse_blocks(X, curvature, penalty)
            # The intercepts are in the blocks of their labels.
            by_offset = by_offset[(slice(self.n_labels, None),) * by_offset.ndim]
        else:
            self.diagonal = 1 / _diagonal(X, curvature, penalty)
        self.offsets = _inverse(by_offset) if by_offset.ndim == 2 else 1 / _positive(by_offset)

    def __call__(self, residual: Floats) -> Floats:
        """Return the inverse times a vector laid out as the objective's parameters."""
        cut = self.n_labels * self.n_features
        if self.blocks is None:
            weights, offsets = np.split(residual, [cut])
            return np.concatenate([self.diagonal * weights, self._of_offsets(offsets)])
        by_weight, by_intercept, by_edge = np.split(residual, [cut, cut + self.n_labels])
        columns = np.column_stack([by_weight.reshape(self.n_labels, -1), by_intercept])
        solved = np.matmul(self.blocks, columns[:, :, None])[:, :, 0]
        return np.concatenate([solved[:, :-1].ravel(), solved[:, -1], self._of_offsets(by_edge)])

    def _of_offsets(self, residual: Floats) -> Floats:
        product = self.offsets @ residual if self.offsets.ndim == 2 else self.offsets * residual
        return np.asarray(product)


def _inverse_blocks(X: Floats, curvature: Floats, penalty: float) -> Floats:
    """Invert [X, 1]' diag(curvature) [X, 1] + penalty for every label, (L, D + 1, D + 1)."""
    n_rows, n_features = X.shape
    # Columns of unit norm in single precision: accurate enough for a preconditioner.
    squares = np.einsum("nd,nd->d", X, X)
    length = np.sqrt(np.where(squares > _LEAST_SQUARE, squares, 1.0))
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


def _diagonal(X: Any, curvature: Floats, penalty: float) -> Floats:
    """Return the second derivatives by the weights of each label, one after the other, (L D,)."""
    squared = X.multiply(X).tocsr() if hasattr(X, "multiply") else X**2
    return np.ravel(np.asarray(squared.T @ curvature).T + penalty)


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
