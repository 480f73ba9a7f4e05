"""Lists of the best vectors of a chain by the compiled beam search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.inference import BestFirst, Exhaustive
from labelweave.joint import ChainJoint, MixtureJoint
from labelweave.joint.function_chain import beam_search
from tests.joint.cases import chain_parameters, seeds
from tests.reference import chain as reference


def chain(seed, n, L, scale=1.0):
    return ChainJoint(*chain_parameters(np.random.default_rng(seed), n, L, scale))


@given(seeds, st.integers(1, 7), st.integers(1, 12), st.integers(0, 8))
def test_lists_those_of_the_beam_in_numpy_under_a_bound_that_holds(seed, L, k, extra):
    joint = chain(seed, 2, L)
    known = np.where(np.random.default_rng(seed).random((2, L)) < 0.3, 1, -1).astype(np.int8)
    found = joint.conditionals.beam(known, k, k + extra)
    plain = beam_search(joint.conditionals.log_odds_of, joint.order, known, k, k + extra)
    listed = plain.log_prob.shape[1]
    np.testing.assert_allclose(found.log_prob[:, :listed], plain.log_prob, atol=1e-9)
    assert np.isneginf(found.log_prob[:, listed:]).all()
    for i in range(2):
        vectors = {tuple(y) for y in found.labels[i] if y.min() >= 0}
        others = [
            reference.log_prob(
                joint.conditionals.scores[i], joint.conditionals.coupling, joint.order, y
            )
            for y in reference.vectors(known[i])
            if tuple(y) not in vectors
        ]
        assert max(others, default=-np.inf) <= found.upper_bound[i] + 1e-9


def test_the_bound_looks_ahead():
    """A prefix that was dropped counts with what its other labels can still reach."""
    joint = chain(3, 8, 30, scale=0.5)
    plain = beam_search(joint.conditionals.log_odds_of, joint.order, joint.known, 16, 64)
    assert (joint.best_vectors(16, 64).upper_bound < plain.upper_bound).all()


@pytest.mark.parametrize("evidence", [{}, {2: 1, 7: 0}])
def test_modes_of_mixtures_of_chains_against_enumeration(evidence):
    mixture = MixtureJoint([0.2, 0.5, 0.3], [chain(seed, 6, 10, 0.6) for seed in (4, 5, 6)])
    joint = mixture.condition(evidence) if evidence else mixture
    truth = Exhaustive(20)(joint)
    mode = BestFirst(10_240)(joint)
    np.testing.assert_allclose(mode.log_prob[mode.optimal], truth.log_prob[mode.optimal])
    assert (mode.upper_bound >= truth.log_prob - 1e-9).all()
    assert mode.optimal.all()


def test_long_mixtures_are_the_same_in_any_batch_and_with_any_threads():
    chains = [chain(seed, 9, 26, 1.2) for seed in (7, 8)]
    mixture = MixtureJoint([0.5, 0.5], chains)
    whole = BestFirst(10_000)(mixture)
    parallel = [ChainJoint(*part.conditionals.linear, part.order, n_threads=3) for part in chains]
    rows = np.array([8, 2, 5])
    again = BestFirst(10_000)(MixtureJoint([0.5, 0.5], parallel)[rows])
    np.testing.assert_array_equal(again.labels, whole.labels[rows])
    np.testing.assert_array_equal(again.log_prob, whole.log_prob[rows])
    np.testing.assert_array_equal(again.upper_bound, whole.upper_bound[rows])


def test_shapes_are_checked():
    joint = chain(9, 2, 3)
    arrays = (joint.conditionals.scores, joint.conditionals.coupling, joint.order, joint.known)
    labels, log_prob = np.empty((2, 4, 3), dtype=np.int8), np.empty((2, 4))
    with pytest.raises(ValueError, match="width"):
        native.chain_beam_list(*arrays, 3, labels, log_prob, np.empty(2))
    with pytest.raises(ValueError, match="log_prob"):
        native.chain_beam_list(*arrays, 8, labels, np.empty((2, 3)), np.empty(2))
    with pytest.raises(ValueError, match="upper_bound"):
        native.chain_beam_list(*arrays, 8, labels, log_prob, np.empty(3))
