"""The order in which a pass takes its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave.logistic.row_keys import row_keys


def pass_order(
    X: Any,
    labels: NDArray[np.int8],
    sample_weight: NDArray[np.float64] | None,
    seed: int,
    shuffle: bool,
) -> NDArray[np.intp]:
    """Return the rows of one pass; a row of weight k stands in it k times.

    A shuffled order belongs to the content of the rows and the seed: the order they are given in
    has no say, and equal rows stay together.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.arange(4.0)[:, None], np.zeros((4, 1), dtype=np.int8)
    >>> there = X[pass_order(X, Y, None, 0, True)]
    >>> back = X[::-1][pass_order(X[::-1], Y, None, 0, True)]
    >>> bool((there == back).all())
    True
    """
    order = np.arange(len(labels))
    if shuffle:
        of_labels = row_keys(labels.astype(np.float64)).astype(np.uint64)
        keys = row_keys(X).astype(np.uint64)
        with np.errstate(over="ignore"):
            mixed = (keys ^ (of_labels * np.uint64(0x9E3779B97F4A7C15))) + np.uint64(seed)
            # A few rounds of multiplying and folding reach every bit.
            for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
                mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(factor)
        order = np.argsort(mixed ^ (mixed >> np.uint64(32)), kind="stable")
    if sample_weight is None:
        return order
    if (sample_weight != np.floor(sample_weight)).any():
        raise ValueError(
            "sample_weight must be whole numbers: an online learner sees a row once, twice, ..., "
            "or not at all"
        )
    return np.repeat(order, sample_weight[order].astype(np.intp))
