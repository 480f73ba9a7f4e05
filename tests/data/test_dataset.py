from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from labelweave import Dataset


def test_fields_take_their_documented_types():
    X = sparse.coo_matrix(([1, 2, 3], ([0, 1, 1], [1, 0, 0])), shape=(2, 2))
    data = Dataset(X, np.array([[True, False], [False, True]]), ["a", "b"], None, "d")
    assert isinstance(data.X, sparse.csr_array)
    assert data.X.dtype == np.float64
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert data.X.toarray().tolist() == [[0, 1], [5, 0]]
    assert data.Y.dtype == np.int64
    assert data.feature_names == ("a", "b")
    assert data.label_names == ("y0", "y1")


def test_wide_indices_become_narrow_and_the_callers_matrix_stays():
    parts = (np.array([1.0, 2.0, 3.0]), np.array([1, 0, 0]), np.array([0, 3]))
    X = sparse.csr_array(parts, shape=(1, 2))
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    data = Dataset(X, np.array([[1]]))
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert data.X.toarray().tolist() == [[5, 1]]
    assert X.nnz == 3
    assert X.indices.dtype == np.int64


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 1)))
def test_statistics_follow_their_definitions(Y):
    data = Dataset(np.zeros((len(Y), 1)), Y)
    n, L = Y.shape
    assert (data.n_rows, data.n_features, data.n_labels) == (n, 1, L)
    assert data.cardinality == pytest.approx(Y.sum(axis=1).mean())
    assert data.density == pytest.approx(Y.mean())
    assert data.n_label_sets == len({tuple(row) for row in Y.tolist()})


def test_repr_names_the_sizes():
    text = repr(Dataset(sparse.csr_array((3, 4)), np.eye(3), name="tiny"))
    assert text == (
        "Dataset 'tiny': 3 rows, 4 sparse features, 3 labels, cardinality 1.000, "
        "3 distinct label sets"
    )


@pytest.mark.parametrize("as_sparse", [False, True])
def test_take_and_published_split(as_sparse):
    X = np.arange(8.0).reshape(4, 2)
    data = Dataset(
        sparse.csr_array(X) if as_sparse else X, np.eye(4), name="d", train_rows=np.array([2, 0])
    )
    train, test = data.published_split()
    assert train.Y.argmax(axis=1).tolist() == [2, 0]
    assert test.Y.argmax(axis=1).tolist() == [1, 3]
    dense = test.X.toarray() if as_sparse else test.X
    assert dense.tolist() == [[2, 3], [6, 7]]
    assert data.take(slice(1, 3)).Y.argmax(axis=1).tolist() == [1, 2]
    with pytest.raises(ValueError, match="no published training and test set"):
        train.published_split()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"X": np.zeros(3)}, "X must have two dimensions"),
        ({"Y": np.zeros(3)}, "Y must have two dimensions"),
        ({"X": np.zeros((2, 2))}, "X has 2 rows but Y has 3"),
        ({"X": np.full((3, 2), np.nan)}, "NaN or infinite"),
        ({"X": sparse.csr_array(np.full((3, 2), np.inf))}, "NaN or infinite"),
        ({"Y": np.array([[0, 1], [2, 0], [0, 0]])}, r"Y\[1, 0\] is 2"),
        ({"Y": np.array([[0, 1], [np.nan, 0], [0, 0]])}, r"Y\[1, 0\] is nan"),
        ({"feature_names": ("a",)}, "feature_names must have 2 names, got 1"),
        ({"label_names": ("a", "b", "c")}, "label_names must have 2 names, got 3"),
        ({"train_rows": np.array([3])}, "between 0 and 2"),
        ({"train_rows": np.array([1, 1])}, "distinct"),
    ],
)
def test_bad_fields_are_named(fields, message):
    good = {"X": np.zeros((3, 2)), "Y": np.zeros((3, 2))}
    with pytest.raises(ValueError, match=message):
        Dataset(**(good | fields))


class TestMostCommonLabels:
    @given(st.integers(0, 2**32 - 1), st.integers(1, 5))
    @settings(deadline=None)
    def test_no_label_left_out_is_more_common(self, seed, count):
        Y = np.random.default_rng(seed).integers(0, 2, size=(7, 5))
        data = Dataset(np.eye(7), Y, label_names=list("abcde"))
        kept = data.with_most_common_labels(count)
        columns = ["abcde".index(name) for name in kept.label_names]
        assert columns == sorted(columns)
        np.testing.assert_array_equal(kept.Y, Y[:, columns])
        left = np.setdiff1d(np.arange(5), columns)
        assert Y[:, left].sum(axis=0).max(initial=0) <= kept.Y.sum(axis=0).min()
        assert kept.n_rows == 7

    @pytest.mark.parametrize("count", [0, 3, 1.5])
    def test_impossible_counts(self, count):
        with pytest.raises(ValueError, match="count"):
            Dataset([[1.0]], [[1, 0]]).with_most_common_labels(count)
