"""What the positive labels of drawn vectors add to the log-odds of each label."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from labelweave._common.arrays import Floats, Labels
from labelweave._common.features import linear_scores


def coupling_sums(labels: Labels, coupling: Floats, n_threads: int) -> Floats:
    """Return Σ_k coupling_jk y_k for every label j of (n, m, L) vectors y, in the same shape.

    Examples
    --------
    >>> coupling = np.array([[0.0, 0.0], [3.0, 0.0]])
    >>> coupling_sums(np.array([[[0, 1], [1, 1]]], dtype=np.int8), coupling, n_threads=1)
    array([[[0., 0.],
            [0., 3.]]])
    """
    # Few labels of a vector are positive. Not BLAS: the same bits in every batch of rows.
    positive = sp.csr_array(labels.reshape(-1, labels.shape[2]), dtype=np.float64)
    sums = linear_scores(positive, coupling, np.zeros(len(coupling)), n_threads)
    return sums.reshape(labels.shape)
