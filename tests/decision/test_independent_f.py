"""The F-measure of independent labels: the short way against the general one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.decision import FLoss
from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint, TreeJoint
from labelweave.joint.capabilities import independent_log_odds
from tests.reference.f_measure import best_f_measure

betas = st.sampled_from([1e-3, 0.5, 1.0, 1.7, 3.0, 1e3])
scores = st.floats(-40, 40) | st.sampled_from([-np.inf, -800.0, 0.0, 1e-3, 700.0, np.inf])


class SecretTree(TreeJoint):
    """A tree that does not tell its edges."""

    def as_trees(self):
        return None


def as_tree(joint):
    """Return the same distribution in a form that takes the general way."""
    tree = SecretTree(np.repeat(joint.scores[:, :, None], 2, axis=2), np.full(joint.n_labels, -1))
    assert independent_log_odds(tree) is None
    return tree


def test_labels_are_independent_in_trees_without_edges_only():
    joint = drawn(0, 3, 0.0)
    logits, roots = np.repeat(joint.scores[:, :, None], 2, axis=2), np.full(3, -1)
    np.testing.assert_array_equal(independent_log_odds(TreeJoint(logits, roots)), joint.scores)
    np.testing.assert_array_equal(independent_log_odds(joint), joint.scores)
    assert independent_log_odds(TreeJoint(logits, [-1, 0, -1])) is None
    assert independent_log_odds(MixtureJoint([0.5, 0.5], [joint, joint])) is None
    chain = ChainJoint(joint.scores, np.zeros((3, 3)))
    assert independent_log_odds(chain) is None


def drawn(seed, n_labels, offset, n=6):
    random = np.random.default_rng(seed)
    return IndependentJoint(random.normal(offset, 2.0, size=(n, n_labels)))


@given(
    st.integers(0, 99),
    st.sampled_from([1, 2, 7, 8, 9, 17, 40, 70]),
    st.sampled_from([-5.0, -2.0, 0.0, 3.0]),
    betas,
)
def test_the_general_kernel_and_the_formula_agree(seed, n_labels, offset, beta):
    joint, loss = drawn(seed, n_labels, offset), FLoss(beta)
    tree = as_tree(joint)
    decided = loss(joint)
    risk = loss.risk(joint, decided)
    np.testing.assert_allclose(risk, loss.risk(tree, decided), rtol=1e-12, atol=1e-13)
    by_label, cardinality = tree.cardinality_by_label(), tree.cardinality()
    for other in (loss(tree), best_f_measure(by_label, cardinality, beta)):
        # Where sums are rounded differently, equally good vectors may differ.
        same = (decided == other).all(axis=1)
        np.testing.assert_allclose(risk[~same], loss.risk(tree, other)[~same], atol=1e-12)
        assert same.mean() > 0.5


@given(st.lists(scores, min_size=1, max_size=12), betas, st.integers(0, 2**12 - 1))
def test_extreme_probabilities(row, beta, chosen):
    joint, loss = IndependentJoint([row]), FLoss(beta)
    tree = as_tree(joint)
    labels = [[chosen >> j & 1 for j in range(len(row))]]
    np.testing.assert_allclose(
        loss.risk(joint, labels), loss.risk(tree, labels), rtol=1e-12, atol=1e-14
    )
    decided = loss(joint)
    risk = loss.risk(joint, decided)
    np.testing.assert_allclose(risk, loss.risk(tree, loss(tree)), rtol=1e-12, atol=1e-12)
    assert (risk <= loss.risk(joint, labels) + 1e-12).all()
    # A label that is more probable than a predicted one is predicted, the first among equals.
    by_rank = np.argsort(-joint.marginals(), axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(decided, by_rank, axis=1)) <= 0).all()


@pytest.mark.parametrize("n_labels", [300, 513, 600])
def test_many_labels(n_labels):
    joint = drawn(1, n_labels, -1.0, n=2)
    for beta in (0.5, 1.0):
        loss, tree = FLoss(beta), as_tree(joint)
        decided = loss(joint)
        np.testing.assert_array_equal(decided, loss(tree))
        np.testing.assert_allclose(loss.risk(joint, decided), loss.risk(tree, decided), rtol=1e-12)


def test_of_equally_good_vectors_the_smallest_wins():
    def decided(*row):
        return FLoss()(IndependentJoint([row])).tolist()[0]

    assert decided(0.0) == [0]  # 1/2 either way
    assert decided(np.inf, np.inf, 0.0) == [1, 1, 0]  # 9/10 either way
    assert decided(0.0, np.inf, np.inf) == [0, 1, 1]


def test_threads_batches_and_neighbours_do_not_matter():
    joint = drawn(0, 30, -2.0, n=50)
    decided, risk = FLoss()(joint), FLoss().risk(joint, FLoss()(joint))
    joint.n_threads = 3
    np.testing.assert_array_equal(FLoss()(joint), decided)
    np.testing.assert_array_equal(FLoss().risk(joint, decided), risk)
    np.testing.assert_array_equal(FLoss()(joint[41:]), decided[41:])
    np.testing.assert_array_equal(FLoss().risk(joint[41:], decided[41:]), risk[41:])
    assert FLoss()(joint[:0]).shape == (0, 30)


def test_the_kernels_check_shapes():
    scores, labels, out = np.zeros((2, 3)), np.zeros((2, 3), dtype=np.int8), np.zeros(2)
    with pytest.raises(ValueError, match="scores must be"):
        native.best_independent_f_measure(scores[:, :2].copy(), 1.0, labels)
    with pytest.raises(ValueError, match="beta must be"):
        native.best_independent_f_measure(scores, 0.0, labels)
    with pytest.raises(ValueError, match="labels must be"):
        native.expected_independent_f_measure(scores, labels[:1], 1.0, out)
    with pytest.raises(ValueError, match="out needs"):
        native.expected_independent_f_measure(scores, labels, 1.0, out[:1])
    with pytest.raises(ValueError, match="beta must be"):
        native.expected_independent_f_measure(scores, labels, -1.0, out)
