"""The order in which a pass takes its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.row_keys import presentation_order


def pass_order(
    X: Any,
    labels: Labels,
    sample_weight: Floats | None,
    seed: int,
    shuffle: bool,
) -> Indices:
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
    order = presentation_order(X, labels, seed) if shuffle else np.arange(len(labels))
    if sample_weight is None:
        return order
    if (sample_weight != np.floor(sample_weight)).any():
        raise ValueError(
            "sample_weight must be whole numbers: an online learner sees a row once, twice, ..., "
            "or not at all"
        )
    return np.repeat(order, sample_weight[order].astype(np.int64))
