"""Fields of pairwise couplings, where they are forests, tables, or neither."""

from functools import cache

import numpy as np
import pytest

from labelweave._core import native
from labelweave.inference import Auto, Beam, BestFirst, Greedy
from labelweave.joint import FieldJoint, TreeJoint
from labelweave.joint.enumeration import label_vectors
from labelweave.joint.field import anneal, forest_of, is_forest, strongest_forest
from labelweave.joint.field_search import branch_and_bound, relax
from labelweave.joint.quantities import log_mean
from tests.joint.cases import field_parameters
from tests.reference import field as reference


def field(L, n=4, scale=0.7, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(scale=scale, size=(L, L)), 1)
    return FieldJoint(rng.normal(scale=1.5, size=(n, L)), upper + upper.T)


def energies(joint):
    """All energies of the prior field, by products of whole matrices."""
    vectors = label_vectors(joint.n_labels).astype(float)
    pairs = ((vectors @ joint.coupling) * vectors).sum(axis=1) / 2
    return joint.scores @ vectors.T + pairs, vectors


def random_tree(rng, L):
    coupling = np.zeros((L, L))
    for label in range(1, L):
        if rng.random() < 0.9:
            parent = rng.integers(label)
            coupling[label, parent] = coupling[parent, label] = rng.normal(scale=2)
    order = rng.permutation(L)
    return coupling[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(5))
def test_a_forest_is_a_tree_of_labels(seed):
    """Thirty labels: only the forest makes the field exact; a tree built by hand agrees."""
    rng = np.random.default_rng(seed)
    coupling = random_tree(rng, 30)
    assert is_forest(coupling)
    joint = FieldJoint(rng.normal(size=(6, 30)), coupling)
    (tree,) = joint.as_trees().trees
    assert isinstance(tree, TreeJoint)
    Y = rng.integers(0, 2, (6, 30))
    other = rng.integers(0, 2, (6, 30))
    gained = [
        reference.energy(s, coupling, y) - reference.energy(s, coupling, z)
        for s, y, z in zip(joint.scores, Y, other, strict=True)
    ]
    np.testing.assert_allclose(tree.log_prob(Y) - tree.log_prob(other), gained, atol=1e-9)
    np.testing.assert_allclose(joint.log_prob(Y), tree.log_prob(Y), atol=1e-9)
    assert joint.estimate("pairwise").exact.all()
    np.testing.assert_allclose(joint.pairwise(), tree.pairwise(), atol=1e-12)
    np.testing.assert_array_equal(joint.mode().labels, tree.mode().labels)
    np.testing.assert_allclose(joint.top(5).log_prob, tree.top(5).log_prob, atol=1e-9)
    given = joint.condition({3: 1, 7: [0, 1, -1, 0, 1, -1]})
    same = tree.condition({3: 1, 7: [0, 1, -1, 0, 1, -1]})
    np.testing.assert_allclose(given.marginals(), same.marginals(), atol=1e-9)
    np.testing.assert_allclose(
        joint.evidence_log_prob({3: 1}).value, tree.evidence_log_prob({3: 1}).value, atol=1e-9
    )


def test_evidence_that_breaks_all_cycles_makes_a_long_field_exact():
    L = 24
    coupling = random_tree(np.random.default_rng(1), L)
    coupling[0, :] = coupling[:, 0] = 0.5
    coupling[0, 0] = 0.0
    joint = FieldJoint(np.zeros((2, L)), coupling)
    assert not joint.estimate("marginals", samples=None).exact.any()
    given = joint.condition({0: [1, -1]})
    np.testing.assert_array_equal(given.estimate("marginals").exact, [True, False])


def test_the_strongest_forest_is_the_heaviest():
    rng = np.random.default_rng(0)
    for _ in range(20):
        _, coupling = field_parameters(rng, 1, 4)
        parents = strongest_forest(coupling)
        kept = sum(abs(coupling[c, p]) for c, p in enumerate(parents) if p >= 0)
        pairs = np.argwhere(np.triu(coupling, 1))
        best = 0.0
        for choice in range(2 ** len(pairs)):
            mask = np.zeros_like(coupling)
            for bit, (i, j) in enumerate(pairs):
                if choice >> bit & 1:
                    mask[i, j] = mask[j, i] = coupling[i, j]
            if is_forest(mask):
                best = max(best, np.abs(mask).sum() / 2)
        assert kept == pytest.approx(best)


