"""Keys of rows, distinct rows and digests of data, by content: the same on every machine.

Random numbers keyed by rows are the same in any batch.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.matrices import entry_blocks


def data_digest(X: Any, Y: Any) -> str:
    """Return a digest of features and labels, independent of their files."""
    digest = hashlib.sha256()
    for values in (X, Y):
        digest.update(repr(np.shape(values)).encode())
        for part in _parts(values):
            array = np.asarray(part)
            if array.dtype.hasobject:  # whose bytes would be addresses
                array = array.astype(str)
            digest.update(str(array.dtype).encode() + array.tobytes())
    return digest.hexdigest()[:16]


def _parts(values: Any) -> list[Any]:
    """Return arrays of numbers or characters that hold the whole content of the values."""
    if sparse.issparse(values):
        rows = sparse.csr_array(cast(Any, values))
        return [rows.data, rows.indices, rows.indptr]
    if hasattr(values, "iloc"):
        from pandas.util import hash_pandas_object

        columns = [
            (name, str(dtype), list(getattr(dtype, "categories", ())))
            for name, dtype in zip(values.columns, values.dtypes, strict=True)
        ]
        return [repr(columns), hash_pandas_object(values, index=False).to_numpy()]
    return [values]


Words = NDArray[np.uint64]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Rows of a dense X that are worked on at a time, so that no copies of all of X are made.
_BLOCK = 256
# Rows that are converted to float64 at a time.
_COPIED = 1024


def row_keys(X: Any) -> Indices:
    """Return an integer per row of X that depends on the row's non-zero features only."""
    with np.errstate(over="ignore"):
        if isinstance(X, np.ndarray):
            keys = np.empty(len(X), dtype=np.uint64)
            for first in range(0, len(X), _BLOCK):
                block = X[first : first + _BLOCK]
                words = np.where(block != 0, _mixed(block, np.arange(X.shape[1])), np.uint64(0))
                keys[first : first + _BLOCK] = words.sum(axis=1)
        else:
            keys = np.empty(X.shape[0], dtype=np.uint64)
            for rows, entries in entry_blocks(X):
                values, starts = X.data[entries], X.indptr[rows.start : rows.stop + 1]
                terms = np.where(values != 0, _mixed(values, X.indices[entries]), np.uint64(0))
                sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
                keys[rows] = np.diff(sums[starts - starts[0]])
    halved: Indices = (keys >> np.uint64(1)).astype(np.int64)
    return halved


def distinct_rows(X: Any, labels: Labels, weight: Floats) -> tuple[Positions, Floats]:
    """Return a position of each distinct row of positive weight, and the weight of its copies.

    Rows are equal if features and labels are. They are ordered by content, and weights are
    summed in increasing order, so the result is the same data whether rows are repeated or
    weighted, in any order.
    """
    kept = np.flatnonzero(weight > 0)
    of_rows, of_labels = keys_in_blocks(X)[kept], keys_in_blocks(labels)[kept]
    sorting = np.lexsort([weight[kept], of_labels, of_rows])
    of_rows, of_labels, order = of_rows[sorting], of_labels[sorting], kept[sorting]
    alike = (of_rows[1:] == of_rows[:-1]) & (of_labels[1:] == of_labels[:-1])
    # Different rows may have the same key by chance, so the rows themselves are compared.
    same_key = np.flatnonzero(alike)
    for at in np.split(same_key, range(_COPIED, len(same_key), _COPIED)):
        before, after = order[at], order[at + 1]
        alike[at] = _are_equal(X, before, after) & _are_equal(labels, before, after)
    first = np.flatnonzero(np.append(True, ~alike))
    return order[first], np.asarray(np.add.reduceat(weight[order], first))


def merge_equal_rows(X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
    """Return the distinct rows in a canonical order, with the sums of their weights.

    Solvers that stop before the optimum would stop elsewhere if rows were repeated or permuted.
    """
    rows, total = distinct_rows(X, labels, weight)
    return X[rows], labels[rows], total


def _are_equal(X: Any, some: Positions, others: Positions) -> Mask:
    if isinstance(X, np.ndarray):
        return np.asarray((X[some] == X[others]).all(axis=1))
    return np.asarray(np.diff((X[some] != X[others]).indptr) == 0)


def keys_in_blocks(rows: Any) -> Words:
    """Return the keys of rows of any type; only a block of them is copied at a time."""
    parts = [
        row_keys(rows[first : first + _COPIED].astype(np.float64))
        for first in range(0, rows.shape[0], _COPIED)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.uint64)


def _mixed(values: Floats, columns: NDArray[Any]) -> Words:
    bits = np.ascontiguousarray(values).view(np.uint64)
    return scramble(bits + (columns.astype(np.uint64) + np.uint64(1)) * GOLDEN)


def scramble(words: Words) -> Words:
    """Apply the finaliser of SplitMix64: every input bit reaches every output bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled: Words = words ^ (words >> np.uint64(31))
    return scrambled
