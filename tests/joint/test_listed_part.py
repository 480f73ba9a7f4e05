"""Mixtures with components that list their vectors: mode, list and entropy without enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.inference import Auto, BestFirst, Exhaustive, Greedy
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint, MixtureJoint
from labelweave.joint.mixture_lists import ListMerger
from tests.joint.cases import MAKERS, seeds
from tests.reference import table as table_reference

# Components of mixtures; a tuple is a mixture of its own.
SHAPES = (
    ("listed", "independent"),
    ("listed", "tree"),
    ("listed",),
    ("listed", "listed"),
    ("listed", "chain", "independent"),
    ("listed", "table", "listed", "tree"),
    (("listed", "independent"), "chain"),
    (("listed", "forest"), ("listed", "independent")),
)


def mixture(shape, rng, n, L, scale):
    """Return a mixture of random components, with its log-probability computed without it."""
    parts = [
        mixture(part, rng, n, L, scale)
        if isinstance(part, tuple)
        else MAKERS[part](rng, n, L, scale)
        for part in shape
    ]
    weights = rng.dirichlet(np.ones(len(parts)), size=n)

    def log_prob(i, y):
        total = sum(weights[i, k] * np.exp(parts[k][1](i, y)) for k in range(len(parts)))
        return np.log(total) if total > 0 else -np.inf

    return MixtureJoint(weights, [part for part, _ in parts]), log_prob


def tables(joint, log_prob):
    rows = table_reference.from_log_prob(log_prob, joint.n_rows, joint.n_labels)
    return [np.array(sorted(row.values(), reverse=True)) for row in rows]


shapes = st.sampled_from(SHAPES)


@given(shapes, seeds, st.integers(1, 3), st.integers(1, 5), st.sampled_from([0.3, 2.0]))
def test_modes_are_proven(shape, seed, n, L, scale):
    joint, log_prob = mixture(shape, np.random.default_rng(seed), n, L, scale)
    best = [row[0] for row in tables(joint, log_prob)]
    for mode in (joint.mode(), BestFirst(10_000)(joint), Auto()(joint)):
        np.testing.assert_allclose(np.exp(mode.log_prob), best, rtol=1e-9)
        np.testing.assert_array_equal(mode.log_prob, joint.log_prob(mode.labels))
        assert mode.optimal.all()


@given(seeds, st.integers(1, 3), st.integers(2, 6))
def test_a_greedy_vector_of_a_list_is_its_mode(seed, n, L):
    joint, _ = MAKERS["listed"](np.random.default_rng(seed), n, L, 1.0)
    label, vectors = seed % L, joint.vectors
    conditioned = joint.condition({label: int(vectors[0, label])})
    for each in (joint, conditioned):
        greedy = Greedy()(each)
        np.testing.assert_array_equal(greedy.labels, Exhaustive(L)(each).labels)
        assert greedy.optimal.all()


@given(shapes, seeds, st.integers(1, 5), st.integers(1, 9))
def test_the_best_vectors_are_listed_in_order(shape, seed, L, k):
    joint, log_prob = mixture(shape, np.random.default_rng(seed), 2, L, 1.0)
    found = joint.best_vectors(min(k, 2**L))
    for i, row in enumerate(tables(joint, log_prob)):
        expected = row[: found.log_prob.shape[1]]
        np.testing.assert_allclose(np.exp(found.log_prob[i]), expected, rtol=1e-9, atol=1e-13)
        vectors = [tuple(y) for y in found.labels[i] if y[0] >= 0]
        assert len(set(vectors)) == len(vectors)
    assert found.exact.all()


@given(shapes, seeds, st.integers(1, 3), st.integers(1, 5))
def test_entropy(shape, seed, n, L):
    joint, log_prob = mixture(shape, np.random.default_rng(seed), n, L, 2.0)
    assert ListMerger(joint).has_exact_entropy().all()
    for row, entropy in zip(tables(joint, log_prob), joint.entropy(), strict=True):
        possible = row[row > 0]
        assert entropy == pytest.approx(-(possible * np.log(possible)).sum(), abs=1e-9)


@given(shapes, seeds, st.integers(2, 5))
def test_evidence(shape, seed, L):
    """Also where no listed vector agrees with it, so that only the other components are left."""
    rng = np.random.default_rng(seed)
    joint, _ = mixture(shape, rng, 2, L, 2.0)
    evidence = {0: int(rng.integers(2)), L - 1: int(rng.integers(2))}
    possible = joint[np.isfinite(joint.evidence_log_prob(evidence).value)]
    given_evidence = possible.condition(evidence)
    mode, exact = given_evidence.mode(), Exhaustive(L)(given_evidence)
    np.testing.assert_allclose(mode.log_prob, exact.log_prob, atol=1e-9)
    assert mode.optimal.all()


@given(seeds, st.integers(1, 6))
def test_small_budgets_leave_an_honest_gap(seed, budget):
    joint, log_prob = mixture(("listed", "independent"), np.random.default_rng(seed), 3, 5, 0.2)
    best = np.log([row[0] for row in tables(joint, log_prob)])
    mode = BestFirst(10 * budget)(joint)
    assert (mode.log_prob <= best + 1e-12).all()
    assert (mode.upper_bound >= best - 1e-12).all()
    np.testing.assert_allclose(mode.log_prob[mode.optimal], best[mode.optimal], atol=1e-12)
    assert (mode.nodes <= budget + 1).all()


def long_mixture(n=6, L=60, n_vectors=300):
    """Return a list beside independent labels, far beyond enumeration."""
    rng = np.random.default_rng(0)
    vectors = np.unique(rng.random((n_vectors, L)) < 0.2, axis=0).astype(np.int8)
    shares = rng.dirichlet(np.full(len(vectors), 0.05), size=n)
    scores = rng.normal(-3.0, 2.0, size=(n, L))
    listed = ListedJoint(vectors, np.log(np.maximum(shares, 1e-300)))
    return MixtureJoint([0.4, 0.6], [listed, IndependentJoint(scores)])


def test_many_labels():
    joint = long_mixture()
    mode, top = Auto()(joint), joint.top(5)
    assert mode.optimal.all()
    assert top.exact.all()
    np.testing.assert_array_equal(mode.labels, top.labels[:, 0])
    draws = joint.sample(300, random_state=0)
    assert (joint.log_prob(draws) <= mode.log_prob[:, None] + 1e-12).all()
    exact, drawn = joint.estimate("entropy"), joint.estimate("entropy", samples=4000)
    assert exact.exact.all()
    assert (np.abs(exact.value - drawn.value) < 5 * drawn.standard_error + 1e-9).all()


def test_few_listed_vectors_are_looked_at():
    """Those that the other components can not lift above the first."""
    joint = long_mixture()
    assert (BestFirst(10_000)(joint).nodes < 50).all()


def test_rows_do_not_meet():
    joint = long_mixture()
    whole, part = BestFirst(10_000)(joint), BestFirst(10_000)(joint[2:4])
    for name in ("labels", "log_prob", "upper_bound", "nodes"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[2:4])
    np.testing.assert_array_equal(joint[2:4].entropy(), joint.entropy()[2:4])


def test_a_component_that_is_searched_passes_its_gap_on():
    """A flat chain of many labels has no proof, and neither has the mixture."""
    rng = np.random.default_rng(0)
    chain = ChainJoint(0.1 * rng.normal(size=(2, 60)), 0.1 * np.tril(rng.normal(size=(60, 60)), -1))
    listed = ListedJoint(np.zeros((1, 60), dtype=np.int8), np.zeros((2, 1)))
    mode = MixtureJoint([1e-30, 1 - 1e-30], [listed, chain]).mode()
    assert not mode.optimal.any()
    assert MixtureJoint([0.5, 0.5], [listed, chain]).mode().optimal.all()


def test_who_lists_vectors():
    listed = ListedJoint([[0, 1]], [[0.0]])
    independent = IndependentJoint([[0.0, 0.0]])
    inner = MixtureJoint([0.5, 0.5], [listed, independent])
    assert ListMerger(MixtureJoint([0.5, 0.5], [inner, independent])).hold_listed_part()
    without = MixtureJoint([1.0], [independent])
    assert not ListMerger(without).hold_listed_part()
    assert ListMerger(without).listed_part() is None
