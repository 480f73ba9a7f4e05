"""Small streams for the online learner."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from labelweave.models.online.settings import ProbitModel


def stream(n=300, n_features=30, n_labels=5, density=0.2, seed=0):
    """Return sparse rows of unit length and labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, n_features), density=density, rng=rng, format="csr")
    dense = X.toarray()
    dense[:, 0] += 0.1
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    weights = rng.normal(size=(n_features, n_labels))
    scores = dense @ weights + 0.1 * rng.normal(size=(n, n_labels))
    Y = scores > np.quantile(scores, np.linspace(0.5, 0.9, n_labels), axis=0).diagonal()
    return sp.csr_matrix(dense), Y.astype(np.int8)


def varied(model, **values):
    """Return a model with other values, among them those of its settings."""
    return ProbitModel.of(**model.as_dict() | values)


def same(a, b):
    """Assert that two states are equal to the last bit."""
    left, right = a.to_arrays(), b.to_arrays()
    assert a.model == b.model
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)