def test_annealing_kernel_does_as_its_reference():
    joint = field(7, n=5)
    known = np.full((5, 7), -1, dtype=np.int8)
    known[1, 2], known[3, 0] = 1, 0
    given = joint._given(known)
    inside = np.where(np.abs(joint.coupling) > 0.5, joint.coupling, 0.0)
    outside = joint.coupling - inside
    start = np.random.default_rng(3).integers(0, 2, (5, 30, 7)).astype(np.int8)
    start = np.where(known[:, None, :] >= 0, known[:, None, :], start)
    seeds = np.arange(4, dtype=np.uint64)
    expected, expected_weight = reference.anneal(
        given.scores, inside, outside, known, joint.row_ids, seeds, start
    )
    for threads in (1, 3):
        labels, log_weight = start.copy(), np.empty((5, 30))
        native.field_anneal(
            given.scores, inside, outside, known, joint.row_ids, seeds, labels, log_weight, threads
        )
        np.testing.assert_array_equal(labels, expected)
        np.testing.assert_allclose(log_weight, expected_weight, atol=1e-12)


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_annealed_draws_find_normaliser_and_marginals(scale):
    joint = field(12, n=6, scale=scale)
    table, vectors = energies(joint)
    log_z = np.logaddexp.reduce(table, axis=1)
    forest = forest_of(joint.scores, joint.coupling, joint.known, {})
    labels, log_weight = anneal(joint.scores, joint.coupling, forest, joint.known, 2000, 1)
    ratio, error = log_mean(log_weight)
    found = ratio - forest.log_prob(np.zeros((6, 12)))
    assert (np.abs(found - log_z) <= 5 * error).all()
    assert (error < 0.1).all()
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    marginals = np.einsum("nk,nkl->nl", weight, labels)
    truth = np.exp(table - log_z[:, None]) @ vectors
    assert np.abs(marginals - truth).max() < 0.06


@cache
def energies_of_many_labels():
    """All energies, label by label: bit j of a column is label j."""
    joint, out = TestManyLabels.joint, np.zeros((2, 1))
    for label in range(21):
        pairs = label_vectors(label) @ joint.coupling[label, :label]
        out = np.concatenate([out, out + joint.scores[:, label, None] + pairs], axis=1)
    return out


@cache
def truth_of_many_labels():
    """Marginals, log-normaliser and log-probability of the mode."""
    table = energies_of_many_labels()
    log_z = np.logaddexp.reduce(table, axis=1)
    probability = np.exp(table - log_z[:, None])
    marginals = [probability.reshape(2, -1, 2, 2**j)[:, :, 1].sum(axis=(1, 2)) for j in range(21)]
    return np.stack(marginals, axis=1), log_z, table.max(axis=1) - log_z


