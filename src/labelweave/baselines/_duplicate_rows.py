"""Equal rows made one, so that a row of weight two and a row that comes twice are the same.

Solvers that stop short of the optimum stop elsewhere when rows are repeated or come in another
order. Given the same rows in the same order, they do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.row_keys import row_keys


def merge_equal_rows(X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
    """Return the distinct rows in an order of their own, with the sums of their weights.

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
    order = np.lexsort([weight, of_labels, of_rows])  # sums of weights are always in one order
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
    """Compare rows themselves: two rows may have the same key by chance."""
    if isinstance(X, np.ndarray):
        return np.asarray((X[some] == X[others]).all(axis=1))
    return np.asarray(np.diff((X[some] != X[others]).indptr) == 0)
