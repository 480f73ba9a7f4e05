"""Feature matrices, dense or CSR, as the kernels read them, and their linear scores.

A CSR matrix may lie in files and be larger than the memory. Functions that read all of it do so a
block at a time, without a copy of its size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from labelweave._common.arrays import Counts, Floats, Positions
from labelweave._core import native

#: The most entries, and rows, of a block; a single row may have more.
BLOCK_ENTRIES = 2**18


def entry_blocks(X: Any) -> Iterator[tuple[slice, slice]]:
    """Yield slices of the rows of a CSR matrix, and of their entries in ``X.data``, in blocks."""
    first, n_rows = 0, X.shape[0]
    while first < n_rows:
        ends = X.indptr[first + 1 : first + 1 + BLOCK_ENTRIES]
        begin = int(X.indptr[first])
        n_fitting = int(np.searchsorted(ends, begin + BLOCK_ENTRIES, side="right"))
        last = first + max(1, n_fitting)
        yield slice(first, last), slice(begin, int(X.indptr[last]))
        first = last


def column_counts(X: Any) -> Counts:
    counts = np.zeros(X.shape[1], dtype=np.int64)
    # The cost of a block grows with the columns, so blocks are long if there are many columns.
    step = max(BLOCK_ENTRIES, X.shape[1])
    for begin in range(0, len(X.indices), step):
        counts += np.bincount(X.indices[begin : begin + step], minlength=X.shape[1])
    return counts


def column_sums(X: Any, weight: Floats) -> Floats:
    sums = np.zeros(X.shape[1])
    for rows, entries in entry_blocks(X):
        lengths = np.diff(X.indptr[rows.start : rows.stop + 1])
        np.add.at(sums, X.indices[entries], X.data[entries] * np.repeat(weight[rows], lengths))
    return sums


def check_csr(X: Any) -> None:
    """Raise a ValueError unless the parts of a CSR matrix fit together."""
    # SciPy's ``check_format`` copies parts, and changes the matrix.
    n_rows, n_columns = X.shape
    starts, indices = X.indptr, X.indices
    n_entries = len(indices)
    wrong = None
    if starts.shape != (n_rows + 1,) or indices.ndim != 1 or X.data.shape != indices.shape:
        wrong = "data, indices and indptr differ in length"
    elif starts[0] != 0 or starts[-1] > n_entries or np.any(starts[1:] < starts[:-1]):
        wrong = "indptr must rise from 0 to the number of entries"
    elif n_entries and not (indices.min() >= 0 and indices.max() < n_columns):
        wrong = f"indices must lie between 0 and {n_columns - 1}"
    if wrong is not None:
        raise ValueError(f"X is not a valid sparse matrix: {wrong}")


def rows_in_order(X: Any) -> bool:
    """Whether every row of a CSR matrix holds each column at most once, in ascending order."""
    for rows, entries in entry_blocks(X):
        indices, starts = X.indices[entries], X.indptr[rows.start : rows.stop] - entries.start
        rises = np.ones(len(indices) + 1, dtype=np.bool_)
        rises[1:-1] = indices[1:] > indices[:-1]
        rises[starts] = True  # a row may begin with any column
        if not rises.all():
            return False
    return True


#: The largest feature that can be computed with: products of larger numbers overflow.
LARGEST_FEATURE = 1e150
# Share of empty columns above which leaving them out pays.
_WORTH_COMPACTING = 0.1


def as_features(X: Any) -> Any:
    """Return X as the kernels read it: C-contiguous float64, or canonical CSR of float64."""
    if not hasattr(X, "tocsr"):
        return np.ascontiguousarray(X, dtype=np.float64)
    return canonical_csr(X)


def validated_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return the X of an estimator's method as a C-ordered float64 array, or as canonical CSR.

    With `reset`, as in `fit`, the estimator takes the number and names of the features from X.
    """
    require_distinct_names(X)
    finite = "allow-nan" if get_tags(estimator).input_tags.allow_nan else True
    X = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=np.float64,
        order="C",
        ensure_all_finite=finite,
        reset=reset,
    )
    if not isinstance(X, np.ndarray):
        check_csr(X)
        X = canonical_csr(X)  # equal rows must be equal to the last bit
    found = first_too_large(X)
    if found is not None:
        raise ValueError(
            f"X has a value beyond {LARGEST_FEATURE:g} in row {found[0]}, feature {found[1]}, "
            "so that products overflow: scale the features, or leave such rows out"
        )
    return X


