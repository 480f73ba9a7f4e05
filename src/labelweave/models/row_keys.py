"""Keys that name rows by their content."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def row_keys(X: Any) -> NDArray[np.int64]:
    """Return an integer per row of X that depends on the row's non-zero features only.

    Random numbers keyed by these are the same whatever batch a row comes in.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> bool((row_keys(X)[::-1] == row_keys(X[::-1])).all())
    True
    """
    with np.errstate(over="ignore"):
        if isinstance(X, np.ndarray):
            keys = np.where(X != 0, _mixed(X, np.arange(X.shape[1])), np.uint64(0)).sum(axis=1)
        else:
            terms = np.where(X.data != 0, _mixed(X.data, X.indices), np.uint64(0))
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            keys = sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    halved: NDArray[np.int64] = (keys >> np.uint64(1)).astype(np.int64)
    return halved


def _mixed(values: NDArray[np.float64], columns: NDArray[Any]) -> NDArray[np.uint64]:
    bits = np.ascontiguousarray(values).view(np.uint64)
    words = bits + (columns.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    # The finaliser of SplitMix64: every input bit reaches every output bit.
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed
