"""The nearest rows, whatever the search: the same as sorting all distances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelweave.models.rivals import neighbours as module
from labelweave.models.rivals.neighbours import count_labels, nearest_rows
from tests.reference.neighbours import neighbours

random = np.random.default_rng(0)
FORMS = {"dense": np.asarray, "sparse": sp.csr_array, "matrix": sp.csr_matrix}


def expected(train, X, k):
    if X is None:
        found = [neighbours(train, x, k, without=i) for i, x in enumerate(train)]
    else:
        found = [neighbours(train, x, k) for x in X]
    return np.sort(found, axis=1)


# Small whole numbers: distances are exact, and equal ones abound.
grids = st.integers(1, 20).flatmap(
    lambda width: st.tuples(
        arrays(float, st.tuples(st.integers(2, 25), st.just(width)), elements=st.integers(0, 2)),
        arrays(float, st.tuples(st.integers(1, 6), st.just(width)), elements=st.integers(0, 2)),
    )
)


@given(data=grids, k=st.integers(1, 25), form=st.sampled_from(list(FORMS)), alone=st.booleans())
def test_ties_go_to_the_earlier_row(data, k, form, alone):
    train, X = data
    k = min(k, len(train) - alone)
    asked = None if alone else FORMS[form](X)
    actual = nearest_rows(FORMS[form](train), asked, k)
    np.testing.assert_array_equal(actual, expected(train, None if alone else X, k))


@pytest.mark.parametrize("n_features", [1, 3, 15, 16, 60])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scale", [1e-25, 1e-8, 1.0, 1e8, 1e14, 1e40])
def test_distinct_distances(n_features, form, scale):
    train = scale * random.normal(size=(70, n_features))
    X = scale * random.normal(size=(20, n_features))
    for asked in (None, X):
        given_rows = None if asked is None else FORMS[form](asked)
        np.testing.assert_array_equal(
            nearest_rows(FORMS[form](train), given_rows, 7), expected(train, asked, 7)
        )


@pytest.mark.parametrize("n_features", [4, 30])
def test_rows_far_from_the_origin(n_features):
    """|x|² + |t|² - 2 x·t has no correct digit here; the differences have all of them."""
    train = 1e8 + random.normal(size=(50, n_features))
    np.testing.assert_array_equal(nearest_rows(train, None, 5), expected(train, None, 5))


@pytest.mark.parametrize("n_features", [4, 30])
def test_groups_far_from_each_other(n_features):
    """Single precision tells the groups apart, but not the rows within them."""
    train = random.normal(size=(60, n_features)) + 1e6 * np.repeat([-1.0, 0.0, 2.0], 20)[:, None]
    X = train[::7] + 0.1 * random.normal(size=train[::7].shape)
    for asked in (None, X):
        np.testing.assert_array_equal(nearest_rows(train, asked, 5), expected(train, asked, 5))


@pytest.mark.parametrize("n_features", [4, 30])
def test_blocks_and_threads_do_not_matter(n_features, monkeypatch):
    train = random.integers(0, 2, size=(90, n_features)) * random.normal(size=n_features)
    for form in FORMS.values():
        whole = nearest_rows(form(train), None, 6)
        monkeypatch.setattr(module, "_BLOCK", 700)
        np.testing.assert_array_equal(nearest_rows(form(train), None, 6), whole)
        np.testing.assert_array_equal(nearest_rows(form(train), None, 6, n_threads=3), whole)
        single = [nearest_rows(form(train), form(train[[i]]), 6)[0] for i in range(30)]
        np.testing.assert_array_equal(single, nearest_rows(form(train), form(train[:30]), 6))
        monkeypatch.undo()


def test_a_mixed_pair_of_forms():
    train, X = random.normal(size=(40, 20)), random.normal(size=(9, 20))
    dense = nearest_rows(train, X, 4)
    np.testing.assert_array_equal(nearest_rows(sp.csr_array(train), X, 4), dense)
    np.testing.assert_array_equal(nearest_rows(train, sp.csr_array(X), 4), dense)


@pytest.mark.parametrize("n_features", [3, 30])
def test_all_rows_alike(n_features):
    rows = nearest_rows(np.ones((300, n_features)), None, 3)
    np.testing.assert_array_equal(rows[:4], [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
    assert (rows[4:] == [0, 1, 2]).all()


@pytest.mark.parametrize("n_features", [3, 30])
@pytest.mark.parametrize("form", FORMS)
def test_squares_that_overflow(n_features, form):
    """Distances that are all infinite are equal: the first rows, and no crash."""
    train = FORMS[form](np.outer(np.arange(1.0, 13.0), np.full(n_features, 1e200)))
    assert (nearest_rows(train, FORMS[form](np.zeros((2, n_features))), 3) == [0, 1, 2]).all()


def test_no_neighbours():
    assert nearest_rows(np.ones((1, 2)), None, 0).shape == (1, 0)


def test_counts():
    labels = np.array([[1, 0], [1, 1], [0, 0]], dtype=np.int8)
    rows = np.array([[0, 1], [1, 2], [0, 2]])
    np.testing.assert_array_equal(count_labels(labels, rows), [[2, 1], [1, 1], [1, 0]])
    wide = np.tile(np.arange(200), (2, 1))
    assert count_labels(np.ones((200, 1), np.int8), wide).tolist() == [[200], [200]]
