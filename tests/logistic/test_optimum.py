"""The engine reaches the optimum that scikit-learn and a plain Newton method reach."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelweave import load
from tests.logistic.make import assert_optimal, excess, make_problem, solve
from tests.reference.logistic import reference

BUNDLED = ("emotions", "yeast")


def bundled(name, n_labels=4):
    data = load(name)
    return StandardScaler().fit_transform(np.asarray(data.X)), np.asarray(data.Y)[:, :n_labels]


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", BUNDLED)
def test_same_optimum_as_scikit_learn(name, C):
    X, Y = bundled(name, n_labels=2)
    solutions = solve(X, Y, C=C, tol=1e-14)
    assert solutions.converged.all()
    for k, target in enumerate(Y.T):
        peer = LogisticRegression(C=C, tol=1e-10, solver="newton-cholesky", max_iter=1000)
        peer.fit(X, target)
        np.testing.assert_allclose(solutions.coef[k], peer.coef_[0], atol=1e-5)
        np.testing.assert_allclose(solutions.intercept[k], peer.intercept_[0], atol=1e-5)


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_same_optimum_as_plain_newton(name, form):
    X, Y = bundled(name)
    solutions = solve(form(X), Y, tol=1e-14)
    assert_optimal(solutions, X, Y, tol=1e-12)
    for k, target in enumerate(Y.T):
        problem = reference(X, target)
        coef, intercept = problem.solve()
        np.testing.assert_allclose(solutions.coef[k], coef, atol=1e-5)
        np.testing.assert_allclose(solutions.intercept[k], intercept, atol=1e-5)
        gradient = problem.gradient(solutions.coef[k], solutions.intercept[k])
        assert np.abs(gradient).max() < 1e-4


@pytest.mark.parametrize("name", ["enron", "slashdot"])
def test_same_optimum_on_sparse_data(shared_data, name):
    data = load(name)
    X, Y = data.X.tocsr()[:500], np.asarray(data.Y)[:500]
    Y = Y[:, np.argsort(-np.minimum(Y.sum(0), len(Y) - Y.sum(0)))[:3]]
    assert sp.issparse(X)
    sparse, dense = solve(X, Y, tol=1e-14), solve(X.toarray(), Y, tol=1e-14)
    assert sparse.converged.all()
    assert dense.converged.all()
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=2e-6)
    for k, target in enumerate(Y.T):
        peer = LogisticRegression(tol=1e-9, solver="newton-cg", max_iter=1000).fit(X, target)
        np.testing.assert_allclose(sparse.coef[k], peer.coef_[0], atol=1e-5)
        problem = reference(X, target)
        ours = problem.objective(sparse.coef[k], float(sparse.intercept[k]))
        theirs = problem.objective(peer.coef_[0], float(peer.intercept_[0]))
        assert ours <= theirs * (1 + 1e-12)
        gradient = problem.gradient(sparse.coef[k], float(sparse.intercept[k]))
        assert np.abs(gradient).max() < 1e-4


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_stops_within_the_tolerance(form, tol):
    X, Y = bundled("emotions")
    solutions = solve(form(X), Y, tol=tol)
    assert solutions.converged.all()
    for k, target in enumerate(Y.T):
        assert excess(reference(X, target), solutions.coef[k], solutions.intercept[k]) <= tol


def test_finite_differences_see_a_minimum():
    X, T = make_problem(50, 4, 1)
    solutions = solve(X, T, tol=1e-14)
    problem = reference(X, T[:, 0])
    theta = np.append(solutions.coef[0], solutions.intercept)
    slope = approx_fprime(theta, lambda t: problem.objective(t[:-1], t[-1]), 1e-6)
    assert np.abs(slope).max() < 1e-4


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("n_problems", [1, 8, 9, 100])
def test_any_number_of_problems(form, n_problems):
    X, T = make_problem(40, 3, n_problems)
    C = np.geomspace(0.01, 100, n_problems)
    assert_optimal(solve(form(X), T, C=C, tol=1e-10), X, T, C)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("n", "d"),
    [
        *[(2, 1), (2, 3), (3, 2), (7, 1), (9, 2), (17, 7), (30, 8), (31, 9), (16, 15), (127, 16)],
        *[(128, 17), (129, 5), (257, 33), (10, 200)],
    ],
)
def test_any_shape(form, n, d):
    X, T = make_problem(n, d, 3)
    assert_optimal(solve(form(X), T, tol=1e-10), X, T)


@pytest.mark.parametrize("d", [1023, 1024, 1100])
def test_around_the_largest_factored_width(d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(d + 10, d)) * rng.choice([0.1, 1.0, 3.0], size=d)
    T = (X[:, :3] + rng.logistic(size=(d + 10, 3)) > 0).astype(int)
    solutions = solve(X, T, C=1e-3, tol=1e-12)
    assert solutions.converged.all()
    for k in range(3):
        gradient = reference(X, T[:, k], 1e-3).gradient(solutions.coef[k], solutions.intercept[k])
        assert np.abs(gradient).max() < 1e-3


def test_one_row_and_no_features():
    one = solve(np.ones((1, 3)), np.array([[1, 0]]))
    np.testing.assert_allclose(one.intercept, [np.log(2), -np.log(2)])
    assert not one.coef.any()
    for empty in (np.zeros((5, 0)), sp.csr_array((5, 0))):
        none = solve(empty, np.array([[0], [1], [1], [1], [0]]), tol=1e-14)
        np.testing.assert_allclose(none.intercept, np.log(1.5))
