"""Trees of labels: enumeration, deep and wide forests, certain labels, evidence, bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.joint import IndependentJoint, TreeJoint
from tests.joint.cases import evidence_for, make, make_with_oracle, seeds
from tests.reference import table as oracle
from tests.reference.tree import PlainTree, poisson_binomial, random_forest

PROBABILITIES = ("marginals", "pairwise", "cardinality", "cardinality_by_label")


def path(n, L, seed=0, scale=2.0):
    """Return the deepest tree there is."""
    rng = np.random.default_rng(seed)
    return TreeJoint(rng.normal(scale=scale, size=(n, L, 2)), np.arange(L) - 1)


def star(n, L, seed=0):
    """Return the widest one."""
    rng = np.random.default_rng(seed)
    return TreeJoint(rng.normal(size=(n, L, 2)), [-1] + [0] * (L - 1))


def forest(n, L, seed=0, scale=2.0):
    logits, parents = random_forest(np.random.default_rng(seed), n, L, scale)
    return TreeJoint(logits, parents)


SHAPES = {"path": path, "star": star, "forest": forest}
shapes = pytest.mark.parametrize("shape", SHAPES)


@given(seeds, st.integers(1, 3), st.integers(1, 7))
def test_laws_of_the_number_of_labels(seed, n, L):
    joint, rows = make_with_oracle("forest", seed, n, L)
    by_label = joint.cardinality_by_label()
    np.testing.assert_allclose(by_label, oracle.cardinality_by_label(rows), atol=1e-12)
    np.testing.assert_allclose(by_label.sum(axis=2), joint.marginals(), atol=1e-12)
    np.testing.assert_allclose(
        by_label.sum(axis=1), np.arange(L + 1) * joint.cardinality(), atol=1e-12
    )
    pairwise = joint.pairwise()
    np.testing.assert_array_equal(pairwise, pairwise.transpose(0, 2, 1))
    assert (pairwise <= joint.marginals()[:, :, None] + 1e-15).all()


@given(seeds, st.integers(1, 3), st.integers(1, 6), st.booleans())
def test_a_posterior_is_a_tree_with_the_same_parents(seed, n, L, twice):
    joint, rows = make_with_oracle("forest", seed, n, L)
    known, evidence = evidence_for(joint, rows, seed)
    posterior = joint.condition(evidence)
    if twice:
        posterior = posterior.condition(evidence)
    assert isinstance(posterior, TreeJoint)
    np.testing.assert_array_equal(posterior.parents, joint.parents)
    assert not np.isnan(posterior.logits).any()
    np.testing.assert_array_equal(posterior.known[known >= 0], known[known >= 0])
    again = TreeJoint(posterior.logits, posterior.parents)
    for i, table in enumerate(oracle.condition(rows, known)):
        for y, p in table.items():
            assert np.exp(again[i].log_prob([y])[0]) == pytest.approx(p, rel=1e-8, abs=1e-12)


def test_labels_far_from_the_evidence_keep_their_bits():
    joint = TreeJoint(np.random.default_rng(0).normal(size=(5, 4, 2)), [-1, 0, -1, 2])
    posterior = joint.condition({1: 1})
    np.testing.assert_array_equal(posterior.logits[:, 2:], joint.logits[:, 2:])
    assert (posterior.logits[:, 0] != joint.logits[:, 0]).all()


@shapes
@pytest.mark.parametrize("L", [1, 2, 23, 374])
def test_many_labels_against_plain_python(shape, L):
    """The deepest and the widest trees, far beyond enumeration; no pass may recurse."""
    joint = SHAPES[shape](2, L)
    rng = np.random.default_rng(1)
    Y = rng.integers(0, 2, size=(2, L))
    uniforms = joint._uniforms(5, 1, L)[:, 0]
    plain = [PlainTree(row, joint.parents) for row in joint.logits]
    for i, tree in enumerate(plain):
        np.testing.assert_array_equal(joint.mode().labels[i], tree.mode())
        assert joint.mode().log_prob[i] == pytest.approx(tree.log_prob(tree.mode()), rel=1e-12)
        assert joint.log_prob(Y)[i] == pytest.approx(tree.log_prob(Y[i]), rel=1e-12)
        np.testing.assert_allclose(joint.marginals()[i], tree.marginals(), rtol=1e-10)
        np.testing.assert_allclose(joint.pairwise()[i], tree.pairwise(), atol=1e-12)
        np.testing.assert_allclose(joint.cardinality()[i], tree.cardinality(), rtol=1e-9)
        np.testing.assert_array_equal(joint.sample(1, 5)[i, 0], tree.sample(uniforms[i]))
    by_label = joint.cardinality_by_label()
    np.testing.assert_allclose(by_label.sum(axis=2), joint.marginals(), atol=1e-11)
    np.testing.assert_allclose(
        by_label.sum(axis=1), np.arange(L + 1) * joint.cardinality(), atol=1e-10
    )


@shapes
@pytest.mark.parametrize("k", [1, 2, 7, 60])
def test_long_lists_against_plain_python(shape, k):
    joint = SHAPES[shape](3, 40)
    top = joint.top(k)
    assert top.exact.all()
    assert (np.diff(top.log_prob, axis=1) <= 0).all()
    for i in range(3):
        expected = PlainTree(joint.logits[i], joint.parents).top(k)
        np.testing.assert_allclose(top.log_prob[i], expected, rtol=1e-10)
        np.testing.assert_array_equal(joint._log_prob(top.labels)[i], top.log_prob[i])
        assert len({y.tobytes() for y in top.labels[i]}) == k
    np.testing.assert_array_equal(top.labels[:, 0], joint.mode().labels)


def test_the_whole_list_is_every_vector_once():
    joint = forest(2, 9)
    top = joint.top(10**6)
    assert top.labels.shape == (2, 512, 9)
    for vectors in top.labels:
        assert {tuple(y) for y in vectors} == set(itertools.product((0, 1), repeat=9))
    np.testing.assert_allclose(np.exp(top.log_prob).sum(axis=1), 1)


def test_ties_are_listed_once_each():
    joint = TreeJoint(np.zeros((1, 5, 2)), [-1, 0, 0, 1, -1])
    top = joint.top(32)
    assert len({y.tobytes() for y in top.labels[0]}) == 32
    np.testing.assert_allclose(top.log_prob, -5 * np.log(2))
    assert joint.mode().labels.tolist() == [[0] * 5]


def test_lists_end_where_vectors_are_impossible():
    """A label that copies its parent leaves half of the vectors."""
    copy = [-np.inf, np.inf]
    joint = TreeJoint([[[1.0, 1.0], copy, [0.5, -2.0]]], [-1, 0, 1])
    top = joint.top(8)
    assert np.isfinite(top.log_prob[0, :4]).all()
    assert np.isneginf(top.log_prob[0, 4:]).all()
    assert (top.labels[0, 4:] == -1).all()
    assert top.exact.all()
    assert (top.labels[0, :4, 0] == top.labels[0, :4, 1]).all()
    assert joint.pairwise()[0, 0, 1] == joint.marginals()[0, 0] == joint.marginals()[0, 1]
    # What the copy shows, its source is; and the other way round.
    assert joint.condition({1: 1}).known.tolist() == [[1, 1, -1]]
    assert joint.condition({0: 0}).known.tolist() == [[0, 0, -1]]
    assert joint.condition({0: 0}).marginals()[0, 1] == 0.0


def test_certain_labels():
    joint = TreeJoint(np.array([[[np.inf, 0.0], [-np.inf, 2.0], [3.0, -np.inf]]]), [-1, 0, 1])
    assert joint.known.tolist() == [[1, -1, -1]]
    assert joint.marginals()[0, 0] == 1.0
    assert joint.log_prob([[0, 0, 0]])[0] == -np.inf
    assert joint.mode().labels.tolist() == [[1, 1, 0]]
    assert (joint.sample(200, 0)[:, :, 0] == 1).all()
    assert joint.entropy()[0] == pytest.approx(
        TreeJoint([[[2.0, 2.0], [3.0, -np.inf]]], [-1, 0]).entropy()[0]
    )
    everything = joint.condition({1: 1, 2: 0})
    assert everything.log_prob([[1, 1, 0]])[0] == 0.0
    assert everything.entropy()[0] == 0.0


def test_evidence_that_contradicts():
    joint = TreeJoint([[[1.0, 1.0], [-np.inf, np.inf]], [[1.0, 1.0], [0.0, 0.0]]], [-1, 0])
    evidence = {0: 1, 1: 0}
    assert np.isneginf(joint.evidence_log_prob(evidence).value).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"row 0 .*Bayes"):
        joint.condition(evidence)
    with pytest.raises(ValueError, match="probability zero"):
        joint.condition({0: 1}).condition({0: 0})


def test_single_nodes_are_independent_labels():
    scores = np.random.default_rng(0).normal(scale=3, size=(4, 6))
    scores[0, 2], scores[1, 3] = np.inf, -np.inf
    joint, same = IndependentJoint(scores), TreeJoint(np.dstack([scores, scores]), [-1] * 6)
    for quantity in (*PROBABILITIES, "entropy"):
        np.testing.assert_allclose(
            getattr(joint, quantity)(), getattr(same, quantity)(), atol=1e-14
        )
    np.testing.assert_array_equal(joint.mode().labels, same.mode().labels)
    np.testing.assert_array_equal(joint.known, same.known)
    np.testing.assert_array_equal(joint.sample(9, 3), same.sample(9, 3))
    np.testing.assert_allclose(joint.cardinality(), poisson_binomial(joint.marginals()), atol=1e-14)


def test_small_probabilities_keep_their_digits():
    """Thirty labels at once have probability e^-560: nothing is lost to cancellation."""
    scores = np.full((1, 60), -20.0)
    log_one, log_zero = -np.log1p(np.exp(20.0)), -np.log1p(np.exp(-20.0))
    counts = IndependentJoint(scores).cardinality()[0]
    expected = math.log(math.comb(60, 30)) + 30 * (log_one + log_zero)
    assert np.log(counts[30]) == pytest.approx(expected, rel=1e-12)
    by_label = IndependentJoint(scores).cardinality_by_label()[0, 7, 2]
    assert by_label == pytest.approx(59 * np.exp(2 * log_one + 58 * log_zero), rel=1e-12)


def test_a_root_reads_its_first_log_odds():
    joint = TreeJoint([[[0.5, 99.0], [1.0, -1.0]]], [-1, 0])
    np.testing.assert_array_equal(joint.logits[:, 0], [[0.5, 0.5]])
    np.testing.assert_allclose(joint.marginals()[0, 0], 1 / (1 + np.exp(-0.5)))


@pytest.mark.parametrize("L", [3, 17])
def test_no_answer_depends_on_batches_or_threads(L):
    joint, _ = make("forest", 7, 43, L)
    evidence = {0: np.arange(43) % 3 - 1}
    evidence[0][~np.isfinite(joint.evidence_log_prob(evidence).value)] = -1
    threaded = joint[:]
    threaded.n_threads = 3
    for batch, other in (
        (joint, threaded),
        (joint.condition(evidence), threaded.condition(evidence)),
    ):
        for quantity in (*PROBABILITIES, "entropy"):
            whole = getattr(batch, quantity)()
            np.testing.assert_array_equal(getattr(other, quantity)(), whole)
            np.testing.assert_array_equal(getattr(batch[5:30], quantity)(), whole[5:30])
            np.testing.assert_array_equal(getattr(batch[41], quantity)()[0], whole[41])
        whole = batch.top(6)
        for part, rows in ((other.top(6), slice(None)), (batch[9:20].top(6), slice(9, 20))):
            np.testing.assert_array_equal(part.labels, whole.labels[rows])
            np.testing.assert_array_equal(part.log_prob, whole.log_prob[rows])
        np.testing.assert_array_equal(other.sample(3, 1), batch.sample(3, 1))
        np.testing.assert_array_equal(batch.sample(1, 1), batch.sample(3, 1)[:, :1])
        np.testing.assert_array_equal(batch[9:20].sample(3, 1), batch.sample(3, 1)[9:20])
        np.testing.assert_array_equal(batch[9:20].mode().log_prob, batch.mode().log_prob[9:20])


def test_the_mode_has_the_log_probability_that_log_prob_gives():
    joint = forest(50, 30)
    mode = joint.mode()
    np.testing.assert_array_equal(mode.log_prob, joint.log_prob(mode.labels))
    np.testing.assert_array_equal(joint.top(1).log_prob[:, 0], mode.log_prob)
    assert mode.optimal.all()


def test_the_callers_arrays_are_left_alone():
    logits, parents = np.zeros((1, 2, 2)), np.array([-1, 0])
    logits[0, 0, 1] = 5.0
    joint = TreeJoint(logits, parents)
    joint.condition({1: 1})
    assert logits[0, 0].tolist() == [0.0, 5.0]
    joint.logits[:] = 1.0
    assert logits[0, 1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("logits", "parents", "message"),
    [
        (np.zeros((2, 3)), [-1, 0, 0], r"logits .*shape \(rows, labels, 2\).*\(2, 3\)"),
        (np.zeros((2, 3, 3)), [-1, 0, 0], "logits"),
        (np.zeros((2, 0, 2)), [], "logits"),
        (np.full((1, 1, 2), np.nan), [-1], "logits contains NaN"),
        (np.zeros((1, 3, 2)), [-1, 0], "parents must be 3 whole numbers"),
        (np.zeros((1, 2, 2)), [-1.0, 0.0], "parents must be 2 whole numbers"),
        (np.zeros((1, 2, 2)), [-2, 0], "between 0 and 1"),
        (np.zeros((1, 2, 2)), [-1, 2], "between 0 and 1"),
        (np.zeros((1, 2, 2)), [-1, 1], "cycle: label 1"),
        (np.zeros((1, 4, 2)), [-1, 2, 3, 1], "cycle: label 1"),
    ],
)
def test_bad_input(logits, parents, message):
    with pytest.raises(ValueError, match=message):
        TreeJoint(logits, parents)


class TestKernelsRefuse:
    """What would make native code read or write where it must not."""

    logits = np.zeros((3, 2, 2))
    parents, order = np.array([-1, 0]), np.array([0, 1])

    @pytest.mark.parametrize(
        ("parents", "order"),
        [
            ([-1, 0], [1, 0]),
            ([-1, 0], [0, 0]),
            ([-1, 0], [0, 2]),
            ([-1, 5], [0, 1]),
            ([-2, 0], [0, 1]),
            ([1, 0], [0, 1]),
            ([-1], [0, 1]),
        ],
    )
    def test_bad_structure(self, parents, order):
        with pytest.raises(ValueError, match=r"order|parents"):
            native.tree_marginals(
                self.logits, np.array(parents), np.array(order), np.empty((3, 2)), 1
            )

    @pytest.mark.parametrize(
        ("kernel", "shapes"),
        [
            ("tree_marginals", [(3, 3)]),
            ("tree_marginals", [(2, 2)]),
            ("tree_pairwise", [(3, 3, 2)]),
            ("tree_cardinality", [(3, 2)]),
            ("tree_cardinality_by_label", [(3, 3, 3)]),
        ],
    )
    def test_bad_shapes(self, kernel, shapes):
        with pytest.raises(ValueError, match="out"):
            getattr(native, kernel)(
                self.logits, self.parents, self.order, *map(np.empty, shapes), 1
            )

    def test_labels_other_than_0_and_1(self):
        """Nothing is read outside the conditionals, whatever the labels are."""
        joint = forest(3, 9)
        labels = np.random.default_rng(0).choice([-128, -1, 0, 1, 127], size=(3, 2, 9))
        labels = labels.astype(np.int8)
        for part in (labels, np.ascontiguousarray(labels[:, :1])):
            found = joint._log_prob(part)
            expected = joint._log_prob(part & 1)
            np.testing.assert_array_equal(found, expected)

    def test_bad_tables_lists_and_evidence(self):
        tree = (self.logits, self.parents, self.order)
        known = np.full((3, 2), -1, dtype=np.int8)
        for free in ([0, 0], [2], [-1]):
            with pytest.raises(ValueError, match="free"):
                native.tree_table(*tree, known, np.array(free), np.empty((3, 2 ** len(free))), 1)
        with pytest.raises(ValueError, match="out"):
            native.tree_table(*tree, known, np.array([0]), np.empty((3, 4)), 1)
        with pytest.raises(ValueError, match="log_prob"):
            native.tree_top(*tree, np.empty((3, 4, 2), dtype=np.int8), np.empty((3, 3)), 1)
        with pytest.raises(ValueError, match="at least one"):
            native.tree_top(*tree, np.empty((3, 0, 2), dtype=np.int8), np.empty((3, 0)), 1)
        with pytest.raises(ValueError, match="posterior"):
            native.tree_condition(*tree, known, np.empty((3, 1, 2)), np.empty(3), 1)
        with pytest.raises(ValueError, match="labels"):
            native.tree_mode(*tree, np.empty((3, 1), dtype=np.int8), np.empty(3), 1)
        with pytest.raises(TypeError):
            native.tree_mode(*tree, np.empty((3, 2), dtype=np.int64), np.empty(3), 1)