def first_too_large(X: Any) -> tuple[int, int] | None:
    """Return the row and column of the first value beyond `LARGEST_FEATURE`; None if all fit."""
    values = X if isinstance(X, np.ndarray) else X.data
    # These reductions allocate no memory and ignore missing values.
    if not values.size or (
        np.fmax.reduce(values, axis=None) <= LARGEST_FEATURE
        and np.fmin.reduce(values, axis=None) >= -LARGEST_FEATURE
    ):
        return None
    rows, columns = (abs(X) > LARGEST_FEATURE).nonzero()
    return (int(rows[0]), int(columns[0])) if len(rows) else None


def require_distinct_names(X: Any) -> None:
    """Raise ValueError for a data frame that has two columns of one name."""
    columns = getattr(X, "columns", None)
    if columns is not None and not columns.is_unique:
        twice = columns[columns.duplicated()][0]
        raise ValueError(f"X has two columns named {twice!r}: feature names must be distinct")


def canonical_csr(X: Any) -> Any:
    """Return X as float64 CSR with each column once per row, in order, so that bits agree."""
    X = X.tocsr().astype(np.float64, copy=False)
    if not X.has_canonical_format:
        X = X.copy()  # the caller's matrix stays as it is
        X.sum_duplicates()
    return X


def dense_features(X: Any) -> Floats:
    """Return a dense or sparse X, or a data frame of numbers, as a float64 array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def mean_row(X: Any, sample_weight: Floats | None = None) -> Floats:
    """Return the mean of the rows of X, which may lie in files; X must come from `as_features`."""
    share = np.ones(X.shape[0]) if sample_weight is None else sample_weight
    share = share / share.sum()
    return np.asarray(share @ X) if isinstance(X, np.ndarray) else column_sums(X, share)


def without_empty_columns(X: Any) -> tuple[Any, Positions]:
    """Drop empty columns of a sparse X, if they are many; return the rest and their positions."""
    n_features = X.shape[1]
    if isinstance(X, np.ndarray):
        return X, np.arange(n_features)
    occupied = column_counts(X) > 0
    used = np.flatnonzero(occupied)
    if len(used) > (1 - _WORTH_COMPACTING) * n_features:
        return X, np.arange(n_features)
    rank = np.cumsum(occupied, dtype=np.int32) - 1
    return sparse.csr_array((X.data, rank[X.indices], X.indptr), (X.shape[0], len(used))), used


def total_variance(X: Any, weight: Floats) -> float:
    """Return the sum of the variances of all columns over weighted rows; NaN without weight."""
    total = weight.sum()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        means = (X.T @ weight) / total
        if isinstance(X, np.ndarray):
            squares = np.einsum("nd,nd,n->", X, X, weight)
        else:
            squares = 0.0
            for rows, entries in entry_blocks(X):
                sizes = np.diff(X.indptr[rows.start : rows.stop + 1])
                squares += np.square(X.data[entries]) @ np.repeat(weight[rows], sizes)
        return float(squares / total - means @ means)


def native_matrix(X: Any) -> native.Matrix:
    """Return X, which must come from `as_features`, in the kernels' own type."""
    if isinstance(X, np.ndarray):
        return native.Matrix(X)
    return native.Matrix(
        X.indptr.astype(np.int64, copy=False),
        X.indices.astype(np.int32, copy=False),
        X.data,
        X.shape[1],
    )


def linear_scores(X: Any, weights: Floats, intercept: Floats, n_threads: int = 1) -> Floats:
    """Return ``X weights' + intercept``; unlike BLAS, with the same bits in any batch of rows."""
    X = as_features(X)
    scores: Floats = np.empty((X.shape[0], len(intercept)))
    native.linear_scores(native_matrix(X), weights, intercept, scores, n_threads)
    return scores


def is_mapped(array: Any) -> bool:
    """Whether the numbers of an array lie in a file: it is a memory map, or a view of one."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None
