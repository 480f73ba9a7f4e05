"""Nyström features approximate the kernel, exactly so where landmarks span all rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem

from labelweave.models.kernel_features import choose_landmarks
from tests.features.samples import gram, rows

SAMPLING = ("uniform", "kmeans++", "cholesky")


def approximation(X, feature_map):
    features = feature_map(X)
    return features @ features.T / feature_map.n_features


@given(st.integers(0, 99), st.floats(0.01, 10.0), st.sampled_from(SAMPLING), st.integers(1, 70))
def test_the_kernel_of_landmarks_is_exact_and_no_other_is_overestimated(seed, gamma, how, size):
    X = np.unique(rows(seed=seed), axis=0)
    feature_map = choose_landmarks(X, gamma, size, how, seed)
    assert feature_map.n_features <= min(size, len(X))
    Z = feature_map.landmarks
    np.testing.assert_allclose(approximation(Z, feature_map), gram(Z, gamma), atol=1e-8)
    # What is missing is positive semidefinite, as a Schur complement is.
    missing = gram(X, gamma) - approximation(X, feature_map)
    assert np.linalg.eigvalsh(missing).min() > -1e-8
    if size >= len(X):
        assert abs(missing).max() < 1e-8


@pytest.mark.parametrize("how", SAMPLING)
def test_scikit_learn_has_the_same_kernel_of_the_same_landmarks(how):
    X, gamma = rows(), 0.3
    feature_map = choose_landmarks(np.unique(X, axis=0), gamma, 20, how, 0)
    Z = feature_map.landmarks
    theirs = Nystroem(gamma=gamma, n_components=len(Z)).fit(Z).transform(X)
    np.testing.assert_allclose(approximation(X, feature_map), theirs @ theirs.T, atol=1e-9)


@given(st.integers(1, 40), st.sampled_from(SAMPLING))
def test_numbers_are_nested(size, how):
    X = np.unique(rows(), axis=0)
    feature_map = choose_landmarks(X, 0.5, 40, how, 0)
    first = feature_map.first(size)
    scale = np.sqrt(size / feature_map.n_features)
    np.testing.assert_allclose(first(X), scale * feature_map(X)[:, :size], rtol=1e-12, atol=1e-12)


def test_pivoted_cholesky_approximates_best_where_rows_are_crowded():
    """Most rows lie in one place: landmarks drawn uniformly hardly see the others."""
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(0, 0.05, (380, 2)), random.normal(0, 5.0, (20, 2))])
    error = {
        how: np.mean(
            [
                np.trace(gram(X, 1.0) - approximation(X, choose_landmarks(X, 1.0, 30, how, seed)))
                for seed in range(5)
            ]
        )
        for how in SAMPLING
    }
    assert error["cholesky"] < error["kmeans++"] + 0.1 < error["uniform"] / 4


def test_draws_in_blocks_are_as_probable_as_one_by_one():
    """Two far pairs of close rows and a lone row: one of each pair, and the lone one, are drawn."""
    X = np.array([[0.0], [0.01], [50.0], [50.01], [100.0]])
    for seed in range(30):
        landmarks = choose_landmarks(X, 1.0, 3, "cholesky", seed).landmarks.ravel()
        assert sorted(np.round(landmarks / 50)) == [0, 1, 2]


@pytest.mark.parametrize("how", SAMPLING)
def test_rows_that_others_span_are_no_landmarks(how):
    X = np.arange(40.0)[:, None] * 1e-3
    feature_map = choose_landmarks(X, 1e-2, 40, how, 0)
    assert feature_map.n_features < 10
    np.testing.assert_allclose(approximation(X, feature_map), gram(X, 1e-2), atol=1e-8)


def test_sparse_rows_have_the_features_of_dense_ones():
    X = np.unique(rows(), axis=0)
    dense = choose_landmarks(X, 0.2, 30, "cholesky", 0)
    sparse = choose_landmarks(csr_array(X), 0.2, 30, "cholesky", 0)
    np.testing.assert_array_equal(sparse.landmarks.toarray(), dense.landmarks)
    np.testing.assert_allclose(sparse(csr_array(X)), dense(X), atol=1e-9)
    for feature_map in (dense, sparse):
        np.testing.assert_array_equal(feature_map(csr_array(X)), feature_map(X))


def test_distances_far_from_the_origin_keep_their_digits():
    X = np.unique(rows(), axis=0)
    far = choose_landmarks(X + 1e8, 0.2, 20, "uniform", 0)
    near = choose_landmarks(X, 0.2, 20, "uniform", 0)
    np.testing.assert_allclose(far(X + 1e8), near(X), atol=1e-5)
