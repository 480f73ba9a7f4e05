"""Duplicate rows merged, so that a row of weight two is the same as the row twice.

Solvers that stop before the optimum stop elsewhere if rows are repeated or in a different order;
merged and sorted, the rows are always the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.row_keys import row_keys


def merge_equal_rows(X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
    """Return the distinct rows in a canonical order, with the sums of their weights.

    Parameters
    ----------
    X : (n, D) array or CSR matrix
    labels : (n, L) array
    weight : (n,) array

    Examples
    --------
    >>> X, labels = np.array([[1.0], [2.0], [1.0]]), np.ones((3, 1), dtype=np.int8)
    >>> _, _, weight = merge_equal_rows(X, labels, np.array([1.0, 5.0, 2.0]))
    >>> sorted(weight.tolist())
    [3.0, 5.0]
    """
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
