"""Targets of one class, separable and degenerate features, extreme scales and penalties."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems
from tests.logistic.make import assert_optimal, excess, make_problem, solve
from tests.reference.logistic import reference

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def assert_finite(solutions):
    for name, value in vars(solutions).items():
        assert np.isfinite(value).all(), name


@FORMS
def test_single_class_targets_are_smoothed_constants(form):
    X, T = make_problem(20, 3, 3)
    T[:, 0], T[:, 2] = 0, 1
    solutions = solve(form(X), T, tol=1e-12)
    np.testing.assert_allclose(solutions.intercept[[0, 2]], [-np.log(21), np.log(21)])
    assert np.count_nonzero(solutions.coef[[0, 2]]) == 0
    np.testing.assert_allclose(solutions.objective[[0, 2], 0], 20 * np.log(22 / 21))
    assert solutions.converged.all()
    assert_optimal(solutions, X, T)


@pytest.mark.parametrize("seed", range(20))
def test_all_weight_on_one_class(seed):
    rng = np.random.default_rng(seed)
    X, T = make_problem(30, 3, 2, seed)
    weights = rng.random(30) * (T[:, 0] == 1)
    T[:, 1] = 1 - T[:, 0]
    solutions = solve(X, T, sample_weight=weights)
    expected = np.log(weights.sum() + 1)
    np.testing.assert_allclose(solutions.intercept, [expected, -expected], rtol=1e-12)
    assert np.count_nonzero(solutions.coef) == 0
    nothing = solve(X, T, sample_weight=np.zeros(30))
    assert np.count_nonzero(nothing.intercept) == 0
    assert_finite(nothing)


def test_held_out_loss_of_a_constant():
    T = np.array([[0], [0], [1], [0]], np.int8)
    problems = LogisticProblems(
        X=np.zeros((4, 1)),
        targets=T,
        target_of=np.zeros(1, np.int32),
        C=np.ones((1, 2)),
        weights=np.array([[1.0], [1.0], [0.0], [0.0]]),
        total_weight=np.array([1.0, 1.0, 2.0, 3.0]),
    )
    solutions = solve_problems(problems)
    expected = 2 * np.log(4) + 3 * np.log(4 / 3)  # P(1) = 1/4
    np.testing.assert_allclose(solutions.held_out, [[expected, expected]])


@FORMS
def test_constant_and_duplicated_features(form):
    X, T = make_problem(50, 3, 2)
    X = np.column_stack([X, X, np.ones(50), np.zeros(50), X[:, 0]])
    solutions = solve(form(X), T, tol=1e-13)
    assert_optimal(solutions, X, T, tol=1e-11)
    np.testing.assert_allclose(solutions.coef[:, :3], solutions.coef[:, 3:6], atol=1e-6)
    assert np.count_nonzero(solutions.coef[:, 7]) == 0


@FORMS
@pytest.mark.parametrize("n_features", [1, 6])
def test_no_information_leaves_the_base_rate(form, n_features):
    T = np.array([[0], [1], [1]] * 5)
    solutions = solve(form(np.zeros((15, n_features))), T, tol=1e-14)
    np.testing.assert_allclose(solutions.intercept, np.log(2), rtol=1e-7)
    assert np.count_nonzero(solutions.coef) == 0


@FORMS
@pytest.mark.parametrize("C", [1e-10, 1e-3, 1.0, 1e5, 1e10])
def test_separating_features(form, C):
    X = np.linspace(-1, 1, 20)[:, None] * np.array([1.0, 2.0, 0.5])
    T = (X[:, :1] > 0).astype(int)
    solutions = solve(form(X), T, C=C, tol=1e-10)
    assert_finite(solutions)
    assert solutions.converged.all()
    assert excess(reference(X, T[:, 0], C), solutions.coef[0], solutions.intercept[0]) < 1e-8


@FORMS
@pytest.mark.parametrize("C", [1e-10, 1.0, 1e10, np.inf])
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-8, 1e8, 1e20, 1e38, 1e150])
def test_scale_of_the_features(form, C, scale):
    X, T = make_problem(60, 5, 3)
    solutions = solve(form(scale * X), T, C=C, tol=1e-12)
    assert_finite(solutions)
    assert solutions.converged.all()
    # In units of X the penalty is 1 / (C scale^2): gone for large features, total for small ones.
    penalty = 1.0 / C / scale / scale
    for k in range(3):
        problem = reference(X, T[:, k], 1 / np.clip(penalty, 1e-18, 1e15))
        optimum = problem.objective(*problem.solve())
        np.testing.assert_allclose(solutions.objective[k], optimum, rtol=1e-9)


@FORMS
def test_features_of_very_different_scale(form):
    X, T = make_problem(60, 6, 3)
    scales = np.array([1e150, 1e-150, 1.0, 1e30, 1e-3, 1e5])
    solutions = solve(form(X * scales), T, tol=1e-12)
    assert_finite(solutions)
    assert solutions.converged.all()
    penalty = np.clip(1 / scales / scales, 1e-18, 1e15)
    for k in range(3):
        problem = reference(X, T[:, k])
        object.__setattr__(problem, "penalty", penalty)
        np.testing.assert_allclose(
            solutions.objective[k], problem.objective(*problem.solve()), rtol=1e-9
        )


@FORMS
@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_features_too_large_to_square_are_not_called_converged(form, scale):
    X, T = make_problem(60, 5, 3)
    solutions = solve(form(scale * X), T, tol=1e-12)
    assert_finite(solutions)
    assert not solutions.converged.any()


@FORMS
def test_nan_features_end_and_are_not_called_converged(form):
    X, T = make_problem(30, 3, 2)
    X[4, 1] = np.nan
    assert not solve(form(X), T).converged.any()


@FORMS
@pytest.mark.parametrize("max_iter", [0, 1, 2])
def test_max_iter_is_respected_and_told(form, max_iter):
    X, T = make_problem(100, 10, 2)
    solutions = solve(form(X), T, C=100.0, tol=1e-14, max_iter=max_iter)
    assert_finite(solutions)
    assert not solutions.converged.any()
    full = solve(form(X), T, C=100.0, tol=1e-14)
    assert full.converged.all()
    assert np.all(solutions.objective > full.objective)
    if max_iter == 0:
        base = T.mean(axis=0)
        np.testing.assert_allclose(solutions.intercept, np.log(base / (1 - base)))
        assert np.count_nonzero(solutions.coef) == 0


@FORMS
def test_a_stage_that_did_not_converge_is_told_at_the_end_of_the_path(form):
    X, T = make_problem(100, 10, 1)
    problems = LogisticProblems(
        X=form(X), targets=T, target_of=np.zeros(1, np.int32), C=np.array([[100.0, 100.0]])
    )
    assert not solve_problems(problems, tol=1e-13, max_iter=4).converged[0]


@FORMS
@pytest.mark.parametrize("unit", [1e-100, 1e-12, 1e12])
def test_weights_only_matter_against_the_penalty(form, unit):
    X, T = make_problem(40, 4, 2)
    plain = solve(form(X), T, C=2.0, tol=1e-13)
    scaled = solve(form(X), T, C=2.0 / unit, sample_weight=np.full(40, unit), tol=1e-13)
    np.testing.assert_allclose(scaled.coef, plain.coef, atol=1e-6)
    np.testing.assert_allclose(scaled.objective, plain.objective * unit, rtol=1e-12)


@FORMS
@pytest.mark.parametrize("C", [1e-3, 1.0])
@pytest.mark.parametrize("n_rows", [12, 200])
def test_starts_far_away(form, C, n_rows):
    """Where all rows are flat, Newton steps are too long by many orders of magnitude."""
    X, T = make_problem(n_rows, 5, 1)
    distances = np.array([9.0, 20, 40, 100, 300, 600, 750, 2000, 5000])
    intercepts = np.concatenate([-distances, distances])
    coefs = np.random.default_rng(0).normal(size=(len(intercepts), 5))
    starts = [
        np.column_stack([np.ones_like(coefs), intercepts]),
        np.column_stack([np.zeros_like(coefs), intercepts]),
        np.column_stack([np.abs(intercepts)[:, None] * coefs, coefs[:, 0]]),
    ]
    n_starts = 3 * len(intercepts)
    problems = LogisticProblems(
        X=form(X),
        targets=T,
        target_of=np.zeros(n_starts, np.int32),
        C=np.full((n_starts, 1), C),
        start=np.concatenate(starts),
    )
    solutions = solve_problems(problems, tol=1e-12)
    optimum = solve(X, T, C=C, tol=1e-12).objective[0, 0]
    np.testing.assert_allclose(solutions.objective, optimum, rtol=1e-10)
    assert solutions.converged.all()


@FORMS
@pytest.mark.parametrize("largest", [1e4, 1e8, np.inf])
@pytest.mark.parametrize("seed", range(12))
def test_paths_down_from_separated_classes(form, largest, seed):
    """Without a penalty the scores grow until all rows are flat; a strong penalty comes next."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(10, 60), rng.integers(2, 11)))
    T = (X @ rng.normal(size=(X.shape[1], 1)) > 0).astype(np.int8)
    T[:2, 0] = 0, 1
    problems = LogisticProblems(
        X=form(X), targets=T, target_of=np.zeros(1, np.int32), C=np.array([[largest, 1e-4]])
    )
    solutions = solve_problems(problems, tol=1e-10)
    optimum = solve(X, T, C=1e-4, tol=1e-12).objective[0, 0]
    np.testing.assert_allclose(solutions.objective[0, 1], optimum, rtol=1e-8)


