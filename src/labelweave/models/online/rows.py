"""Rows as the kernels take them: CSR arrays, their lengths, and the order of a pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.folds import presentation_order
from labelweave._common.matrices import canonical_csr

CsrArrays = tuple[Indices, NDArray[np.int32], Floats]
# Entries of a dense X that are turned into CSR at a time.
_DENSE_ENTRIES = 1 << 22


def csr_batches(X: Any, n_features: int) -> Iterator[tuple[int, int, CsrArrays]]:
    """Return the rows of X as CSR arrays, all checked before the first is returned.

    A dense X comes in parts, each with its first and last row, so that no copy of all is made.
    """
    check_rows(X, n_features)
    return ((begin, end, _csr_arrays(part)) for begin, end, part in _parts(X))


def check_rows(X: Any, n_features: int) -> None:
    """Raise ValueError unless X is a finite matrix with at most `n_features` columns."""
    if X.ndim != 2 or X.shape[1] > n_features:
        raise ValueError(
            f"X must have at most {n_features} columns, one for each feature; got shape "
            f"{X.shape}. `grow` adds features"
        )
    for _, _, part in _parts(X):
        values = canonical_csr(part).data if issparse(part) else part
        if not np.isfinite(np.asarray(values, dtype=np.float64)).all():
            raise ValueError("X contains NaN or infinity: remove or replace such entries")


def _parts(X: Any) -> Iterator[tuple[int, int, Any]]:
    n_rows, n_columns = X.shape
    step = n_rows if issparse(X) else _DENSE_ENTRIES // max(1, n_columns)
    for begin in range(0, n_rows, max(1, step)):
        end = min(n_rows, begin + max(1, step))
        yield begin, end, X if issparse(X) else X[begin:end]


def _csr_arrays(X: Any) -> CsrArrays:
    X = canonical_csr(X if issparse(X) else csr_matrix(X))
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.data),
    )


def pass_order(X: Any, labels: Labels, sample_weight: Floats | None, seed: int) -> Indices:
    """Return the rows in an order of their content and a seed, each as often as its weight says."""
    return repeated(presentation_order(X, labels, seed), sample_weight)


def repeated(order: Indices, sample_weight: Floats | None) -> Indices:
    """Return the rows in this order, a row of weight k as k equal ones."""
    if sample_weight is None:
        return order
    if (sample_weight != np.floor(sample_weight)).any():
        raise ValueError(
            "sample_weight must be whole numbers: an online learner sees a row once, twice, ..., "
            "or not at all"
        )
    return np.repeat(order, sample_weight[order].astype(np.int64))


# Longer rows count as this long, so that sums of lengths stay finite.
_LONGEST = 1e280


class RowScale:
    """The mean length ‖x‖ of the rows so far; rows without features do not count.

    Priors, noise and margin are meant for rows of length one. Rows of standardised measurements
    are √D long: divided by the mean length, they suit these priors, and still differ in length.
    The mean of the rows up to and including a row scales that row: it settles soon, and does not
    depend on batches.
    """

    def __init__(self) -> None:
        #: Sum of the lengths, and their number, (2,).
        self.sums = np.zeros(2)

    @property
    def mean(self) -> float:
        """The mean length; 1 before there is any."""
        return float(mean_lengths(self.sums))

    def after(self, lengths: Floats) -> Floats:
        """Return `sums` now and after each of the rows, (n + 1, 2)."""
        steps = np.column_stack([np.minimum(lengths, _LONGEST), lengths > 0])
        # Accumulation adds one row after the other, however many come together.
        return np.cumsum(np.vstack([self.sums, steps]), axis=0)


def mean_lengths(sums: Floats) -> Floats:
    """Return the mean lengths that (..., 2) sums stand for; 1 where there are no rows."""
    total, count = sums[..., 0], sums[..., 1]
    return np.where(count > 0, total / np.maximum(count, 1.0), 1.0)


def row_lengths(rows: CsrArrays) -> Floats:
    """Return ‖x‖ of every row."""
    indptr, _, values = rows
    counts = np.diff(indptr)
    filled = counts > 0
    largest = np.ones(len(counts))
    if filled.any():
        largest[filled] = np.maximum.reduceat(np.abs(values), indptr[:-1][filled])
        largest[largest == 0] = 1.0
    # Squares of huge and tiny values are not lost, since values are relative to the largest. They
    # are added one after the other, so that stored zeros change nothing.
    relative = values / np.repeat(largest, counts)
    row = np.repeat(np.arange(len(counts)), counts)
    squares = np.bincount(row, relative * relative, minlength=len(counts))
    return np.minimum(largest * np.sqrt(squares), np.finfo(np.float64).max)


def divided(rows: CsrArrays, scales: Floats) -> CsrArrays:
    """Return the rows divided by their scales, (n,)."""
    indptr, indices, values = rows
    return indptr, indices, values / np.repeat(scales, np.diff(indptr))
