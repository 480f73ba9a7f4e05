"""Edge weights are as accurate as they say where fits end far from where they start."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from labelweave import load
from labelweave.logistic.edges import edge_weights
from tests.logistic.test_edges import FORMS, engine_weights, make_edges, one_by_one


def assert_as_promised(weights, pair, alone, n_held):
    np.testing.assert_allclose(weights.pair, pair, rtol=1e-3, atol=1e-7 * n_held)
    np.testing.assert_allclose(weights.alone, alone, rtol=1e-3, atol=1e-7 * n_held)


@FORMS
@pytest.mark.parametrize(
    ("seed", "n", "d", "C", "label_penalty"),
    [
        (42547, 234, 2, 293.0, 0.001),
        (67309, 364, 5, 862.0, 0.0025),
        (89598, 219, 2, 500.0, 0.002),
        (456029, 202, 1, 635.0, 0.0064),
        (413113, 281, 1, 678.4, 0.0077),
    ],
)
def test_parents_that_all_but_determine_a_label(form, seed, n, d, C, label_penalty):
    """Rows that a parent makes certain leave next to no curvature along its column."""
    X, Y, held_out = make_edges(n, d, 4, seed, strength=4.0)
    Y[np.flatnonzero(~held_out)[:2]] = [[0] * 4, [1] * 4]
    weights = edge_weights(form(X), Y, C=C, label_penalty=label_penalty, held_out=held_out)
    assert_as_promised(weights, *one_by_one(X, Y, C, label_penalty, held_out), held_out.sum())


@FORMS
@pytest.mark.parametrize(
    ("seed", "n", "d", "C", "label_penalty", "strength"),
    [
        (993847, 353, 1, 13.78, 0.011, 1.5),
        (684017, 254, 1, 0.12, 0.0066, 0.5),
        (879702, 134, 1, 1.1, 0.15, 0.5),
    ],
)
def test_held_out_rows_that_like_the_start_best(form, seed, n, d, C, label_penalty, strength):
    """Where the held-out gradient vanishes at the start, it does not where the fit ends."""
    X, Y, held_out = make_edges(n, d, 4, seed, strength)
    Y[np.flatnonzero(~held_out)[:2]] = [[0] * 4, [1] * 4]
    weights = edge_weights(form(X), Y, C=C, label_penalty=label_penalty, held_out=held_out)
    assert_as_promised(weights, *one_by_one(X, Y, C, label_penalty, held_out), held_out.sum())


@FORMS
@pytest.mark.parametrize("seed", [9, 18, 48])
def test_labels_that_features_all_but_determine(form, seed):
    """Weights of next to nothing: the error allowed is a share of each row's."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((120, 4)) < [0.5, 0.3, 0.1, 0.05]).astype(np.int8)
    X = np.column_stack([4.0 * Y - 2.0 + 0.3 * rng.normal(size=Y.shape), rng.normal(size=(120, 3))])
    held_out = rng.random(120) < 0.4
    weights = edge_weights(form(X), Y, C=1000.0, label_penalty=0.01, held_out=held_out)
    pair, alone = one_by_one(X, Y, 1000.0, 0.01, held_out)
    assert np.abs(pair).min() < 1e-4 * held_out.sum()
    assert_as_promised(weights, pair, alone, held_out.sum())


def test_a_fit_that_goes_on_from_where_it_is_stuck_has_no_neighbours():
    """Several fits are stuck here; each must end as it would alone."""
    X, Y, held_out = make_edges(364, 5, 4, 67309, strength=4.0)
    common = {"C": 862.0, "label_penalty": 0.0025, "held_out": held_out}
    full = edge_weights(X, Y, **common)
    for parent, target in zip(*np.nonzero(full.fitted), strict=True):
        candidates = np.zeros((4, 4), dtype=bool)
        candidates[parent, target] = True
        one = edge_weights(X, Y, candidates=candidates, **common)
        assert one.pair[parent, target] == full.pair[parent, target]


@pytest.mark.slow
@pytest.mark.usefixtures("shared_data")
def test_thousands_of_pairs_of_real_labels():
    data = load("enron")
    X, Y = sp.csr_array(data.X), np.asarray(data.Y, dtype=np.int8)
    held_out = np.random.default_rng(0).integers(0, 3, size=len(Y)) == 1
    proper = Y[~held_out].any(axis=0)
    Y = Y[:, proper]
    weights = edge_weights(X, Y, C=0.01, label_penalty=0.1, held_out=held_out)
    off = ~np.eye(Y.shape[1], dtype=bool)
    pair = engine_weights(X, Y, 0.01, 0.1, held_out)
    np.testing.assert_allclose(weights.pair[off], pair[off], rtol=1e-3, atol=1e-7 * held_out.sum())


def test_features_that_no_training_row_has_change_nothing():
    """They are left out of sparse fits; held-out rows may have them all the same."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
    held_out = np.arange(60) % 3 == 0
    rare = np.where(held_out[:, None], rng.normal(size=(60, 5)), 0.0)
    wide = sp.csr_array(np.hstack([rare[:, :2], X, rare[:, 2:], np.zeros((60, 9))]))
    settings = {"C": 1.0, "label_penalty": 0.5, "held_out": held_out}
    narrow = edge_weights(sp.csr_array(X), Y, **settings)
    same = edge_weights(wide, Y, **settings)
    np.testing.assert_array_equal(same.pair, narrow.pair)
    np.testing.assert_array_equal(same.alone, narrow.alone)
    dense = edge_weights(wide.toarray(), Y, **settings)
    np.testing.assert_allclose(same.pair, dense.pair, rtol=2e-3)
