"""Edge weights of labels that are constant, copied or without rows; screening; bad input."""

from __future__ import annotations

import numpy as np
import pytest

from labelweave.logistic.edges import edge_weights
from labelweave.models.structure_learning import maximum_branching
from tests.logistic.make import solve
from tests.logistic.test_edges import FORMS, make_edges, one_by_one

PENALTIES = {"C": 1.0, "label_penalty": 0.1}


def smoothed(t, held_t):
    """Log-likelihood of a constant target under Laplace's rule."""
    p = (t.sum() + 1.0) / (len(t) + 2.0)
    return float(np.sum(np.log(np.where(held_t == 1, p, 1 - p))))


@FORMS
@pytest.mark.parametrize("value", [0, 1])
def test_constant_labels(form, value):
    """Constant where they are fitted, not where they are weighed."""
    X, Y, held_out = make_edges(100, 4, 3)
    Y[~held_out, 1] = value
    weights = edge_weights(form(X), Y, held_out=held_out, **PENALTIES)
    expected = smoothed(Y[~held_out, 1], Y[held_out, 1])
    np.testing.assert_allclose(weights.pair[:, 1], expected, rtol=1e-12)
    np.testing.assert_allclose(weights.alone[1], expected, rtol=1e-12)
    np.testing.assert_array_equal(weights.pair[1], weights.alone)  # as a parent it says nothing
    assert weights.fitted[1, 0]
    assert weights.fitted[0, 1]


@FORMS
@pytest.mark.parametrize("label_penalty", [0.1, 1e-6, 0.0])
def test_copies_of_labels(form, label_penalty):
    X, Y, held_out = make_edges(120, 4, 3)
    Y[:, 1], Y[:, 2] = Y[:, 0], 1 - Y[:, 0]
    weights = edge_weights(form(X), Y, C=1.0, label_penalty=label_penalty, held_out=held_out)
    assert np.all(np.isfinite(weights.pair))
    assert np.all((weights.pair - weights.alone)[weights.fitted] > 0)
    assert (maximum_branching(weights.pair, weights.alone) < 0).sum() == 1


@FORMS
def test_copies_are_weighed_to_a_thousandth_too(form):
    """Their weights are much smaller than those of the labels alone."""
    X, Y, held_out = make_edges(120, 4, 2)
    Y[:, 1] = Y[:, 0]
    weights = edge_weights(form(X), Y, C=1.0, label_penalty=1e-4, held_out=held_out)
    pair, alone = one_by_one(X, Y, 1.0, 1e-4, held_out)
    assert pair[0, 1] > 0.05 * alone[1]
    np.testing.assert_allclose(weights.pair, pair, rtol=1e-3)


@FORMS
def test_nothing_is_held_out(form):
    X, Y, held_out = make_edges(50, 3, 3)
    for weight in (None, np.where(held_out, 0.0, 1.0)):
        mask = np.zeros(50, bool) if weight is None else held_out
        weights = edge_weights(form(X), Y, held_out=mask, sample_weight=weight, **PENALTIES)
        np.testing.assert_array_equal(weights.pair, np.zeros((3, 3)))
        np.testing.assert_array_equal(weights.alone, np.zeros(3))


@FORMS
def test_everything_is_held_out(form):
    X, Y, _ = make_edges(50, 3, 3)
    weights = edge_weights(form(X), Y, held_out=np.ones(50, bool), **PENALTIES)
    np.testing.assert_allclose(weights.pair, np.full((3, 3), 50 * np.log(0.5)))


@FORMS
@pytest.mark.parametrize("n_labels", [1, 2])
def test_few_labels(form, n_labels):
    X, Y, held_out = make_edges(60, 3, n_labels)
    weights = edge_weights(form(X), Y, held_out=held_out, **PENALTIES)
    pair, alone = one_by_one(X, Y, 1.0, 0.1, held_out)
    np.testing.assert_allclose(weights.pair, pair, rtol=1e-3)
    np.testing.assert_allclose(weights.alone, alone, rtol=1e-3)


@FORMS
def test_features_that_say_nothing(form):
    _, Y, held_out = make_edges(80, 3, 3)
    X = np.zeros((80, 4))
    weights = edge_weights(form(X), Y, held_out=held_out, **PENALTIES)
    np.testing.assert_allclose(weights.pair, one_by_one(X, Y, 1.0, 0.1, held_out)[0], rtol=1e-3)


