"""Edge weights: against fits made one by one, and what they must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from labelweave import load
from labelweave.logistic.edges import edge_weights
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems
from tests.reference.logistic import reference

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def make_edges(n, d, n_labels, seed=0, strength=1.5):
    """Features, labels of which each depends on the one before, and a split."""
    rng = np.random.default_rng([seed, n, d, n_labels])
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.3] = 0.0
    Y = np.zeros((n, n_labels), dtype=np.int8)
    z = X @ rng.normal(size=(d, n_labels)) / np.sqrt(d)
    for i in range(n_labels):
        before = Y[:, i - 1] if i else np.zeros(n)
        Y[:, i] = z[:, i] + strength * (2 * before - 1) + rng.logistic(size=n) > 0
    return X, Y, rng.random(n) < 0.4


def log_likelihood(t, z, weight):
    return -float(weight @ (np.logaddexp(0.0, z) - t * z))


def one_by_one(X, Y, C, label_penalty, held_out, weight=None):
    """Edge weights by plain Newton steps, pair by pair."""
    n, n_labels = Y.shape
    weight = np.ones(n) if weight is None else weight
    C = np.broadcast_to(C, n_labels)
    label_penalty = np.broadcast_to(label_penalty, n_labels)
    pair, alone = np.zeros((n_labels, n_labels)), np.zeros(n_labels)
    inside, w = ~held_out, weight[held_out]
    for i in range(n_labels):
        t = Y[held_out, i]
        common = {"C": C[i], "weight": weight[inside]}
        coef, b = reference(X[inside], Y[inside, i], **common).solve()
        alone[i] = log_likelihood(t, X[held_out] @ coef + b, w)
        for j in range(n_labels):
            extras = Y[inside][:, [j]]
            problem = reference(
                X[inside], Y[inside, i], extras=extras, extra_penalty=label_penalty[i], **common
            )
            coef, b = problem.solve()
            z = np.column_stack([X[held_out], Y[held_out, j]]) @ coef + b
            pair[j, i] = alone[i] if i == j else log_likelihood(t, z, w)
    return pair, alone


def assert_close(weights, pair, alone):
    np.testing.assert_allclose(weights.pair, pair, rtol=1e-3)
    np.testing.assert_allclose(weights.alone, alone, rtol=1e-3)


@FORMS
@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(60, 120),
    d=st.integers(1, 12),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    label_penalty=st.sampled_from([1.0, 0.05]),
)
@example(seed=912, n=96, d=1, C=0.01, label_penalty=0.05)
@example(seed=823410, n=98, d=1, C=1.0, label_penalty=1.0)
def test_as_fitted_one_by_one(form, seed, n, d, C, label_penalty):
    X, Y, held_out = make_edges(n, d, 3, seed)
    Y[np.flatnonzero(~held_out)[:2]] = [[0, 0, 0], [1, 1, 1]]
    weights = edge_weights(form(X), Y, C=C, label_penalty=label_penalty, held_out=held_out)
    assert_close(weights, *one_by_one(X, Y, C, label_penalty, held_out))
    np.testing.assert_array_equal(weights.fitted, ~np.eye(3, dtype=bool))


@FORMS
@pytest.mark.parametrize("tolerance", [1e-4, 1e-2, 0.1])
def test_weights_are_as_accurate_as_asked_for(form, tolerance):
    X, Y, held_out = make_edges(150, 8, 5, strength=4.0)
    options = {"C": 1.0, "label_penalty": 0.05, "held_out": held_out}
    weights = edge_weights(form(X), Y, **options, tolerance=tolerance)
    pair, alone = one_by_one(X, Y, 1.0, 0.05, held_out)
    np.testing.assert_allclose(weights.pair, pair, rtol=tolerance)
    np.testing.assert_allclose(weights.alone, alone, rtol=tolerance)


@FORMS
def test_weights_and_penalties_of_every_label(form):
    X, Y, held_out = make_edges(150, 6, 4)
    weight = np.random.default_rng(0).integers(0, 4, size=150).astype(float)
    C, label_penalty = np.array([0.1, 1.0, 10.0, 0.5]), np.array([1.0, 0.1, 0.01, 3.0])
    weights = edge_weights(
        form(X), Y, C=C, label_penalty=label_penalty, held_out=held_out, sample_weight=weight
    )
    assert_close(weights, *one_by_one(X, Y, C, label_penalty, held_out, weight))


@pytest.mark.parametrize("label_penalty", [1.0, 0.1])
def test_scikit_learn_agrees(label_penalty):
    """A column with penalty k is a column divided by the root of k with penalty one."""
    X, Y, held_out = make_edges(200, 5, 3)
    weights = edge_weights(X, Y, C=2.0, label_penalty=label_penalty, held_out=held_out)
    for j, i in zip(*np.nonzero(weights.fitted), strict=True):
        A = np.column_stack([X, Y[:, j] / np.sqrt(label_penalty)])
        model = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000)
        model.fit(A[~held_out], Y[~held_out, i])
        log_p = model.predict_log_proba(A[held_out])[np.arange(held_out.sum()), Y[held_out, i]]
        assert weights.pair[j, i] == pytest.approx(log_p.sum(), rel=1e-3)


def engine_weights(X, Y, C, label_penalty, held_out):
    """Every pair by the engine, solved far better than edge weights need."""
    n_labels = Y.shape[1]
    parent, target = np.nonzero(~np.eye(n_labels, dtype=bool))
    mask = np.zeros((len(target), n_labels), dtype=bool)
    mask[np.arange(len(target)), parent] = True
    problems = LogisticProblems(
        X=X,
        targets=Y,
        target_of=target.astype(np.int32),
        C=np.full((len(target), 1), C),
        extras=sp.csr_array(Y, dtype=np.float64),
        extra_mask=mask,
        extra_penalty=np.full((len(target), 1), label_penalty),
        weights=np.where(held_out, 0.0, 1.0)[:, None],
    )
    pair = np.full((n_labels, n_labels), np.nan)
    pair[parent, target] = -solve_problems(problems, tol=1e-12, n_threads=2).held_out[:, 0]
    return pair


@pytest.mark.parametrize(("C", "label_penalty"), [(1.0, 0.1), (0.01, 0.01), (100.0, 1.0)])
def test_real_data_against_the_engine(C, label_penalty):
    data = load("emotions")
    X, Y = np.asarray(data.X), np.asarray(data.Y, dtype=np.int8)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    held_out = np.random.default_rng(1).random(len(Y)) < 1 / 3
    weights = edge_weights(X, Y, C=C, label_penalty=label_penalty, held_out=held_out, n_threads=2)
    pair = engine_weights(X, Y, C, label_penalty, held_out)
    off = ~np.eye(Y.shape[1], dtype=bool)
    np.testing.assert_allclose(weights.pair[off], pair[off], rtol=1e-3)


@pytest.mark.parametrize("density", [0.02, 0.5])
@FORMS
def test_more_features_than_fit_into_the_core(form, density):
    rng = np.random.default_rng(0)
    n, d = 90, 1300
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    Y = (X[:, :5] + X[:, 5:10] + rng.normal(size=(n, 5)) > 0).astype(np.int8)
    Y[:, 1] = np.where(rng.random(n) < 0.9, Y[:, 0], 1 - Y[:, 0])
    held_out = np.arange(n) % 3 == 0
    weights = edge_weights(form(X), Y, C=1.0, label_penalty=0.1, held_out=held_out)
    off = ~np.eye(5, dtype=bool)
    pair = engine_weights(form(X), Y, 1.0, 0.1, held_out)
    np.testing.assert_allclose(weights.pair[off], pair[off], rtol=1e-3)


@FORMS
def test_weights_of_several_splits_add_up(form):
    X, Y, _ = make_edges(90, 4, 3)
    folds = np.arange(90) % 3 == np.arange(3)[:, None]
    common = {"C": 1.0, "label_penalty": 0.1}
    together = edge_weights(form(X), Y, held_out=folds, **common)
    parts = [edge_weights(form(X), Y, held_out=fold, **common) for fold in folds]
    np.testing.assert_array_equal(together.pair, np.sum([p.pair for p in parts], axis=0))
    np.testing.assert_array_equal(together.alone, np.sum([p.alone for p in parts], axis=0))


@FORMS
def test_rows_without_weight_might_as_well_be_missing(form):
    X, Y, held_out = make_edges(120, 5, 4)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=120)
    kept = weight > 0
    common = {"C": 1.0, "label_penalty": 0.1}
    zero = edge_weights(form(X), Y, held_out=held_out, sample_weight=weight, **common)
    dropped = edge_weights(
        form(X[kept]), Y[kept], held_out=held_out[kept], sample_weight=weight[kept], **common
    )
    np.testing.assert_array_equal(zero.pair, dropped.pair)
    np.testing.assert_array_equal(zero.alone, dropped.alone)


@FORMS
def test_a_weight_counts_rows(form):
    X, Y, held_out = make_edges(80, 4, 3)
    times = np.random.default_rng(0).integers(0, 4, size=80)
    common = {"C": 0.5, "label_penalty": 0.1}
    weighted = edge_weights(
        form(X), Y, held_out=held_out, sample_weight=times.astype(float), **common
    )
    repeated = edge_weights(
        form(X.repeat(times, axis=0)),
        Y.repeat(times, axis=0),
        held_out=held_out.repeat(times),
        **common,
    )
    np.testing.assert_allclose(weighted.pair, repeated.pair, rtol=2e-3)


@FORMS
@pytest.mark.parametrize("n_threads", [0, 2, 5])
def test_threads_do_not_matter(form, n_threads):
    X, Y, held_out = make_edges(200, 10, 12)
    common = {"C": 1.0, "label_penalty": 0.1, "held_out": held_out}
    one, more = (edge_weights(form(X), Y, n_threads=k, **common) for k in (1, n_threads))
    np.testing.assert_array_equal(one.pair, more.pair)
    np.testing.assert_array_equal(one.alone, more.alone)


@FORMS
def test_only_candidates_are_fitted_and_neighbours_do_not_matter(form):
    X, Y, held_out = make_edges(200, 10, 12)
    candidates = np.random.default_rng(0).random((12, 12)) < 0.3
    common = {"C": 1.0, "label_penalty": 0.1, "held_out": held_out}
    full = edge_weights(form(X), Y, **common)
    some = edge_weights(form(X), Y, candidates=candidates, **common)
    np.testing.assert_array_equal(some.fitted, candidates & ~np.eye(12, dtype=bool))
    np.testing.assert_array_equal(some.pair, np.where(some.fitted, full.pair, full.alone))
    np.testing.assert_array_equal(some.alone, full.alone)


def test_inputs_are_not_changed():
    X, Y, held_out = make_edges(60, 3, 3)
    arrays = [X, Y, held_out, np.ones(60), np.ones((3, 3), bool)]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    edge_weights(
        X,
        Y,
        C=1.0,
        label_penalty=1.0,
        held_out=held_out,
        sample_weight=arrays[3],
        candidates=arrays[4],
    )
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
