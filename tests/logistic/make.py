"""Small problems and what a solution has to satisfy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve_problems
from tests.reference.logistic import Reference, reference


def make_problem(n: int, d: int, p: int, seed: int = 0) -> tuple[Any, Any]:
    """Features and targets with signal; every target has both classes when n > 1."""
    rng = np.random.default_rng([seed, n, d, p])
    X = rng.normal(size=(n, d))
    W = rng.normal(size=(d, p)) / np.sqrt(max(d, 1))
    T = (X @ W + rng.logistic(size=(n, p)) > 0.3).astype(np.int8)
    T[:2] = np.array([[0], [1]])[: len(T)]
    return X, T


def excess(problem: Reference, coef: Any, intercept: float) -> float:
    """Relative objective above the optimum."""
    optimum = problem.objective(*problem.solve())
    return (problem.objective(coef, intercept) - optimum) / optimum


def assert_optimal(solutions: Solutions, X: Any, T: Any, C: Any = 1.0, tol: float = 1e-9) -> None:
    """Every problem is at its optimum, and reports its objective truthfully."""
    for k, c in enumerate(np.broadcast_to(C, T.shape[1])):
        if T[:, k].min() == T[:, k].max():
            continue
        problem = reference(X, T[:, k], c)
        coef, intercept = solutions.coef[k], float(solutions.intercept[k])
        assert excess(problem, coef, intercept) <= tol
        np.testing.assert_allclose(
            solutions.objective[k, -1], problem.objective(coef, intercept), rtol=1e-12
        )


def assert_same_bits(left: Solutions, right: Solutions, left_rows: Any = slice(None)) -> None:
    """Rows of `left` are exactly `right`."""
    for name in vars(right):
        np.testing.assert_array_equal(getattr(left, name)[left_rows], getattr(right, name), name)


def solve(
    X: Any,
    T: Any,
    *,
    C: Any = 1.0,
    sample_weight: Any = None,
    extras: Any = None,
    extra_mask: Any = None,
    extra_penalty: float = 1.0,
    **settings: Any,
) -> Solutions:
    """Fit one logistic regression per column of T."""
    problems = LogisticProblems.per_label(X, T, sample_weight, C)
    problems = replace(
        problems,
        extras=None if extras is None else sp.csr_array(extras, dtype=np.float64),
        extra_mask=extra_mask,
        extra_penalty=np.full((problems.n_problems, 1), float(extra_penalty)),
    )
    return solve_problems(problems, **settings)
