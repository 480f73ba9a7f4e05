"""The mode of mixtures from their components' lists: proven, or with an honest gap."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.inference import Auto, BestFirst, Exhaustive, Greedy
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint, MixtureJoint, TreeJoint
from tests.joint.cases import chain_parameters, forms, make, make_with_oracle, seeds
from tests.reference.tree import random_forest


def trees(seed, n, L, K, scale=2.0, infinite=0.0, shared=0.0):
    """Return a mixture of random trees, whose log-odds have a part of size ``shared`` in common."""
    rng = np.random.default_rng(seed)
    common = shared * rng.normal(size=(n, L, 1))
    parts = []
    for _ in range(K):
        logits, parents = random_forest(rng, n, L, scale)
        logits += common
        certain = rng.random(logits.shape) < infinite
        parts.append(TreeJoint(np.where(certain, np.copysign(np.inf, logits), logits), parents))
    return MixtureJoint(rng.dirichlet(np.ones(K), size=n), parts)


def as_lists(joint):
    """Return the same mixture with one component that hides that it is a tree."""

    class Hidden(TreeJoint):
        def as_trees(self):
            return None

    hidden = Hidden(joint.components[0].logits, joint.components[0].parents)
    return MixtureJoint(joint.weights, [hidden, *joint.components[1:]])


def assert_same_modes(mode, exact):
    np.testing.assert_allclose(mode.log_prob, exact.log_prob, atol=1e-9)
    assert mode.optimal.all()
    assert (mode.gap == 0).all()


@given(seeds, st.integers(0, 4), st.integers(1, 8), st.integers(1, 5), st.sampled_from([0.0, 0.2]))
def test_it_is_the_mode_of_mixtures_of_trees(seed, n, L, K, infinite):
    joint = trees(seed, n, L, K, infinite=infinite)
    exact = Exhaustive()(joint)
    mode = BestFirst(10 * 2**L)(joint)
    assert_same_modes(mode, exact)
    assert_same_modes(joint.mode(), exact)
    np.testing.assert_array_equal(mode.log_prob, joint.log_prob(mode.labels))
    assert (mode.nodes >= 1).all()
    assert (mode.nodes <= K * 2**L).all()


@settings(max_examples=15)
@given(seeds, st.integers(1, 3), st.integers(1, 5))
def test_it_is_the_mode_of_mixtures_of_any_forms(seed, n, L):
    joint, rows = make_with_oracle("mixture", seed, n, L)
    mode = BestFirst(10_000)(joint)
    np.testing.assert_allclose(np.exp(mode.log_prob), [max(t.values()) for t in rows], rtol=1e-9)
    assert mode.optimal.all()


@given(seeds, st.integers(1, 8), st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_small_budgets_leave_an_honest_gap(seed, L, K, budget, compiled):
    joint = trees(seed, 3, L, K, scale=0.7)
    exact = Exhaustive()(joint)
    mode = BestFirst(10 * budget)(joint if compiled else as_lists(joint))
    assert (mode.log_prob <= exact.log_prob + 1e-12).all()
    assert (mode.upper_bound >= exact.log_prob - 1e-12).all()
    np.testing.assert_allclose(
        mode.log_prob[mode.optimal], exact.log_prob[mode.optimal], atol=1e-12
    )
    assert (mode.nodes <= K * max(budget, 16)).all()


def test_budgets_matter_and_more_never_hurts():
    """Some rows must stay open at first, or the gap was never put to the test."""
    joint = trees(0, 60, 12, 4, scale=1.0, shared=1.0)
    exact = Exhaustive()(joint)
    modes = [BestFirst(10 * budget)(joint) for budget in (1, 4, 16, 4096)]
    settled = [mode.optimal.mean() for mode in modes]
    assert settled[0] < settled[1] < settled[2] < settled[3] == 1
    for less, more in itertools.pairwise(modes):
        assert (more.log_prob >= less.log_prob - 1e-12).all()
        assert (more.upper_bound <= less.upper_bound + 1e-12).all()
    wrong = modes[0].log_prob < exact.log_prob - 1e-9
    assert wrong.any()
    assert (modes[0].gap[wrong] >= (exact.log_prob - modes[0].log_prob)[wrong]).all()


def test_lists_and_compiled_walks_agree():
    joint = trees(3, 20, 24, 3, scale=4.0)
    compiled, listed = BestFirst(10_000)(joint), BestFirst(10_000)(as_lists(joint))
    assert compiled.optimal.all()
    assert listed.optimal.all()
    np.testing.assert_array_equal(compiled.labels, listed.labels)
    np.testing.assert_array_equal(joint.mode().labels, compiled.labels)


@given(seeds, st.integers(1, 6), st.integers(1, 4), st.integers(1, 40), st.booleans())
def test_top_of_mixtures_of_trees(seed, L, K, k, nested):
    joint = trees(seed, 2, L, K, infinite=0.1)
    if nested:
        inner = MixtureJoint([1.0], [joint])
        joint = MixtureJoint([0.25, 0.75], [inner, IndependentJoint(np.zeros((2, L)))])
    top = joint.top(k)
    assert top.exact.all()
    assert (np.diff(np.exp(top.log_prob), axis=1) <= 0).all()
    for i, row in enumerate(top.log_prob):
        table = np.sort(np.exp(joint[i]._table(np.arange(L))[0]))[::-1]
        np.testing.assert_allclose(np.exp(row), table[: len(row)], rtol=1e-9, atol=1e-13)
        listed = [tuple(y) for y in top.labels[i] if y[0] >= 0]
        assert len(set(listed)) == len(listed)


def test_top_of_flat_rows_is_enumerated_where_lists_prove_nothing(monkeypatch):
    monkeypatch.setattr("labelweave.joint.mixture.LIST_DEPTH", 5)
    joint = trees(1, 3, 12, 3, scale=0.02)
    assert not joint.best_vectors(5).exact.any()
    top = joint.top(5)
    assert top.exact.all()
    np.testing.assert_allclose(
        top.log_prob, np.sort(joint._table(np.arange(12)), axis=1)[:, :-6:-1], atol=1e-12
    )


def test_top_beyond_enumeration_is_proven_or_bounded():
    joint = trees(5, 12, 30, 3, scale=3.0)
    top, longer = joint.top(5), joint.top(40)
    assert top.exact.mean() > 0.5
    sure = top.exact & longer.exact
    np.testing.assert_array_equal(top.labels[sure], longer.labels[sure][:, :5])
    assert (top.upper_bound >= longer.log_prob[:, 5]).all()
    np.testing.assert_allclose(joint._log_prob(top.labels), top.log_prob, atol=1e-10)


def test_long_chains_in_a_mixture():
    """Beyond 16 labels a chain lists what a beam search finds, with a bound that holds."""
    rng = np.random.default_rng(0)
    parts = [ChainJoint(*chain_parameters(rng, 8, 18, scale=1.5)) for _ in range(2)]
    joint = MixtureJoint([0.3, 0.7], parts)
    exact = Exhaustive()(joint)
    mode = BestFirst(40_960)(joint)
    assert (mode.upper_bound >= exact.log_prob - 1e-9).all()
    assert mode.optimal.any()
    np.testing.assert_allclose(mode.log_prob[mode.optimal], exact.log_prob[mode.optimal])


def test_conditioned_mixtures():
    joint = trees(8, 10, 7, 3).condition({2: 1, 5: np.arange(10) % 2})
    mode = BestFirst(10_000)(joint)
    assert_same_modes(mode, Exhaustive()(joint))
    assert (mode.labels[:, 2] == 1).all()


def test_a_component_without_weight_is_not_walked():
    joint = trees(1, 5, 10, 2)
    alone = MixtureJoint([0.0, 1.0], joint.components)
    np.testing.assert_array_equal(
        BestFirst(10_000)(alone).labels, joint.components[1].mode().labels
    )
    assert (BestFirst(10_000)(alone).nodes == 1).all()


@given(forms, seeds, st.integers(0, 3), st.integers(1, 5))
def test_every_form_has_an_answer(form, seed, n, L):
    joint, _ = make(form, seed, n, L)
    mode = BestFirst(10_000)(joint)
    np.testing.assert_allclose(mode.log_prob, joint.mode().log_prob, atol=1e-9)
    assert mode.nodes.shape == (n,)


def test_rows_and_threads_do_not_meet():
    joint = trees(2, 37, 16, 4, scale=1.0)
    whole = BestFirst(200)(joint)
    assert 0 < whole.optimal.mean() < 1
    joint.n_threads = 3
    threaded = BestFirst(200)(joint)
    for name in ("labels", "log_prob", "upper_bound", "nodes"):
        np.testing.assert_array_equal(getattr(threaded, name), getattr(whole, name))
        part = BestFirst(200)(joint[11:25])
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[11:25])


def test_the_default_of_a_mixture_of_many_labels():
    sure, flat = trees(4, 20, 40, 5, scale=1.0, shared=3.0), trees(4, 6, 40, 5, scale=0.1)
    mode = sure.mode()
    assert mode.optimal.all()
    assert (mode.log_prob >= Greedy()(sure).log_prob - 1e-12).all()
    assert (mode.log_prob > Greedy()(sure).log_prob + 1e-9).any()
    np.testing.assert_array_equal(Auto()(sure).labels, mode.labels)
    assert not flat.mode().optimal.any()
    assert (flat.mode().gap > 0).all()
    found = Auto(budget=100)(flat)
    assert not found.optimal.any()
    assert (found.log_prob >= BestFirst(100)(flat).log_prob - 1e-12).all()
    assert (found.upper_bound <= Greedy()(flat).upper_bound).all()


def test_few_flat_labels_are_enumerated_where_lists_prove_nothing():
    part = ListedJoint.of_table(np.log(np.full((2, 16), 1 / 16)))
    joint = MixtureJoint(
        [0.5, 0.5], [part, ChainJoint.of_functions(lambda j, r, p: np.zeros(len(r)), 2, 4)]
    )
    assert joint.mode().optimal.all()
    assert trees(0, 3, 14, 6, scale=0.05).mode().optimal.all()


@pytest.mark.parametrize("budget", [0, 1.5, True, "many"])
def test_bad_budget(budget):
    with pytest.raises(ValueError, match="budget"):
        BestFirst(budget)


def test_kernels_refuse_trees_that_do_not_match():
    joint = trees(0, 3, 4, 2)
    one, other = joint.components
    log_weights = np.zeros((3, 2))
    out = (np.empty((3, 1, 4), dtype=np.int8), np.empty((3, 1)), np.empty(3), np.empty(3, np.int64))
    for logits in ([one.logits], [one.logits, other.logits[:2]], [one.logits, other.logits[:, :3]]):
        with pytest.raises(ValueError, match=r"tree|parents"):
            native.tree_threshold(
                [np.ascontiguousarray(part) for part in logits],
                [one.parents, other.parents],
                [one.order, other.order],
                log_weights,
                5,
                *out,
                1,
            )
    with pytest.raises(ValueError, match="at least one"):
        native.tree_threshold([], [], [], log_weights, 5, *out, 1)
