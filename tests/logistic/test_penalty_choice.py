"""Penalties chosen along batched paths are those that explicit cross-validation would choose."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from labelweave._common.folds import assign_folds
from labelweave._common.row_keys import row_keys
from labelweave.data import load
from labelweave.logistic import penalties as cross_validation
from labelweave.logistic import penalties as penalty_selection
from labelweave.logistic.conditionals import fit_conditionals
from labelweave.logistic.penalties import PenaltyChoice, choose_penalties
from labelweave.logistic.problem import LogisticProblems
from tests.logistic.make import make_problem, solve

PARENTS = np.tril(np.ones((3, 3), bool), -1)


@pytest.fixture
def precise_paths(monkeypatch):
    """Solve the paths well, so that equal problems have equal losses and not only similar ones."""
    monkeypatch.setattr(penalty_selection, "_REPEATED_TOLERANCE", 1e-10)


def assert_same_choice(left, right):
    np.testing.assert_allclose(left.C, right.C, rtol=1e-12)
    np.testing.assert_allclose(left.label_penalty, right.label_penalty, rtol=1e-12)
    np.testing.assert_allclose(left.loss, right.loss, rtol=1e-6)


def assert_one_step_apart(left, right):
    assert abs(np.log10(left.C / right.C)) <= 0.5 + 1e-9
    assert abs(np.log10(left.label_penalty / right.label_penalty)) <= 0.5 + 1e-9
    np.testing.assert_allclose(left.loss, right.loss, rtol=0.02)


def make_data(seed, n=120, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    first = X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n) > 0
    second = 2.0 * first - 1.0 + 0.3 * X[:, 2] + rng.logistic(size=n) > 0
    third = 1.5 * second - 1.0 * first + rng.logistic(size=n) > 0
    return X, np.column_stack([first, second, third]).astype(np.int8)


def make_problems(X, T, mask=None, weights=None):
    p = T.shape[1]
    return LogisticProblems(
        X=X,
        targets=np.ascontiguousarray(T, np.int8),
        target_of=np.arange(p, dtype=np.int32),
        C=np.ones((p, 1)),
        extras=None if mask is None else sp.csr_array(T.astype(float)),
        extra_mask=mask,
        weights=None if weights is None else weights[:, None],
    )


def explicit_losses(X, T, mask, candidates):
    """Held-out losses of all folds of five repeats (rows) for every (C, kappa)."""
    seeds = cross_validation.repeat_seeds(X, np.ones(len(X)), 0)
    assert len(seeds) == 5
    return np.vstack([losses_of_repeat(X, T, mask, candidates, seed) for seed in seeds])


def losses_of_repeat(X, T, mask, candidates, seed, n_folds=3):
    """Held-out loss of every fold (rows) for every (C, kappa), each fitted from scratch."""
    fold, n_folds = assign_folds(X, np.ones(len(X)), n_folds, seed)
    losses = np.zeros((n_folds, len(candidates)))
    for f in range(n_folds):
        inside, outside = fold != f, fold == f
        for c, (C, kappa) in enumerate(candidates):
            extras = None if mask is None else T[inside]
            fit = solve(
                X[inside],
                T[inside],
                C=C,
                extras=extras,
                extra_mask=mask,
                extra_penalty=kappa,
                tol=1e-12,
            )
            z = X[outside] @ fit.coef.T + fit.intercept
            if mask is not None:
                z = z + T[outside] @ fit.extra_coef.T
            losses[f, c] = (np.logaddexp(0, z) - T[outside] * z).sum()
    return losses


def downhill(losses_at, powers):
    """Return the powers of ten, three in the beginning, that a walk downhill visits, and losses."""
    powers = list(powers)
    step = powers[1] - powers[0]
    while True:
        losses = losses_at(powers)
        best = losses.sum(axis=0).argmin()
        if best == 0:
            powers = [powers[0] - step, *powers]
        elif best == len(powers) - 1:
            powers = [*powers, powers[-1] + step]
        else:
            return np.array(powers), losses, best


def divided(powers, losses, best, parts):
    """Interpolate quadratically between the best power and its two neighbours."""
    near = slice(best - 1, best + 2)
    finer = np.linspace(powers[best - 1], powers[best + 1], 2 * parts + 1)
    parabolas = [np.polyval(np.polyfit(powers[near], row[near], 2), finer) for row in losses]
    return (
        np.concatenate([powers[: best - 1], finer, powers[best + 2 :]]),
        np.hstack([losses[:, : best - 1], parabolas, losses[:, best + 2 :]]),
    )


def explicit_choice(X, T, mask):
    """Choose as `choose_penalties` promises to: magnitude of C, label penalty, fine steps of C."""

    def losses(pairs):  # of powers of ten: C, C / label penalty
        return explicit_losses(X, T, mask, [(10.0**c, 10.0 ** (c - k)) for c, k in pairs])

    def chosen(powers, losses):
        difference = losses - losses[:, [losses.sum(axis=0).argmin()]]
        error = difference.std(axis=0, ddof=1) / np.sqrt(3)
        at = int(np.argmax(difference.mean(axis=0) <= error))
        return powers[at], losses[:, at].sum() / (5 * len(X))

    first = np.round(2 * np.log10(3 / X.var(axis=0).sum())) / 2
    c, k = first, 0.5
    coarse = downhill(lambda cs: losses([(c, k) for c in cs])[::3], [c - 1, c, c + 1])
    powers, summed = divided(*coarse, parts=4)
    c = powers[summed.sum(axis=0).argmin()]
    if mask is not None:
        ks = downhill(lambda ks: losses([(c, k) for k in ks]), [k - 0.5, k, k + 0.5])
        k, _ = chosen(*divided(*ks, parts=2))
    powers, fine, _ = downhill(lambda cs: losses([(c, k) for c in cs]), [c - 0.25, c, c + 0.25])
    c, loss = chosen(powers, fine)
    return PenaltyChoice(10.0**c, 0.03 if mask is None else 10.0 ** (c - k), loss)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mask", [None, PARENTS], ids=["alone", "with parents"])
def test_chooses_as_explicit_cross_validation_does(seed, mask, monkeypatch):
    X, T = make_data(seed)
    explicit = explicit_choice(X, T, mask)
    # By default solutions are rough: a step may differ.
    assert_one_step_apart(choose_penalties(make_problems(X, T, mask)), explicit)
    monkeypatch.setattr(penalty_selection, "_REPEATED_TOLERANCE", 1e-10)
    assert_same_choice(choose_penalties(make_problems(X, T, mask)), explicit)


@pytest.mark.slow
def test_seeds_agree_with_several_repeats(monkeypatch):
    data = load("yeast")
    spread = {1: 0.0, 5: 0.0}
    for part in range(3):
        rows = np.random.default_rng(part).permutation(len(data.X))[:400]
        problems = make_problems(StandardScaler().fit_transform(data.X[rows]), data.Y[rows])
        for repeats in spread:
            monkeypatch.setattr(cross_validation, "_MAX_REPEATS", repeats)
            chosen = [choose_penalties(problems, seed=seed, n_threads=2).C for seed in range(8)]
            spread[repeats] += np.std(np.log10(chosen))
    assert spread[5] < 0.75 * spread[1]


@pytest.mark.usefixtures("precise_paths")
@pytest.mark.parametrize("seed", range(5))
def test_order_of_rows_and_threads_do_not_matter(seed):
    X, T = make_data(seed)
    chosen = choose_penalties(make_problems(X, T, PARENTS))
    order = np.random.default_rng(1).permutation(len(X))
    assert_same_choice(choose_penalties(make_problems(X[order], T[order], PARENTS)), chosen)
    assert choose_penalties(make_problems(X, T, PARENTS), n_threads=3) == chosen


@pytest.mark.usefixtures("precise_paths")
@pytest.mark.parametrize("seed", range(5))
def test_weights_are_repetitions(seed):
    X, T = make_data(seed)
    weights = np.random.default_rng(3).integers(0, 3, size=len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = choose_penalties(make_problems(X, T, PARENTS, weights.astype(float)))
    repeated = choose_penalties(make_problems(X[rows], T[rows], PARENTS))
    assert_same_choice(weighted, repeated)


@pytest.mark.usefixtures("precise_paths")
@pytest.mark.parametrize("seed", range(5))
def test_sparse_features_choose_the_same(seed):
    X, T = make_data(seed)
    X[np.abs(X) < 0.5] = 0.0
    dense = choose_penalties(make_problems(X, T, PARENTS))
    sparse = choose_penalties(make_problems(sp.csr_array(X), T, PARENTS))
    assert_same_choice(dense, sparse)


def test_numbers_are_taken_as_they_are():
    X, T = make_data(0)
    problems = make_problems(X, T, PARENTS)
    fixed = choose_penalties(problems, C=0.7, label_penalty=0.2)
    assert (fixed.C, fixed.label_penalty) == (0.7, 0.2)
    assert np.isnan(fixed.loss)
    assert choose_penalties(problems, C=0.7).C == 0.7
    assert choose_penalties(problems, label_penalty=0.2).label_penalty == 0.2
    fitted = fit_conditionals(X, T, PARENTS, C=0.7, label_penalty=0.2)
    assert (fitted.C, fitted.label_penalty) == (0.7, 0.2)
    direct = solve(X, T, C=0.7, extras=T, extra_mask=PARENTS, extra_penalty=0.2, tol=1e-14)
    np.testing.assert_allclose(fitted.weights, direct.coef, atol=1e-6)
    np.testing.assert_allclose(fitted.coupling, direct.extra_coef, atol=1e-6)


def test_strong_penalties_where_nothing_can_be_learned_and_weak_ones_where_much_can():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 20))
    noise = rng.integers(0, 2, size=(150, 2))
    signal = (X[:, :2] + 0.05 * rng.logistic(size=(150, 2)) > 0).astype(int)
    assert choose_penalties(make_problems(X, noise)).C < 0.01
    assert choose_penalties(make_problems(X, signal)).C > 0.3


def test_beats_no_penalty_at_all_on_real_data():
    data = load("emotions")
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    conditionals = fit_conditionals(X[:400], Y[:400])
    loose = fit_conditionals(X[:400], Y[:400], C=1e4)

    def held_out(fit):
        z = fit.scores(X[400:])
        return (np.logaddexp(0, z) - Y[400:] * z).sum()

    assert held_out(conditionals) < 0.8 * held_out(loose)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_rows(n):
    X, T = make_problem(n, 2, 2)
    conditionals = fit_conditionals(X, T, np.tril(np.ones((2, 2), bool), -1))
    for value in vars(conditionals).values():
        assert np.isfinite(value).all()


def test_equal_rows_and_constant_targets():
    X, T = np.ones((12, 2)), np.tile([[0, 1, 1], [1, 1, 0]], (6, 1))
    conditionals = fit_conditionals(X, T, PARENTS)
    assert conditionals.C == 1.0
    assert np.isfinite(conditionals.scores(X)).all()
    spread = fit_conditionals(np.arange(24.0).reshape(12, 2), T, PARENTS)
    np.testing.assert_allclose(spread.intercept[1], np.log(13))
    assert np.count_nonzero(spread.weights[1]) == 0


def test_no_weight_at_all_is_no_crash():
    X, T = make_data(0)
    assert choose_penalties(make_problems(X, T, None, np.zeros(len(X)))).C == 1.0


def test_folds_follow_the_content_of_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)
    weight = (rng.random(60) < 0.8).astype(float)
    fold, n_folds = assign_folds(X, weight, 3, 0)
    assert n_folds == 3
    for row in range(60):
        assert len(np.unique(fold[(X[row] == X).all(axis=1)])) == 1
    np.testing.assert_array_equal(assign_folds(sp.csr_array(X), weight, 3, 0)[0], fold)
    np.testing.assert_array_equal(row_keys(-0.0 * X), row_keys(0.0 * X))
    many = np.tile(X, (10, 1))
    np.testing.assert_array_equal(row_keys(many), np.tile(row_keys(X), 10))
    distinct = np.unique(X[weight > 0], axis=0, return_inverse=True)[1]
    sizes = [len(np.unique(distinct[fold[weight > 0] == f])) for f in range(3)]
    assert max(sizes) - min(sizes) <= 1
    assert assign_folds(X[:1].repeat(5, axis=0), np.ones(5), 3, 0)[1] == 1


def test_own_penalties_of_the_problems_are_ignored():
    X, T = make_data(1)
    problems = make_problems(X, T, PARENTS)
    other = replace(problems, C=np.full((3, 1), 55.0), extra_penalty=np.full((3, 1), 7.0))
    assert choose_penalties(problems) == choose_penalties(other)


def test_empty_columns_take_no_memory():
    """A file of a few bytes may declare millions of features; no copy of a problem has weights."""
    X, T = make_problem(40, 5, 3)
    narrow = sp.csr_array(X)
    wide = sp.csr_array((narrow.data, narrow.indices, narrow.indptr), (40, 10**7))
    mask = np.zeros((3, 3), bool)
    folds = cross_validation.Folds.of(make_problems(wide, T, mask), 0, 1)
    assert folds.problems.X.shape == (40, 5)
    chosen, expected = (choose_penalties(make_problems(each, T, mask)) for each in (wide, narrow))
    assert_same_choice(chosen, expected)
