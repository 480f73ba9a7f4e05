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
    """Rows of X as CSR arrays; a dense X comes in parts, so that no copy of all is made."""
    if X.ndim != 2 or X.shape[1] > n_features:
        raise ValueError(
            f"X must have at most {n_features} columns, one for each feature; got shape "
            f"{X.shape}. `grow` adds features"
        )
    n_rows, n_columns = X.shape
    if issparse(X):
        yield 0, n_rows, _csr_arrays(X)
        return
    step = max(1, _DENSE_ENTRIES // max(1, n_columns))
    for begin in range(0, n_rows, step):
        end = min(n_rows, begin + step)
        yield begin, end, _csr_arrays(csr_matrix(X[begin:end]))


def _csr_arrays(X: Any) -> CsrArrays:
    X = canonical_csr(X)
    values = np.ascontiguousarray(X.data)
    if not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity: remove or replace such entries")
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        values,
    )
