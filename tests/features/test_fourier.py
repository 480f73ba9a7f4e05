"""Fourier features approximate the kernel on average, and orthogonal frequencies do so better."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.kernel_approximation import RBFSampler

from labelweave.models.kernel_features import draw_frequencies
from tests.features.samples import gram, rows


def approximation(X, n_features, seed):
    features = draw_frequencies(X.shape[1], 0.2, n_features, seed)(X)
    return features @ features.T / features.shape[1]


def test_they_have_no_bias():
    X = rows(15)
    mean = np.mean([approximation(X, 200, seed) for seed in range(30)], axis=0)
    np.testing.assert_allclose(mean, gram(X, 0.2), atol=0.06)


def test_the_error_is_less_than_that_of_independent_frequencies():
    X, gamma, n_features = rows(40, 20), 0.02, 40
    ours, theirs = [], []
    for seed in range(20):
        features = draw_frequencies(20, gamma, n_features, seed)(X)
        ours.append(np.mean((features @ features.T / n_features - gram(X, gamma)) ** 2))
        sampler = RBFSampler(gamma=gamma, n_components=n_features, random_state=seed)
        features = sampler.fit_transform(X)
        theirs.append(np.mean((features @ features.T - gram(X, gamma)) ** 2))
    assert np.mean(ours) < 0.5 * np.mean(theirs)


@pytest.mark.parametrize("n_columns", [1, 3, 50])
def test_frequencies_are_orthogonal_and_numbers_nested(n_columns):
    feature_map = draw_frequencies(n_columns, 1.0, 20, 0)
    block = feature_map.frequencies[: min(10, n_columns)]
    products = block @ block.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-9)
    X = rows(n_columns=n_columns)
    np.testing.assert_array_equal(feature_map.first(6)(X), feature_map(X)[:, :6])
    assert feature_map.first(7).n_features == 8


def test_sparse_rows_have_the_features_of_dense_ones():
    X = rows()
    feature_map = draw_frequencies(5, 1.0, 30, 0)
    np.testing.assert_allclose(feature_map(csr_array(X)), feature_map(X), atol=1e-12)
