"""The bound of flat chains: above every vector however short the fit, and tight enough to prove."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.inference import Auto, BestFirst
from labelweave.joint import ChainJoint
from tests.inference.chains import assert_valid, random_chain, scales, true_maximum
from tests.joint.cases import chain_parameters
from tests.reference.relaxation import Relaxation


def relaxed(joint, labels, steps=200, budget=10_000, known=None, n_threads=1):
    """Return labels, log-joints and bounds of the kernel, from ``labels`` on."""
    labels, n = labels.copy(), joint.n_rows
    log_joint, bound = np.empty(n), np.empty(n)
    known = joint.known if known is None else known
    native.chain_relaxed_search(
        joint.conditionals.scores,
        joint.conditionals.coupling,
        joint.order,
        known,
        steps,
        budget,
        labels,
        log_joint,
        bound,
        n_threads,
    )
    return labels, log_joint, bound


def any_vectors(joint, seed):
    drawn = np.random.default_rng(seed).integers(0, 2, joint.known.shape, dtype=np.int8)
    return np.where(joint.known >= 0, joint.known, drawn)


def flat(n, n_labels, seed=0):
    rng = np.random.default_rng(seed)
    coupling = np.tril(rng.normal(size=(n_labels, n_labels)), -1) / np.sqrt(n_labels)
    return ChainJoint(rng.normal(scale=0.5, size=(n, n_labels)), coupling)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    scales,
    st.booleans(),
    st.sampled_from([0, 1, 7, 200]),
    st.sampled_from([0, 1, 20]),
)
def test_the_bound_holds_however_short_the_fit(seed, n_labels, scale, evidence, steps, budget):
    joint = random_chain(seed, 3, n_labels, scale, evidence)
    maximum = true_maximum(joint) + joint._normaliser.value
    start = any_vectors(joint, seed)
    labels, log_joint, bound = relaxed(joint, start, steps, budget)
    slack = 1e-11 * (1 + np.abs(maximum))
    assert (bound >= maximum - slack).all()
    assert (log_joint >= joint.conditionals.log_joint(start[:, None])[:, 0]).all()
    assert ((joint.known < 0) | (joint.known == labels)).all()
    np.testing.assert_array_equal(log_joint, joint.conditionals.log_joint(labels[:, None])[:, 0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), scales, st.booleans())
def test_few_labels_are_proven_from_any_start(seed, n_labels, scale, evidence):
    joint = random_chain(seed, 3, n_labels, scale, evidence)
    maximum = true_maximum(joint) + joint._normaliser.value
    _, log_joint, bound = relaxed(joint, any_vectors(joint, seed))
    np.testing.assert_allclose(log_joint, maximum, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(bound, log_joint)


@settings(max_examples=15)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 21),
    st.sampled_from([0.3, 1.0]),
    st.booleans(),
    st.sampled_from([1, 2, 10, 30]),
)
def test_the_kernel_equals_the_formulas(seed, n_labels, scale, evidence, steps):
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, 2, n_labels, scale=scale)
    joint = ChainJoint(scores, coupling, order)
    share = 0.3 if evidence else 0.0
    known = rng.integers(0, 2, (2, n_labels), dtype=np.int8)
    known[rng.random((2, n_labels)) >= share] = -1
    known[:, order[0]] = -1
    worst = np.where(known >= 0, known, 0).astype(np.int8)
    _, log_joint, bound = relaxed(joint, worst, steps, budget=0, known=known)
    along = coupling[np.ix_(order, order)]
    expected = [
        Relaxation(scores[i, order], along, known[i, order]).fit(steps).bound() for i in range(2)
    ]
    np.testing.assert_allclose(bound, np.maximum(expected, log_joint), rtol=1e-6, atol=1e-6)


def test_flat_chains_are_proven_that_prefixes_leave_wide_open():
    joint = flat(4, 36)
    searched = BestFirst(10_000)(joint)
    assert (searched.gap > 1.0).all()
    mode = joint.mode()
    assert mode.optimal.all()
    for row in range(4):
        # Vectors that differ in one label or two: none of them is better.
        labels = mode.labels[row]
        flips = np.eye(36, dtype=np.int8)
        near = np.concatenate([labels ^ flips, *(labels ^ flips ^ flip for flip in flips)])
        repeated = ChainJoint(
            np.repeat(joint.conditionals.scores[[row]], len(near), 0), joint.conditionals.coupling
        )
        assert repeated.log_prob(near).max() <= mode.log_prob[row] + 1e-12


def test_answers_are_never_worse_than_without():
    joint = flat(6, 100)
    searched, mode = BestFirst(10_000)(joint), joint.mode()
    assert (mode.log_prob >= searched.log_prob).all()
    assert (mode.upper_bound <= searched.upper_bound).all()
    assert (mode.gap < 0.2 * searched.gap).all()
    assert (joint._log_prob(joint.sample(500)) <= mode.upper_bound[:, None]).all()
    auto = Auto()(joint)
    assert (auto.upper_bound <= searched.upper_bound).all()


def test_a_larger_budget_proves_more():
    joint = flat(4, 40)
    first, mode = Auto()(joint), Auto(budget=1_000_000)(joint)
    assert not first.optimal.all()
    assert mode.optimal.all()
    assert (mode.log_prob >= first.log_prob).all()


def test_evidence_is_kept_and_its_bound_holds():
    joint = flat(3, 60)
    given = joint.condition({label: np.array([0, 1, -1]) for label in range(40, 60, 3)})
    mode = given.mode()
    assert ((given.known < 0) | (given.known == mode.labels)).all()
    assert (given._log_prob(given.sample(500)) <= mode.upper_bound[:, None]).all()


@pytest.mark.parametrize("n_threads", [2, 5])
def test_rows_and_threads_do_not_meet(n_threads):
    joint = flat(7, 40)
    start = any_vectors(joint, 0)
    one = relaxed(joint, start, 50, 100)
    many = relaxed(joint, start, 50, 100, n_threads=n_threads)
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)
    for row in range(7):
        alone = relaxed(joint[[row]], start[[row]], 50, 100)
        assert alone[2][0] == one[2][row]


@pytest.mark.parametrize("size", [1e6, 1e300, 1.7e308])
def test_what_leaves_no_doubt_is_left_to_the_search(size):
    rng = np.random.default_rng(0)
    coupling = np.tril(rng.normal(size=(6, 6)), -1)
    coupling[4, 2] = size
    joint = ChainJoint(rng.choice([-size, 0.5, size], size=(5, 6)), coupling)
    assert_valid(Auto(budget=1)(joint), joint, true_maximum(joint))
    bound = relaxed(joint, joint.mode().labels)[2]
    assert not np.isnan(bound).any()
    assert (bound >= joint.mode().log_prob).all()


def test_nothing_unknown_and_too_many_unknown():
    joint = random_chain(0, 3, 5)
    given = joint.condition(dict.fromkeys(range(5), 1))
    labels, log_joint, bound = relaxed(given, given.known)
    np.testing.assert_array_equal(labels, given.known)
    np.testing.assert_array_equal(bound, log_joint)
    long = flat(1, 400)
    assert np.isposinf(relaxed(long, any_vectors(long, 0))[2]).all()
    assert relaxed(joint[:0], joint.known[:0])[2].shape == (0,)
