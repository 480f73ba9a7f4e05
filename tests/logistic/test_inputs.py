"""Forms of X, sample weights and extra columns: different ways to say the same problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave.logistic.conditionals import fit_conditionals
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems
from tests.logistic.make import assert_optimal, assert_same_bits, make_problem, solve
from tests.reference.logistic import reference

TIGHT = 1e-14


def assert_close(left, right, atol=1e-6):
    np.testing.assert_allclose(left.coef, right.coef, atol=atol)
    np.testing.assert_allclose(left.intercept, right.intercept, atol=atol)
    np.testing.assert_allclose(left.extra_coef, right.extra_coef, atol=atol)


def make_sparse(n=60, d=9, p=3, seed=1):
    X, T = make_problem(n, d, p, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.7] = 0.0
    X[[3, 7]] = 0.0
    return X, T


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
    "rows sliced": lambda X: np.repeat(X, 2, axis=0)[::2],
    "columns sliced": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "list": lambda X: X.tolist(),
    "csc": sp.csc_array,
    "coo": sp.coo_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr_matrix": sp.csr_matrix,
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_matrix(form):
    X, T = make_sparse()
    X = X.astype(np.float32).astype(np.float64)
    given = FORMS[form](X)
    plain = sp.csr_array(X) if sp.issparse(given) else X
    assert_same_bits(solve(given, T), solve(plain, T))
    assert_close(solve(given, T, tol=TIGHT), solve(X, T, tol=TIGHT))


def test_integer_features():
    X, T = make_sparse()
    whole = np.rint(3 * X).astype(int)
    assert_same_bits(solve(whole, T), solve(whole.astype(float), T))
    assert_same_bits(solve(sp.csr_array(whole), T), solve(sp.csr_array(whole.astype(float)), T))


def untidy(X):
    """Entries split in two, out of order, with int64 indices and explicit zeros."""
    rng = np.random.default_rng(0)
    data, indices, indptr = [], [], [0]
    for row in X:
        columns = np.concatenate([np.flatnonzero(row)] * 2 + [[0]]).astype(np.int64)
        values = np.concatenate([row[row != 0] * 0.25, row[row != 0] * 0.75, [0.0]])
        order = rng.permutation(len(columns))
        data.extend(values[order])
        indices.extend(columns[order])
        indptr.append(len(data))
    matrix = sp.csr_array(X.shape)
    matrix.data, matrix.indices = np.array(data), np.array(indices, dtype=np.int64)
    matrix.indptr = np.array(indptr, dtype=np.int64)
    return matrix


def test_untidy_csr():
    X, T = make_sparse()
    matrix = untidy(X)
    np.testing.assert_allclose(matrix.toarray(), X)
    before = matrix.indices.copy()
    assert_close(solve(matrix, T, tol=TIGHT), solve(X, T, tol=TIGHT))
    tidy = matrix.copy()
    tidy.sum_duplicates()
    assert_same_bits(solve(matrix, T), solve(tidy, T))
    chosen = fit_conditionals(matrix, T), fit_conditionals(tidy, T)
    np.testing.assert_array_equal(chosen[0].weights, chosen[1].weights)
    np.testing.assert_array_equal(chosen[0].scores(matrix), chosen[1].scores(tidy))
    np.testing.assert_array_equal(matrix.indices, before)


@pytest.mark.parametrize("n_empty", [1, 30])
def test_empty_columns_get_zero(n_empty):
    X, T = make_sparse()
    wide = np.zeros((len(X), X.shape[1] + n_empty))
    filled = np.sort(np.random.default_rng(0).permutation(wide.shape[1])[: X.shape[1]])
    wide[:, filled] = X
    narrow, sparse = solve(X, T, tol=TIGHT), solve(sp.csr_array(wide), T, tol=TIGHT)
    np.testing.assert_allclose(sparse.coef[:, filled], narrow.coef, atol=1e-6)
    assert np.count_nonzero(np.delete(sparse.coef, filled, axis=1)) == 0
    start = np.hstack([sparse.coef, sparse.intercept[:, None]])
    problems = problems_of(sp.csr_array(wide), T)
    again = solve_problems(replace(problems, start=start), tol=1e-9)
    np.testing.assert_allclose(again.coef, sparse.coef, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_integer_weights_repeat_rows_and_zero_weights_remove_them(form):
    X, T = make_problem(40, 5, 3)
    weights = np.random.default_rng(5).integers(0, 4, size=40)
    weights[:2] = 1
    rows = np.repeat(np.arange(40), weights)
    weighted = solve(form(X), T, sample_weight=weights, tol=TIGHT)
    repeated = solve(form(X[rows]), T[rows], tol=TIGHT)
    assert_close(weighted, repeated)
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-13)
    np.testing.assert_allclose(weighted.held_out, 0.0, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kappa", [0.0, 0.03, 1.0, 20.0])
def test_extras_are_appended_columns_with_their_own_penalty(form, kappa):
    X, T = make_problem(80, 4, 5)
    mask = np.random.default_rng(2).random((5, 5)) < 0.5
    np.fill_diagonal(mask, False)
    solutions = solve(form(X), T, C=0.5, extras=T, extra_mask=mask, extra_penalty=kappa, tol=TIGHT)
    assert solutions.converged.all()
    assert np.all(solutions.extra_coef[~mask] == 0)
    for k in range(5):
        columns = T[:, mask[k]]
        problem = reference(X, T[:, k], 0.5, extras=columns, extra_penalty=kappa)
        coef, intercept = problem.solve()
        ours = np.append(solutions.coef[k], solutions.extra_coef[k, mask[k]])
        np.testing.assert_allclose(ours, coef, atol=1e-5)
        np.testing.assert_allclose(solutions.intercept[k], intercept, atol=1e-5)


def test_all_extras_are_used_by_default_and_empty_ones_do_no_harm():
    X, T = make_problem(80, 4, 2)
    extras = np.zeros((80, 3))
    extras[::3, 1] = 1.0
    for form in (np.asarray, sp.csr_array):
        solutions = solve(form(X), T, extras=extras, extra_penalty=0.0, tol=TIGHT)
        assert solutions.converged.all()
        assert np.count_nonzero(solutions.extra_coef[:, [0, 2]]) == 0
        for k in range(2):
            coef, _ = reference(X, T[:, k], extras=extras[:, [1]], extra_penalty=0.0).solve()
            np.testing.assert_allclose(solutions.extra_coef[k, 1], coef[-1], atol=1e-5)


def problems_of(X, T, C=((1.0,),), **more):
    n_problems = T.shape[1]
    return LogisticProblems(
        X=X,
        targets=np.ascontiguousarray(T, np.int8),
        target_of=np.arange(n_problems, dtype=np.int32),
        C=np.broadcast_to(np.asarray(C, float), (n_problems, np.shape(C)[1])).copy(),
        **more,
    )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_every_stage_of_a_path_is_its_own_optimum(form):
    X, T = make_problem(60, 6, 3)
    path = np.array([1e-3, 0.1, 30.0, 1.0])
    whole = solve_problems(problems_of(form(X), T, [path]), tol=1e-13)
    assert whole.objective.shape == (3, 4)
    for stage, C in enumerate(path):
        cold = solve(form(X), T, C=C, tol=1e-13)
        np.testing.assert_allclose(whole.objective[:, stage], cold.objective[:, 0], rtol=1e-11)
    assert_optimal(whole, X, T, tol=1e-12)


def test_paths_over_the_extra_penalty():
    X, T = make_problem(60, 4, 3)
    kappas = np.array([10.0, 1.0, 0.01])
    mask = np.tril(np.ones((3, 3), bool), -1)
    problems = problems_of(
        X,
        T,
        np.ones((1, 3)),
        extras=sp.csr_array(T.astype(float)),
        extra_mask=mask,
        extra_penalty=np.tile(kappas, (3, 1)),
    )
    whole = solve_problems(problems, tol=1e-13)
    for stage, kappa in enumerate(kappas):
        cold = solve(X, T, extras=T, extra_mask=mask, extra_penalty=kappa, tol=1e-13)
        np.testing.assert_allclose(whole.objective[:, stage], cold.objective[:, 0], rtol=1e-11)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_held_out_loss(form):
    X, T = make_problem(70, 5, 2)
    inside = np.random.default_rng(0).random((70, 3)) < 0.7
    total = np.linspace(0.5, 2.0, 70)
    problems = LogisticProblems(
        X=form(X),
        targets=T,
        target_of=np.array([0, 1, 0, 1], np.int32),
        C=np.tile([[0.1, 1.0]], (4, 1)),
        weights=np.where(inside, total[:, None], 0.0),
        weight_of=np.array([0, 0, 1, 2]),
        total_weight=total,
    )
    solutions = solve_problems(problems, tol=TIGHT)
    for k, (t, g) in enumerate([(0, 0), (1, 0), (0, 1), (1, 2)]):
        rows = inside[:, g]
        alone = solve(X[rows], T[rows][:, [t]], sample_weight=total[rows], tol=TIGHT)
        np.testing.assert_allclose(solutions.coef[k], alone.coef[0], atol=1e-6)
        z = X[~rows] @ solutions.coef[k] + solutions.intercept[k]
        loss = total[~rows] @ (np.logaddexp(0, z) - T[~rows, t] * z)
        np.testing.assert_allclose(solutions.held_out[k, -1], loss, rtol=1e-12)


def test_patience_leaves_a_path_whose_held_out_loss_rises():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(60, 30)), rng.integers(0, 2, size=(60, 2))  # nothing to learn
    inside = (np.arange(60) % 2 == 0).astype(float)[:, None]
    path = 10.0 ** np.arange(-3, 4)
    problems = problems_of(X, T, [path], weights=inside, total_weight=np.ones(60))
    full, short = solve_problems(problems, tol=1e-6), solve_problems(problems, tol=1e-6, patience=2)
    for k in range(2):
        rises = np.diff(full.held_out[k]) > 0
        stop = next(s + 2 for s in range(1, len(path)) if rises[s - 1] and rises[s])
        np.testing.assert_array_equal(short.held_out[k, :stop], full.held_out[k, :stop])
        assert np.isnan(short.held_out[k, stop:]).all()
        assert np.isnan(short.objective[k, stop:]).all()
        assert stop < len(path)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_warm_start(form):
    X, T = make_problem(100, 12, 4)
    extras, mask = sp.csr_array(T.astype(float)), np.tril(np.ones((4, 4), bool), -1)
    problems = problems_of(form(X), T, extras=extras, extra_mask=mask)
    cold = solve_problems(problems, tol=1e-12)
    start = np.hstack([cold.coef, cold.intercept[:, None], cold.extra_coef])
    start[:, 13:][~mask] = 5.0  # of columns that do not take part
    warm = solve_problems(replace(problems, start=start), tol=1e-12)
    assert np.all(warm.n_passes < cold.n_passes)
    assert np.all(warm.extra_coef[~mask] == 0)
    np.testing.assert_allclose(warm.objective, cold.objective, rtol=1e-11)
    elsewhere = solve_problems(replace(problems, start=np.where(start == 5, 0, -start)), tol=1e-12)
    np.testing.assert_allclose(elsewhere.objective, cold.objective, rtol=1e-11)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 40), d=st.integers(1, 12))
def test_dense_equals_csr(seed, n, d):
    X, T = make_problem(n, d, 3, seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.5] = 0.0
    dense, sparse = solve(X, T, tol=1e-13), solve(sp.csr_array(X), T, tol=1e-13)
    np.testing.assert_allclose(dense.objective, sparse.objective, rtol=1e-11)
    np.testing.assert_allclose(dense.coef, sparse.coef, atol=1e-5)


@pytest.mark.parametrize("bad", [[[2], [0]], [[0.5], [0]], [[-1], [1]], [[np.nan], [1]], [0, 1]])
def test_targets_other_than_zero_and_one_are_refused(bad):
    with pytest.raises(ValueError, match="0 and 1"):
        solve(np.zeros((2, 1)), bad)