@pytest.mark.parametrize("C", [0.0, -1.0, np.nan, 1e-320])
def test_impossible_penalties_are_refused(C):
    X, T = make_problem(10, 2, 1)
    with pytest.raises(ValueError, match="C must be positive"):
        solve(X, T, C=C)


@FORMS
def test_losses_are_accurate_for_scores_of_any_size(form):
    # One problem per score: at max_iter=0 the objective is the loss of the starting point.
    z = np.concatenate([-np.geomspace(1e-300, 600, 200), [0.0], np.geomspace(1e-300, 1e150, 200)])
    n = len(z)
    problems = LogisticProblems(
        X=form(np.array([[1.0], [1.0]])),
        targets=np.array([[0], [1]], np.int8),
        target_of=np.zeros(2 * n, np.int32),
        C=np.full((2 * n, 1), np.inf),
        weights=np.array([[1.0, 1e-300], [1e-300, 1.0]]),
        weight_of=np.repeat(np.array([0, 1], np.int32), n),
        total_weight=np.array([1.0, 1.0]),
        start=np.tile(np.column_stack([z, np.zeros(n)]), (2, 1)),
    )
    solutions = solve_problems(problems, max_iter=0)
    np.testing.assert_allclose(solutions.objective[:n, 0], np.logaddexp(0, z), rtol=1e-14)
    mirrored = np.logaddexp(0, -z) + 1e-300 * np.maximum(z, 0)
    np.testing.assert_allclose(solutions.objective[n:, 0], mirrored, rtol=1e-14, atol=1e-307)
    np.testing.assert_allclose(
        solutions.held_out[:n, 0], np.logaddexp(0, -z), rtol=1e-14, atol=1e-307
    )
