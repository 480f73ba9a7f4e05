"""Squared Euclidean distances between the rows of two feature matrices, dense or CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from labelweave._common.arrays import Floats
from labelweave._common.features import linear_scores


def squared_distances(X: Any, Z: Any, n_threads: int = 1) -> Floats:
    """Return the squared distance of each row of X from each row of Z, (n, m).

    A row's bits depend on no other row of X, nor on whether X is dense or sparse.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 3.0], [4.0, 0.0]]), np.array([[0.0, 0.0]]))
    array([[ 9.],
           [16.]])
    """
    if isinstance(Z, np.ndarray):
        # |x|² + |z|² − 2xz loses digits far from the origin, which distances do not depend on.
        center = Z.mean(axis=0)
        X, Z = (X if isinstance(X, np.ndarray) else X.toarray()) - center, Z - center
        distances = linear_scores(X, -2 * Z, _squared_norms(Z), n_threads)
    else:
        X = sparse.csr_array(X)
        distances = (X @ (-2 * Z).T).toarray() + _squared_norms(Z)
    distances += _squared_norms(X)[:, None]
    return np.maximum(distances, 0.0, out=distances)


def median_distance(X: Any) -> float:
    """Return the median of the squared distances between distinct rows; 1 if there is only one.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [3.0]]))
    9.0
    """
    if X.shape[0] < 2:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        median = float(np.median(squared_distances(X, X)[np.triu_indices(X.shape[0], 1)]))
    if not (np.isfinite(median) and median > 0):
        raise ValueError(
            f"X has rows whose squared distance is {median:g}: scale the features, for example "
            "with sklearn's StandardScaler"
        )
    return median


def _squared_norms(X: Any) -> Floats:
    if isinstance(X, np.ndarray):
        norms: Floats = np.einsum("ij,ij->i", X, X)
        return norms
    return np.asarray(X.power(2).sum(axis=1)).ravel()
