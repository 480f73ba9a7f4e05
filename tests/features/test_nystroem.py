"""Nyström features approximate the kernel, exactly so where landmarks span all rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem

from labelweave.models.kernel_features import map_through
from tests.features.samples import gram, rows


def approximation(X, feature_map):
    features = feature_map(X)
    return features @ features.T / feature_map.n_features


@given(st.integers(0, 99), st.floats(0.01, 10.0), st.integers(1, 70))
def test_the_kernel_of_landmarks_is_exact_and_no_other_is_overestimated(seed, gamma, size):
    X = np.unique(rows(seed=seed), axis=0)
    feature_map = map_through(X[:size], gamma, seed)
    assert feature_map.n_features <= min(size, len(X))
    Z = feature_map.landmarks
    np.testing.assert_allclose(approximation(Z, feature_map), gram(Z, gamma), atol=1e-8)
    # What is missing is positive semidefinite, as a Schur complement is.
    missing = gram(X, gamma) - approximation(X, feature_map)
    assert np.linalg.eigvalsh(missing).min() > -1e-8
    if size >= len(X):
        assert abs(missing).max() < 1e-8


def test_scikit_learn_has_the_same_kernel_of_the_same_landmarks():
    X, gamma = rows(), 0.3
    feature_map = map_through(np.unique(X, axis=0)[:20], gamma, 0)
    Z = feature_map.landmarks
    theirs = Nystroem(gamma=gamma, n_components=len(Z)).fit(Z).transform(X)
    np.testing.assert_allclose(approximation(X, feature_map), theirs @ theirs.T, atol=1e-9)


def test_rows_that_others_span_are_no_landmarks():
    X = np.arange(40.0)[:, None] * 1e-3
    feature_map = map_through(X, 1e-2, 0)
    assert feature_map.n_features < 10
    np.testing.assert_allclose(approximation(X, feature_map), gram(X, 1e-2), atol=1e-8)


def test_sparse_rows_have_the_features_of_dense_ones():
    X = np.unique(rows(), axis=0)
    dense = map_through(X[:30], 0.2, 0)
    sparse = map_through(csr_array(X[:30]), 0.2, 0)
    np.testing.assert_array_equal(sparse.landmarks.toarray(), dense.landmarks)
    np.testing.assert_allclose(sparse(csr_array(X)), dense(X), atol=1e-9)
    for feature_map in (dense, sparse):
        np.testing.assert_array_equal(feature_map(csr_array(X)), feature_map(X))


def test_distances_far_from_the_origin_keep_their_digits():
    X = np.unique(rows(), axis=0)
    far = map_through(X[:20] + 1e8, 0.2, 0)
    near = map_through(X[:20], 0.2, 0)
    np.testing.assert_allclose(far(X + 1e8), near(X), atol=1e-5)
