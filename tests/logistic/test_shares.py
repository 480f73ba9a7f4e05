"""Targets between 0 and 1: a row belongs to both classes, to each with its share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems
from tests.logistic.make import make_problem

N, D = 70, 6
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def mixed_problems(form, seed=0, total_weight=None):
    """Two labels and three shares, with weights of their own."""
    rng = np.random.default_rng(seed)
    X, labels = make_problem(N, D, 2, seed)
    return LogisticProblems(
        X=form(X),
        targets=labels,
        shares=rng.beta(0.3, 0.5, size=(N, 3)),
        target_of=np.array([2, 0, 4, 1, 3], dtype=np.int32),
        C=np.full((5, 1), 0.7),
        weights=rng.gamma(1.0, size=(N, 2)),
        weight_of=np.array([0, 1, 1, 0, 1], dtype=np.int32),
        total_weight=total_weight,
    )


def doubled(problems, problem):
    """Return the same problem over rows that occur twice, once in each class."""
    share = np.column_stack([problems.targets, problems.shares])[:, problems.target_of[problem]]
    weight = problems.weights[:, problems.weight_of[problem]]
    stack = sp.vstack if sp.issparse(problems.X) else np.vstack
    X = stack([problems.X, problems.X])
    return LogisticProblems(
        X=sp.csr_array(X) if sp.issparse(X) else X,
        targets=np.repeat(np.array([[1], [0]], dtype=np.int8), N, axis=0),
        target_of=np.zeros(1, dtype=np.int32),
        C=problems.C[:1],
        weights=np.concatenate([weight * share, weight * (1 - share)])[:, None],
    )


@FORMS
@pytest.mark.parametrize("seed", range(3))
def test_a_share_is_a_row_in_both_classes(form, seed):
    problems = mixed_problems(form, seed)
    solutions = solve_problems(problems, tol=1e-14)
    assert solutions.converged.all()
    negative, positive = problems.class_weights()
    for problem in range(problems.n_problems):
        twice = doubled(problems, problem)
        expected = solve_problems(twice, tol=1e-14)
        np.testing.assert_allclose(solutions.coef[problem], expected.coef[0], atol=1e-6)
        np.testing.assert_allclose(solutions.intercept[problem], expected.intercept[0], atol=1e-6)
        np.testing.assert_allclose(solutions.objective[problem], expected.objective[0], rtol=1e-12)
        np.testing.assert_allclose(
            (negative[problem], positive[problem]), np.ravel(twice.class_weights())
        )


@FORMS
def test_shares_of_0_and_1_are_labels(form):
    problems = mixed_problems(form)
    hard = replace(problems, shares=(problems.shares > 0.5).astype(float))
    labels = np.column_stack([problems.targets, hard.shares.astype(np.int8)])
    expected = solve_problems(replace(problems, targets=labels, shares=None), tol=1e-14)
    solutions = solve_problems(hard, tol=1e-14)
    np.testing.assert_allclose(solutions.coef, expected.coef, atol=1e-12)
    np.testing.assert_allclose(solutions.intercept, expected.intercept, atol=1e-12)


@FORMS
def test_held_out_rows_have_shares_too(form):
    problems = mixed_problems(form, total_weight=np.full(N, 9.0))
    solutions = solve_problems(problems, tol=1e-14)
    share = np.column_stack([problems.targets, problems.shares])[:, problems.target_of]
    z = np.asarray(problems.X @ solutions.coef.T) + solutions.intercept
    left_out = 9.0 - problems.weights[:, problems.weight_of]
    losses = (left_out * (np.logaddexp(0, z) - share * z)).sum(axis=0)
    np.testing.assert_allclose(solutions.held_out[:, 0], losses, rtol=1e-9)
    held_negative, held_positive = problems.held_out_classes()
    np.testing.assert_allclose(held_negative + held_positive, left_out.sum(axis=0))


@FORMS
def test_neither_threads_nor_neighbours_change_a_bit(form):
    problems = mixed_problems(form)
    together = solve_problems(problems)
    np.testing.assert_array_equal(solve_problems(problems, n_threads=2).coef, together.coef)
    for problem in range(problems.n_problems):
        alone = solve_problems(problems.take(np.array([problem])))
        np.testing.assert_array_equal(alone.coef[0], together.coef[problem])
