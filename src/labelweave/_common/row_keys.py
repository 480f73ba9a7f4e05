"""Rows named by their content: keys, distinct rows, digests of data.

Digests of data, the same in every process.

Keys that name rows by their content.

Duplicate rows merged, so that a row of weight two is the same as the row twice.

Solvers that stop before the optimum stop elsewhere if rows are repeated or in a different order;
merged and sorted, the rows are always the same.
"""

from __future__ import annotations

import hashlib
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.matrices import row_blocks


def data_digest(X: Any, Y: Any) -> str:
    """Return a digest of features and labels, whatever file they came from."""
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
    """Return arrays of numbers or characters that say all there is in the values."""
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
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Rows of a dense X that are worked on at a time, so that no copies of all of X are made.
_BLOCK = 256
# Rows that are converted to float64 at a time.
_COPIED = 1024


def row_keys(X: Any) -> Indices:
    """Return an integer per row of X that depends on the row's non-zero features only.

    Random numbers keyed by these are the same whatever batch a row comes in.
    """
    with np.errstate(over="ignore"):
        if isinstance(X, np.ndarray):
            keys = np.empty(len(X), dtype=np.uint64)
            for first in range(0, len(X), _BLOCK):
                block = X[first : first + _BLOCK]
                words = np.where(block != 0, _mixed(block, np.arange(X.shape[1])), np.uint64(0))
                keys[first : first + _BLOCK] = words.sum(axis=1)
        else:
            keys = np.empty(X.shape[0], dtype=np.uint64)
            for rows, entries in row_blocks(X):
                values, starts = X.data[entries], X.indptr[rows.start : rows.stop + 1]
                terms = np.where(values != 0, _mixed(values, X.indices[entries]), np.uint64(0))
                sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
                keys[rows] = np.diff(sums[starts - starts[0]])
    halved: Indices = (keys >> np.uint64(1)).astype(np.int64)
    return halved


def assign_folds(X: Any, weight: Floats, n_folds: int, seed: int) -> tuple[Positions, int]:
    """Deal the rows that have weight into folds; equal rows go to the same fold.

    So a row of weight two counts as two rows, a row of weight zero as none, and the order of the
    rows does not matter. Returns the fold of each row and the number of folds, which is smaller
    than asked for where there are fewer distinct rows.
    """
    keys = row_keys(X).astype(np.uint64)
    with np.errstate(over="ignore"):
        shuffled = _scramble(keys + np.uint64(seed) * _GOLDEN)
    distinct = np.unique(shuffled[weight > 0])
    n_folds = max(1, min(n_folds, len(distinct)))
    return np.searchsorted(distinct, shuffled) % n_folds, n_folds


def row_uniforms(X: Any, seed: int) -> Floats:
    """Return a number between 0 and 1 per row of X, uniform, by the row's content and the seed."""
    with np.errstate(over="ignore"):
        shuffled = _scramble(row_keys(X).astype(np.uint64) + np.uint64(seed) * _GOLDEN)
    uniform: Floats = ((shuffled >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return uniform


def number_rows(X: Any, weight: Floats, seed: int) -> Positions:
    """Assign numbers to the distinct rows at random, by their content; equal rows share one.

    Every distinct row waits for an exponential time at the rate of its weight, so those with the
    first k numbers are a sample in which a row of weight two is as probable as one that occurs
    twice. Weights must be positive.
    """
    distinct, member = np.unique(row_uniforms(X, seed), return_inverse=True)
    waiting = -np.log(distinct) / np.bincount(member, weights=weight)
    number = np.empty(len(distinct), dtype=np.intp)
    number[np.argsort(waiting, kind="stable")] = np.arange(len(distinct))
    return number[member]


def distinct_rows(X: Any, labels: Labels, weight: Floats) -> tuple[Positions, Floats]:
    """Return where each distinct row of positive weight is found, and the weight of its copies.

    Rows are equal if features and labels are. They come in an order by content, so the result is
    the same data whether rows are repeated or weighted, in any order.
    """
    kept = np.flatnonzero(weight > 0)
    keys = np.column_stack([_keys_in_blocks(X), _keys_in_blocks(labels)])[kept]
    _, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    total: Floats = np.bincount(member.ravel(), weights=weight[kept]).astype(np.float64)
    return kept[first], total


def presentation_order(X: Any, labels: Labels, seed: int) -> Indices:
    """Return the rows in a random order that depends on their content and the seed alone.

    The order they are given in has no say, and equal rows stay together.
    """
    of_labels = _keys_in_blocks(labels)
    with np.errstate(over="ignore"):
        mixed = _scramble(_keys_in_blocks(X) + np.uint64(seed) * _GOLDEN)
        # First by features: rows that differ in their labels only are neighbours too.
        order = np.lexsort([_scramble(of_labels + np.uint64(seed)), mixed])
    return order.astype(np.int64)


def _keys_in_blocks(rows: Any) -> Words:
    """Return the keys of rows of any type; only a part of them is copied at a time."""
    parts = [
        row_keys(rows[first : first + _COPIED].astype(np.float64))
        for first in range(0, rows.shape[0], _COPIED)
    ]
    return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.uint64)


def _mixed(values: Floats, columns: NDArray[Any]) -> Words:
    bits = np.ascontiguousarray(values).view(np.uint64)
    return _scramble(bits + (columns.astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def _scramble(words: Words) -> Words:
    """Apply the finaliser of SplitMix64: every input bit reaches every output bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled: Words = words ^ (words >> np.uint64(31))
    return scrambled


def merge_equal_rows(X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
    """Return the distinct rows in a canonical order, with the sums of their weights."""
    of_rows, of_labels = row_keys(X), row_keys(labels.astype(np.float64))
    order = np.lexsort([weight, of_labels, of_rows])  # weights are always summed in the same order
    before, after = order[:-1], order[1:]
    alike = (of_rows[before] == of_rows[after]) & (of_labels[before] == of_labels[after])
    at = np.flatnonzero(alike)
    alike[at] = _are_equal(X, before[at], after[at]) & (
        labels[before[at]] == labels[after[at]]
    ).all(axis=1)
    first = np.flatnonzero(np.append(True, ~alike))
    kept = order[first]
    return X[kept], labels[kept], np.asarray(np.add.reduceat(weight[order], first))


def _are_equal(X: Any, some: Positions, others: Positions) -> Mask:
    """Compare the rows themselves: different rows may have the same key by chance."""
    if isinstance(X, np.ndarray):
        return np.asarray((X[some] == X[others]).all(axis=1))
    return np.asarray(np.diff((X[some] != X[others]).indptr) == 0)
