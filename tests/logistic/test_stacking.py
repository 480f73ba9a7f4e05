"""The second layer of a stack: the same optimum by every way to it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from labelweave.logistic.conditionals import fit_conditionals
from labelweave.logistic.two_layers import fit_on_estimates


def rows(seed=0, n=80, D=5, L=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    Y = (X @ rng.normal(size=(D, L)) + rng.normal(size=(n, L)) > 0).astype(int)
    return X, Y, rng.uniform(size=(n, L))


@pytest.mark.parametrize("label_penalty", [0.01, 1.0, 30.0, 1e-9])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_same_optimum_as_scikit_learn(label_penalty, form):
    X, Y, estimates = rows()
    model = fit_on_estimates(form(X), estimates, Y, C=0.7, label_penalty=label_penalty)
    # A column that is k times larger has a penalty k² times weaker.
    wide = np.hstack([X, estimates / np.sqrt(label_penalty)])
    scores = model.scores(form(X), estimates)
    for j in range(Y.shape[1]):
        theirs = LogisticRegression(C=0.7, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        expected = theirs.fit(wide, Y[:, j]).decision_function(wide)
        np.testing.assert_allclose(scores[:, j], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_start_does_not_move_the_optimum(form):
    X, Y, estimates = rows(seed=1)
    options = {"C": 0.7, "label_penalty": 0.1, "sample_weight": np.linspace(0.5, 2, len(X))}
    alone = fit_on_estimates(form(X), estimates, Y, **options)
    first = fit_conditionals(form(X), Y, C=0.7)
    for start in (first, alone):
        again = fit_on_estimates(form(X), estimates, Y, start=start, **options)
        np.testing.assert_allclose(again.weights, alone.weights, atol=1e-7)
        np.testing.assert_allclose(again.coupling, alone.coupling, atol=1e-7)
        np.testing.assert_allclose(again.intercept, alone.intercept, atol=1e-7)


def test_a_constant_label_keeps_its_constant_from_any_start():
    X, Y, estimates = rows(seed=2)
    Y[:, 0] = 1
    options = {"C": 0.7, "label_penalty": 0.1}
    alone = fit_on_estimates(X, estimates, Y, **options)
    elsewhere = replace(alone, weights=alone.weights + 1.0, coupling=alone.coupling - 1.0)
    again = fit_on_estimates(X, estimates, Y, start=elsewhere, **options)
    assert (again.weights[0] == 0).all()
    assert again.intercept[0] == alone.intercept[0]
    assert (again.coupling[0] == 0).all()
    np.testing.assert_allclose(again.coupling, alone.coupling, atol=1e-7)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_log_prob_of_labels_given_their_parents(n_threads):
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 11)).astype(np.int8)
    parents = rng.random((11, 11)) < 0.3
    np.fill_diagonal(parents, False)
    fitted = fit_conditionals(X, labels, parents, C=1.0, label_penalty=0.1)
    z = fitted.scores(X, labels.astype(float))
    expected = -np.logaddexp(0.0, np.where(labels == 1, -z, z)).sum(axis=1)
    found = fitted.log_prob(X, labels, n_threads=n_threads)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
