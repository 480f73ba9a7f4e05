"""A solution depends neither on its neighbours nor on the number of threads, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave.logistic.conditionals import fit_conditionals
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import LARGEST_TRANSPOSE, solve_problems
from tests.logistic.make import assert_same_bits, make_problem

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def make_problems(form, n, d, p, seed):
    """Problems that differ in target, weights, penalties and extras."""
    rng = np.random.default_rng(seed)
    X, T = make_problem(n, d, p, seed)
    X[rng.random(X.shape) < 0.4] = 0.0
    T[:, 0] = 1  # one of them is constant
    n_groups = 3
    return LogisticProblems(
        X=form(X),
        targets=T,
        target_of=rng.integers(0, p, size=p).astype(np.int32),
        C=10.0 ** rng.uniform(-3, 3, size=(p, 2)),
        extras=sp.csr_array(T.astype(float)),
        extra_mask=rng.random((p, p)) < 0.3,
        extra_penalty=10.0 ** rng.uniform(-2, 1, size=(p, 2)),
        weights=rng.integers(0, 3, size=(n, n_groups)).astype(float),
        weight_of=rng.integers(0, n_groups, size=p).astype(np.int32),
        total_weight=np.full(n, 2.0),
    )


def pick(problems, rows):
    return replace(
        problems,
        target_of=problems.target_of[rows],
        C=problems.C[rows],
        extra_mask=problems.extra_mask[rows],
        extra_penalty=problems.extra_penalty[rows],
        weight_of=problems.weight_of[rows],
    )


@FORMS
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 150),
    d=st.integers(1, 20),
    p=st.integers(1, 30),
    n_threads=st.sampled_from([0, 2, 3, 5]),
)
def test_threads_do_not_matter(form, seed, n, d, p, n_threads):
    problems = make_problems(form, n, d, p, seed)
    one = solve_problems(problems, tol=1e-9)
    assert_same_bits(one, solve_problems(problems, tol=1e-9, n_threads=n_threads))


@FORMS
@settings(max_examples=20)
@given(data=st.data(), seed=st.integers(0, 10**6), n=st.integers(5, 150), d=st.integers(1, 20))
def test_neighbours_do_not_matter(form, data, seed, n, d):
    p = 20
    problems = make_problems(form, n, d, p, seed)
    rows = np.array(data.draw(st.lists(st.integers(0, p - 1), min_size=1, max_size=p)))
    together = solve_problems(problems, tol=1e-9)
    assert_same_bits(together, solve_problems(pick(problems, rows), tol=1e-9), rows)


@FORMS
def test_losses_do_not_depend_on_keeping_the_coefficients(form):
    problems = make_problems(form, 60, 7, 9, 0)
    kept, lost = solve_problems(problems), solve_problems(problems, keep_coef=False)
    np.testing.assert_array_equal(kept.objective, lost.objective)
    np.testing.assert_array_equal(kept.held_out, lost.held_out)
    assert lost.coef.size == 0


@FORMS
def test_inputs_are_not_changed(form):
    problems = make_problems(form, 40, 6, 5, 0)
    arrays = [
        problems.targets,
        problems.C,
        problems.extra_mask,
        problems.weights,
        problems.total_weight,
    ]
    arrays.append(problems.X.data if sp.issparse(problems.X) else problems.X)
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    solve_problems(problems)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@FORMS
@settings(max_examples=20)
@given(data=st.data(), n=st.integers(1, 600), p=st.integers(1, 20), d=st.integers(1, 20))
def test_scores_are_linear_and_row_by_row(form, data, n, p, d):
    X, T = make_problem(max(n, 4), d, p)
    parents = np.tril(np.ones((p, p), bool), -1)
    conditionals = fit_conditionals(form(X), T, parents, C=1.0, label_penalty=0.1)
    scores = conditionals.scores(form(X))
    expected = X @ conditionals.weights.T + conditionals.intercept
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)
    rows = np.array(data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=20)))
    np.testing.assert_array_equal(conditionals.scores(form(X[rows])), scores[rows])
    np.testing.assert_array_equal(conditionals.scores(form(X), n_threads=3), scores)
    assert np.all(conditionals.coupling[~parents] == 0)


@FORMS
def test_scores_of_no_rows(form):
    X, T = make_problem(10, 3, 2)
    assert fit_conditionals(X, T, C=1.0).scores(form(X)[:0]).shape == (0, 2)


@pytest.mark.parametrize("n_threads", [1, 2])
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 400),
    d=st.integers(1, 20),
    p=st.integers(1, 12),
    unit=st.booleans(),
)
def test_a_transposed_copy_does_not_matter(n_threads, seed, n, d, p, unit):
    """Columns of every length, whole fours of entries and rests of them, give the same sums."""
    problems = make_problems(sp.csr_array, n, d, p, seed)
    if unit:
        problems.X.data[:] = 1.0
    with patch.dict(LARGEST_TRANSPOSE, {"in memory": 2**30}):
        transposed = solve_problems(problems, n_threads=n_threads)
    with patch.dict(LARGEST_TRANSPOSE, {"in memory": 0}):
        row_by_row = solve_problems(problems, n_threads=n_threads)
    assert_same_bits(transposed, row_by_row)
