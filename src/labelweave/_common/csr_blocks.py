"""CSR matrices that may lie in files, a block at a time: nothing of their size is copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from labelweave._common.arrays import Counts, Floats

#: Entries that are worked on at a time.
BLOCK_ENTRIES = 2**18


def row_blocks(X: Any) -> Iterator[tuple[slice, slice]]:
    """Yield slices of the rows of a CSR matrix, and of their entries in ``X.data``.

    A block has at most `BLOCK_ENTRIES` entries and rows, unless a single row has more.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> list(row_blocks(csr_array([[1.0, 2.0], [0.0, 3.0]])))
    [(slice(0, 2, None), slice(0, 3, None))]
    """
    first, n_rows = 0, X.shape[0]
    while first < n_rows:
        ends = X.indptr[first + 1 : first + 1 + BLOCK_ENTRIES]
        begin = int(X.indptr[first])
        n_fitting = int(np.searchsorted(ends, begin + BLOCK_ENTRIES, side="right"))
        last = first + max(1, n_fitting)
        yield slice(first, last), slice(begin, int(X.indptr[last]))
        first = last


def column_counts(X: Any) -> Counts:
    """Return the number of entries in each column of a CSR matrix.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> column_counts(csr_array([[1.0, 2.0], [0.0, 3.0]]))
    array([1, 2])
    """
    counts = np.zeros(X.shape[1], dtype=np.int64)
    # Blocks of entries, not of rows: where there are many columns, each block costs as much.
    step = max(BLOCK_ENTRIES, X.shape[1])
    for begin in range(0, len(X.indices), step):
        counts += np.bincount(X.indices[begin : begin + step], minlength=X.shape[1])
    return counts


def column_sums(X: Any, weight: Floats) -> Floats:
    """Return the weighted sum of the rows of a CSR matrix.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> column_sums(csr_array([[1.0, 2.0], [0.0, 3.0]]), np.array([1.0, 2.0]))
    array([1., 8.])
    """
    sums = np.zeros(X.shape[1])
    for rows, entries in row_blocks(X):
        lengths = np.diff(X.indptr[rows.start : rows.stop + 1])
        np.add.at(sums, X.indices[entries], X.data[entries] * np.repeat(weight[rows], lengths))
    return sums


def check_csr(X: Any) -> None:
    """Raise a ValueError unless the parts of a CSR matrix fit together.

    Unlike SciPy's ``check_format``, this leaves the matrix as it is and copies nothing of its size.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[1.0, 2.0], [0.0, 3.0]])
    >>> X.indices[0] = 7
    >>> check_csr(X)
    Traceback (most recent call last):
    ...
    ValueError: X is not a valid sparse matrix: indices must lie between 0 and 1
    """
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
    """Whether every row of a CSR matrix holds each column at most once, in ascending order.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> rows_in_order(csr_array(([1.0, 2.0], [1, 0], [0, 2]), shape=(1, 2)))
    False
    """
    for rows, entries in row_blocks(X):
        indices, starts = X.indices[entries], X.indptr[rows.start : rows.stop] - entries.start
        rises = np.ones(len(indices) + 1, dtype=np.bool_)
        rises[1:-1] = indices[1:] > indices[:-1]
        rises[starts] = True  # a row may begin with any column
        if not rises.all():
            return False
    return True