@FORMS
def test_features_of_very_different_size(form):
    X, Y, held_out = make_edges(150, 4, 3)
    X *= [1e-4, 1.0, 1e2, 1e3]
    weights = edge_weights(form(X), Y, held_out=held_out, **PENALTIES)
    np.testing.assert_allclose(weights.pair, one_by_one(X, Y, 1.0, 0.1, held_out)[0], rtol=1e-3)


def score_tests(X, Y, C, label_penalty, held_out):
    """Twice the gain of a Newton step in the parent's column and the intercept alone."""
    X, Y = X[~held_out], Y[~held_out].astype(float)
    n_labels = Y.shape[1]
    fit = solve(X, Y, C=C, tol=1e-12)
    tests = np.zeros((n_labels, n_labels))
    for i in range(n_labels):
        p = 1.0 / (1.0 + np.exp(-(X @ fit.coef[i] + fit.intercept[i])))
        for j in range(n_labels):
            A = np.column_stack([Y[:, j], np.ones(len(Y))])
            gradient = A.T @ (p - Y[:, i])
            hessian = (A.T * (p * (1 - p))) @ A + np.diag([label_penalty / C, 0.0])
            tests[j, i] = gradient @ np.linalg.solve(hessian, gradient)
    return tests


@FORMS
@pytest.mark.parametrize("screen", [1, 3, 7])
def test_screening_keeps_the_best_score_tests(form, screen):
    X, Y, held_out = make_edges(300, 5, 10)
    weights = edge_weights(form(X), Y, held_out=held_out, screen=screen, **PENALTIES)
    assert np.all(weights.fitted.sum(axis=0) == screen)
    tests = score_tests(X, Y, 1.0, 0.1, held_out)
    np.fill_diagonal(tests, -np.inf)
    for i in range(10):
        worst_kept = tests[weights.fitted[:, i], i].min()
        assert np.all(tests[~weights.fitted[:, i], i] <= 1.02 * worst_kept + 0.02)
    full = edge_weights(form(X), Y, held_out=held_out, **PENALTIES)
    np.testing.assert_array_equal(weights.pair, np.where(weights.fitted, full.pair, full.alone))


def test_screening_with_candidates_and_splits():
    X, Y, _ = make_edges(120, 4, 6)
    candidates = np.zeros((6, 6), bool)
    candidates[:3, 5] = candidates[4, 0] = True
    folds = np.arange(120) % 2 == np.arange(2)[:, None]
    weights = edge_weights(X, Y, held_out=folds, candidates=candidates, screen=2, **PENALTIES)
    np.testing.assert_array_equal(weights.fitted.sum(axis=0), [1, 0, 0, 0, 0, 2])
    assert not np.any(weights.fitted & ~candidates)
    full = edge_weights(X, Y, held_out=folds, **PENALTIES)
    np.testing.assert_array_equal(weights.pair[weights.fitted], full.pair[weights.fitted])


def test_automatic_screening_begins_with_many_labels():
    X, Y, held_out = make_edges(60, 2, 70)
    few = edge_weights(X, Y[:, :64], held_out=held_out, screen="auto", **PENALTIES)
    assert few.fitted.sum() == 64 * 63
    many = edge_weights(X, Y, held_out=held_out, screen="auto", **PENALTIES)
    assert np.all(many.fitted.sum(axis=0) == 20)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"screen": 0}, "screen must be"),
        ({"screen": "all"}, "screen must be"),
        ({"screen": True}, "screen must be"),
        ({"Y": np.full((40, 3), 2)}, "0 and 1"),
    ],
)
def test_bad_input(changed, message):
    X, Y, held_out = make_edges(40, 2, 3)
    arguments = {"X": X, "Y": Y, "held_out": held_out, **PENALTIES, **changed}
    with pytest.raises(ValueError, match=message):
        edge_weights(arguments.pop("X"), arguments.pop("Y"), **arguments)


@FORMS
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("size", [1e100, 1e160, 1e300])
def test_features_too_large_to_be_squared(form, size):
    X, Y, held_out = make_edges(80, 3, 3)
    weights = edge_weights(form(X * [1.0, 1.0, size]), Y, held_out=held_out, **PENALTIES)
    assert not np.any(np.isnan(weights.pair))
    assert not np.any(np.isnan(weights.alone))