class TestManyLabels:
    """Twenty-one labels all coupled: too many for tables, few enough for an oracle."""

    joint = field(21, n=2, scale=0.5, seed=4)

    def test_estimates_state_their_error(self):
        marginals, log_z, _ = truth_of_many_labels()
        estimate = self.joint.estimate("marginals")
        assert not estimate.exact.any()
        assert (np.abs(estimate.value - marginals) <= 5 * estimate.standard_error).all()
        normaliser = self.joint.log_normaliser()
        assert not normaliser.exact.any()
        assert (normaliser.standard_error > 0).all()
        assert (np.abs(normaliser.value - log_z) <= 5 * normaliser.standard_error).all()
        draws = self.joint.sample(2000, 0)
        assert np.abs(draws.mean(axis=1) - marginals).max() < 0.08

    def test_the_mode_is_found_and_proven(self):
        _, log_z, best = truth_of_many_labels()
        shift = self.joint.log_normaliser().value - log_z
        for found in (self.joint.mode(), Auto()(self.joint), BestFirst()(self.joint)):
            assert found.optimal.all()
            np.testing.assert_allclose(found.log_prob + shift, best, atol=1e-9)
        narrow = Beam(width=1)(self.joint)
        assert (narrow.upper_bound + shift >= best - 1e-9).all()
        assert (narrow.log_prob + shift <= best + 1e-9).all()
        greedy = Greedy()(self.joint)
        assert (greedy.upper_bound + shift >= best - 1e-9).all()

    def test_top_is_bounded(self):
        top = self.joint.top(3)
        table = np.sort(energies_of_many_labels(), axis=1)[:, ::-1]
        shift = self.joint.log_normaliser().value
        assert (top.upper_bound + shift >= table[:, 3] - 1e-9).all()
        exact = top.exact
        np.testing.assert_allclose((top.log_prob + shift[:, None])[exact], table[exact, :3])

    def test_rows_do_not_depend_on_their_batch(self):
        whole = self.joint
        for row in range(2):
            alone = whole[[row]]
            np.testing.assert_array_equal(alone.marginals()[0], whole.marginals()[row])
            np.testing.assert_array_equal(alone.sample(9, 1)[0], whole.sample(9, 1)[row])
            assert alone.log_normaliser().value[0] == whole.log_normaliser().value[row]

    def test_evidence_agrees_with_the_sum_rule(self):
        parts = [self.joint.evidence_log_prob({5: value}) for value in (0, 1)]
        total = np.logaddexp(parts[0].value, parts[1].value)
        error = np.hypot(parts[0].standard_error, parts[1].standard_error)
        assert (np.abs(total) <= 5 * error).all()


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_and_a_wide_search_is_exhaustive(seed):
    rng = np.random.default_rng(seed)
    scores, coupling = field_parameters(rng, 5, 8)
    joint = FieldJoint(scores, coupling)
    table = energies(joint)[0]
    parts = relax(scores, coupling, joint.known)
    assert (parts.bound() >= table.max(axis=1) - 1e-9).all()
    assert (parts.loss <= 1e-12).all()
    end = branch_and_bound(parts, np.arange(8), 256, np.full(5, -np.inf))
    assert np.isneginf(end.dropped).all()
    np.testing.assert_allclose(end.energy, np.sort(table, axis=1)[:, ::-1], atol=1e-9)


def test_a_mode_that_cannot_be_proven_says_so():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.normal(scale=3, size=(30, 30)), 1)
    joint = FieldJoint(rng.normal(size=(1, 30)), upper + upper.T)
    mode = joint.mode()
    assert not mode.optimal[0]
    assert mode.gap[0] > 0
    found = Auto(budget=60)(joint)
    assert found.gap[0] > 0


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        (np.zeros((2, 3)), "shape"),
        ([[0.0, 1.0], [2.0, 0.0]], "symmetric"),
        ([[1.0, 0.0], [0.0, 0.0]], "zero diagonal"),
        ([[0.0, np.nan], [np.nan, 0.0]], "NaN"),
    ],
)
def test_bad_couplings(coupling, message):
    with pytest.raises(ValueError, match=f"coupling.*{message}"):
        FieldJoint(np.zeros((1, 2)), coupling)


def test_kernel_refuses_wrong_shapes():
    good = {
        "scores": np.zeros((2, 3)),
        "inside": np.zeros((3, 3)),
        "outside": np.zeros((3, 3)),
        "known": np.full((2, 3), -1, dtype=np.int8),
        "rows": np.arange(2),
        "seeds": np.zeros(2, dtype=np.uint64),
        "labels": np.zeros((2, 4, 3), dtype=np.int8),
        "log_weight": np.zeros((2, 4)),
    }
    native.field_anneal(**good)
    for name in ("inside", "outside", "known", "rows", "labels", "log_weight"):
        wrong = good | {name: np.concatenate([good[name], good[name]])}
        with pytest.raises(ValueError):
            native.field_anneal(**wrong)
