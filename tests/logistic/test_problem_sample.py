"""A sample of problems stands for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.data import load
from labelweave.logistic.penalties import choose_penalties
from labelweave.logistic.problem import LogisticProblems, sample_problems
from tests.logistic.make import solve


def problems_of(targets, X=None):
    n, p = targets.shape
    return LogisticProblems(
        X=np.zeros((n, 1)) if X is None else X,
        targets=np.ascontiguousarray(targets, dtype=np.int8),
        target_of=np.arange(p, dtype=np.int32),
        C=np.ones((p, 1)),
    )


def random_targets(seed, n_problems):
    random = np.random.default_rng(seed)
    return random.random((200, n_problems)) < random.beta(0.5, 4.0, size=n_problems)


@given(st.integers(0, 1000), st.integers(1, 200))
def test_sample_is_distinct_ordered_and_of_the_size_asked_for(seed, n_problems):
    targets = random_targets(seed, n_problems)
    sample = sample_problems(problems_of(targets))
    varied = (targets.any(axis=0) & ~targets.all(axis=0)).sum()
    wanted = max(24, -(-n_problems // 3))
    assert len(sample.positions) == (wanted if varied > wanted else n_problems)
    assert (np.diff(sample.positions) > 0).all()
    assert (sample.counts >= 1).all()


@given(st.integers(0, 1000))
def test_sampled_entropies_add_up_to_all(seed):
    targets = random_targets(seed, 120)
    share = targets.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.nan_to_num(share * np.log(share) + (1 - share) * np.log1p(-share))
    sample = sample_problems(problems_of(targets))
    # Exact for what the probabilities are proportional to.
    np.testing.assert_allclose(sample.counts @ entropy[sample.positions], entropy.sum(), rtol=1e-9)


def test_held_out_losses_of_a_sample_are_close_to_those_of_all():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5))
    targets = X @ random.normal(size=(5, 150)) + random.logistic(size=(300, 150)) > np.linspace(
        0, 6, 150
    )
    fit = solve(X[:200], targets[:200])
    z = X[200:] @ fit.coef.T + fit.intercept
    losses = (np.logaddexp(0, z) - targets[200:] * z).sum(axis=0)
    sample = sample_problems(problems_of(targets[:200]))
    assert sample.counts @ losses[sample.positions] == pytest.approx(losses.sum(), rel=0.05)


def test_repeated_labels_choose_as_the_labels_alone_do():
    data = load("yeast")
    X, Y = np.asarray(data.X)[:300], np.asarray(data.Y)[:300]
    alone = choose_penalties(problems_of(Y, X))
    often = choose_penalties(problems_of(np.tile(Y, (1, 8)), X))
    assert abs(np.log10(often.C / alone.C)) <= 0.25 + 1e-9
    assert often.loss == pytest.approx(8 * alone.loss, rel=0.05)
