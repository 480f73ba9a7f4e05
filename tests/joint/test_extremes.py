"""Log-odds as large as numbers can be: certainty, not NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from labelweave.joint import (
    ChainJoint,
    FieldJoint,
    IndependentJoint,
    ListedJoint,
    MixtureJoint,
    TreeJoint,
)

HUGE = 1.7e308
EXTREMES = [0.0, 1.0, -1.0, HUGE, -HUGE, HUGE / 2, -HUGE / 2, 1e-300, 700.0, -700.0]
ROWS = 3


def joints(seed):
    """Return one joint of every form, over the same number of labels."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(1, 6))

    def draw(*shape):
        return rng.choice(EXTREMES, size=shape)

    parents = np.array([-1, *(int(rng.integers(i)) for i in range(1, n_labels))])
    pairs = np.triu(draw(n_labels, n_labels), 1)
    trees = [TreeJoint(draw(ROWS, n_labels, 2), parents) for _ in range(3)]
    return [
        IndependentJoint(draw(ROWS, n_labels)),
        ChainJoint(draw(ROWS, n_labels), np.tril(draw(n_labels, n_labels), -1)),
        FieldJoint(draw(ROWS, n_labels), pairs + pairs.T),
        trees[0],
        MixtureJoint(np.full((ROWS, 2), 0.5), trees[1:]),
    ]


@pytest.mark.filterwarnings("ignore:overflow")  # a log-probability of -inf is right here
@given(st.integers(0, 2**32 - 1))
def test_every_answer_is_a_number(seed):
    for joint in joints(seed):
        everything = np.ones((ROWS, joint.n_labels), dtype=np.int8)
        for answer in (joint.marginals(), joint.pairwise(), joint.cardinality()):
            assert ((answer >= 0) & (answer <= 1 + 1e-9)).all(), joint
        assert not np.isnan(joint.marginal_log_odds()).any(), joint
        assert (joint.entropy() >= -1e-9).all(), joint
        assert (joint.log_prob(everything) <= 1e-9).all(), joint
        assert (joint.mode().log_prob <= 1e-9).all(), joint
        assert set(np.unique(joint.sample(2, random_state=0))) <= {0, 1}


@pytest.mark.parametrize("size", [1e4, 1e200, HUGE])
def test_certainty_is_the_same_at_any_size(size):
    coupling = np.array([[0, 0, 0], [-1, 0, 0], [1, -1, 0]]) * size
    joint = ChainJoint(np.array([[1.0, -0.5, 0.5]]) * size, coupling)
    assert joint.marginals().tolist() == [[1, 0, 1]]
    assert joint.mode().labels.tolist() == [[1, 0, 1]]


def summed_out(joint):
    """Log-odds of every label, from the log-probabilities of all vectors."""
    vectors = np.array(list(itertools.product((0, 1), repeat=joint.n_labels)), dtype=np.int8)
    log_prob = joint.log_prob(np.tile(vectors, (joint.n_rows, 1, 1)))
    one, zero = (
        np.stack([logsumexp(log_prob[:, y == value], axis=1) for y in vectors.T], axis=1)
        for value in (1, 0)
    )
    return one - zero


@pytest.mark.parametrize("size", [1.0, 50.0, 1e3, 1e4])
def test_log_odds_of_labels_are_never_rounded(size):
    rng = np.random.default_rng(0)
    parents = np.array([-1, 0, 0, 2])
    along = np.tril(rng.normal(size=(4, 4)), -1)
    log_table = size * rng.normal(size=(ROWS, 16))
    log_table -= logsumexp(log_table, axis=1, keepdims=True)
    vectors = rng.permutation([[k >> j & 1 for j in range(4)] for k in range(16)])[:9]
    log_weights = log_table[:, :9] - logsumexp(log_table[:, :9], axis=1, keepdims=True)
    tree = TreeJoint(size * rng.normal(size=(ROWS, 4, 2)), parents)
    chain = ChainJoint(size * rng.normal(size=(ROWS, 4)), size * along)
    for joint in (
        IndependentJoint(size * rng.normal(size=(ROWS, 4))),
        tree,
        chain,
        FieldJoint(size * rng.normal(size=(ROWS, 4)), size * (along + along.T)),
        ListedJoint.of_table(log_table),
        ListedJoint(vectors, log_weights),
        MixtureJoint([0.3, 0.7], [tree, chain]),
        chain.tempered(2.0),
        chain.condition({1: 1}),
    ):
        free = joint.known[0] < 0
        found, expected = joint.marginal_log_odds(), summed_out(joint)
        np.testing.assert_allclose(found[:, free], expected[:, free], rtol=1e-9, atol=1e-9)


def test_log_odds_of_many_labels_are_those_of_their_estimates():
    rng = np.random.default_rng(0)
    chain = ChainJoint(rng.normal(size=(ROWS, 20)), np.tril(rng.normal(size=(20, 20)), -1))
    for joint in (chain, MixtureJoint([0.5, 0.5], [chain, chain.tempered(0.5)])):
        np.testing.assert_allclose(expit(joint.marginal_log_odds()), joint.marginals(), atol=1e-12)
