"""Rows as the kernels take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from labelweave._common.arrays import Floats, Indices
from labelweave._common.features import canonical_csr

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
    """Raise ValueError unless X is a matrix of finite numbers with at most so many columns."""
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
