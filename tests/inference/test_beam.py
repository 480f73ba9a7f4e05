"""Beam search, native and through conditionals only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.inference import Beam, BestFirst, Greedy
from labelweave.joint import ChainJoint, IndependentJoint
from labelweave.joint.function_chain import beam_search
from tests.inference.chains import as_general, assert_valid, random_chain, scales, true_maximum
from tests.joint.cases import seeds


@given(seeds, st.integers(0, 4), st.integers(1, 9), scales, st.booleans(), st.integers(1, 40))
def test_valid_and_equal_to_the_plain_search(seed, n, L, scale, evidence, width):
    joint = random_chain(seed, n, L, scale, evidence)
    mode = Beam(width)(joint)
    assert_valid(mode, joint, true_maximum(joint))
    plain = beam_search(joint.conditionals.log_odds_of, joint.order, joint.known, 1, width)
    log_joint = mode.log_prob + joint._normaliser.value
    np.testing.assert_allclose(log_joint, plain.log_prob[:, 0], rtol=1e-10, atol=1e-12)


@given(seeds, st.integers(0, 3), st.integers(1, 6), st.booleans(), st.integers(1, 20))
def test_valid_through_conditionals_only(seed, n, L, evidence, width):
    joint = as_general(random_chain(seed, n, L, 1.0, evidence))
    assert_valid(Beam(width)(joint), joint, true_maximum(joint))


@given(seeds, st.integers(1, 9), scales, st.booleans())
def test_width_one_is_greedy_and_full_width_is_exact(seed, L, scale, evidence):
    joint = random_chain(seed, 3, L, scale, evidence)
    np.testing.assert_array_equal(Beam(1)(joint).labels, Greedy()(joint).labels)
    wide = Beam(2**L)(joint)
    np.testing.assert_allclose(wide.log_prob, true_maximum(joint), rtol=1e-10, atol=1e-10)
    assert wide.optimal.all()


def test_between_greedy_and_exact():
    joint = random_chain(0, 200, 16, scale=1.0)
    greedy, narrow, wide = (Beam(w)(joint).log_prob.mean() for w in (1, 3, 30))
    assert greedy < narrow < wide <= BestFirst()(joint).log_prob.mean() + 1e-12


def test_threads_and_batches_change_nothing():
    joint = random_chain(1, 41, 25, scale=0.6)
    parallel = ChainJoint(
        joint.conditionals.scores, joint.conditionals.coupling, joint.order, n_threads=3
    )
    mode, other = Beam(7)(joint), Beam(7)(parallel)
    for name in ("labels", "log_prob", "upper_bound"):
        np.testing.assert_array_equal(getattr(mode, name), getattr(other, name))
        parts = [getattr(Beam(7)(joint[part]), name) for part in (slice(0, 9), slice(9, 41))]
        np.testing.assert_array_equal(getattr(mode, name), np.concatenate(parts))


@pytest.mark.parametrize("L", [1, 1000])
def test_extreme_scores_and_ties(L):
    rng = np.random.default_rng(0)
    coupling = 1e4 * np.tril(rng.normal(size=(L, L)), -1)
    for scores in (1e4 * rng.normal(size=(3, L)), np.zeros((3, L))):
        for effect in (coupling, np.zeros((L, L))):
            mode = Beam(8)(ChainJoint(scores, effect))
            assert np.isfinite(mode.log_prob).all()
            assert (mode.upper_bound >= mode.log_prob).all()


def test_closed_forms_are_exact():
    assert Beam(1)(IndependentJoint(np.ones((2, 5)))).optimal.all()


@pytest.mark.parametrize("width", [0, -1, 1.5, 2**21])
def test_bad_width(width):
    with pytest.raises(ValueError, match="width"):
        Beam(width)
