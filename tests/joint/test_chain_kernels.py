"""The compiled chain kernels against plain Python, and against bad arguments."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave._core import native
from tests.joint.cases import chain_parameters, label_counts, row_counts, seeds
from tests.reference import chain as reference
from tests.reference import philox


def search(scores, coupling, order, labels, n_threads=1, budget=2**63, max_open=2**20):
    """Call the native search without any limit; fills labels."""
    n = len(scores)
    log_prob, bound, nodes = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
    limits = (budget, 0.0, np.inf, np.full(n, -np.inf), np.zeros(n))
    native.chain_search(scores, coupling, order, *limits, labels, log_prob, bound, nodes, n_threads)
    return log_prob, bound, nodes


def some_known(rng, n, L):
    return np.where(rng.random((n, L)) < 0.4, rng.integers(0, 2, (n, L)), -1).astype(np.int8)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2**32 - 1))
def test_uniform_numbers(seed, row, draw):
    out = np.empty((1, 5))
    native.fill_uniform(seed, np.array([row], dtype=np.int64), draw, out)
    np.testing.assert_array_equal(out[0], [philox.uniform(seed, row, draw, j) for j in range(5)])


@given(seeds, row_counts, label_counts, st.integers(1, 3))
def test_log_prob(seed, n, L, n_threads):
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, n, L)
    labels = rng.integers(0, 2, (n, L)).astype(np.int8)
    out = np.empty(n)
    native.chain_log_prob(scores, coupling, order, labels, out, n_threads)
    expected = [reference.log_prob(scores[i], coupling, order, labels[i]) for i in range(n)]
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    native.conditional_log_prob(scores, coupling, labels, out, n_threads)
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_conditional_log_prob_of_certain_labels():
    scores = np.array([[np.inf, -np.inf, 800.0, -800.0, 40.0]] * 2)
    labels = np.array([[1, 0, 1, 0, 1], [1, 0, 0, 0, 1]], dtype=np.int8)
    out = np.empty(2)
    native.conditional_log_prob(scores, np.zeros((5, 5)), labels, out)
    np.testing.assert_allclose(out, [-np.exp(-40.0), -800.0], rtol=1e-12)
    native.conditional_log_prob(scores, np.zeros((5, 5)), 1 - labels, out)
    assert np.isneginf(out).all()


@given(seeds, st.integers(0, 19), label_counts, st.integers(1, 3))
def test_cardinality(seed, n, L, n_threads):
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, n, L)
    scores[rng.random((n, L)) < 0.2] *= 300.0  # certain, or nearly so
    expected, expected_by_label = np.zeros((n, L + 1)), np.zeros((n, L, L + 1))
    for y in itertools.product((0, 1), repeat=L):
        for i in range(n):
            probability = np.exp(reference.log_prob(scores[i], coupling, order, np.array(y)))
            expected[i, sum(y)] += probability
            expected_by_label[i, np.array(y) == 1, sum(y)] += probability
    out, by_label = np.empty((n, L + 1)), np.empty((n, L, L + 1))
    native.chain_cardinality(scores, coupling, order, out, n_threads)
    native.chain_cardinality_by_label(scores, coupling, order, by_label, n_threads)
    np.testing.assert_allclose(out, expected, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(by_label, expected_by_label, rtol=1e-11, atol=1e-300)


def test_cardinality_checks_its_arguments():
    scores, coupling, order = np.zeros((2, 3)), np.zeros((3, 3)), np.arange(3)
    with pytest.raises(ValueError, match="order must name all labels"):
        native.chain_cardinality(scores, coupling, order[:2], np.empty((2, 4)))
    with pytest.raises(ValueError, match="out must be rows x"):
        native.chain_cardinality(scores, coupling, order, np.empty((2, 3)))
    with pytest.raises(ValueError, match="out must be rows x labels x"):
        native.chain_cardinality_by_label(scores, coupling, order, np.empty((2, 3, 3)))
    many = (np.zeros((2, 25)), np.zeros((25, 25)), np.arange(25))
    with pytest.raises(ValueError, match="1 to 24 labels"):
        native.chain_cardinality(*many, np.empty((2, 26)))


@given(seeds, row_counts, label_counts, st.integers(1, 3))
def test_greedy_and_mode(seed, n, L, n_threads):
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, n, L)
    known = some_known(rng, n, L)
    greedy, mode = known.copy(), known.copy()
    greedy_log_prob, bound = np.empty(n), np.empty(n)
    native.chain_greedy(scores, coupling, order, greedy, greedy_log_prob, bound, n_threads)
    mode_log_prob, mode_bound, _ = search(scores, coupling, order, mode, n_threads)
    np.testing.assert_array_equal(mode_bound, mode_log_prob)
    for i in range(n):
        chain = (scores[i], coupling, order)
        np.testing.assert_array_equal(greedy[i], reference.greedy(*chain, known[i]))
        np.testing.assert_allclose(greedy_log_prob[i], reference.log_prob(*chain, greedy[i]))
        best = reference.mode(*chain, known[i])
        np.testing.assert_allclose(mode_log_prob[i], best, rtol=1e-12)
        np.testing.assert_allclose(reference.log_prob(*chain, mode[i]), best, rtol=1e-12)
        assert ((known[i] < 0) | (mode[i] == known[i])).all()
        assert bound[i] >= best - 1e-12


@given(seeds, row_counts, label_counts, st.integers(1, 3))
def test_table(seed, n, L, n_threads):
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, n, L)
    known = some_known(rng, n, L)
    free = np.flatnonzero((known < 0).any(axis=0))
    slot = np.full(L, -1)
    slot[free] = np.arange(len(free))
    out = np.empty((n, 2 ** len(free)))
    native.chain_table(scores, coupling, order, known, slot, out, n_threads)
    for i in range(n):
        expected = reference.table(scores[i], coupling, order, known[i], free)
        np.testing.assert_allclose(out[i], expected, rtol=1e-12)


def test_table_sums_out_labels_left_out_of_the_order():
    rng = np.random.default_rng(0)
    scores, coupling, order = chain_parameters(rng, 3, 5)
    known = np.full((3, 5), -1, dtype=np.int8)
    whole, part = np.empty((3, 32)), np.empty((3, 8))
    slot = np.empty(5, dtype=np.int64)
    slot[order] = np.arange(5)
    native.chain_table(scores, coupling, order, known, slot, whole)
    native.chain_table(scores, coupling, order[:3], known, slot, part)
    np.testing.assert_allclose(np.exp(part), np.exp(whole).reshape(3, 4, 8).sum(axis=1))


@given(seeds, st.integers(0, 3), label_counts, st.integers(1, 3))
def test_sample(seed, n, L, n_threads):
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, n, L)
    given_labels = np.stack([some_known(rng, n, L) for _ in range(4)], axis=1)
    rows = rng.integers(0, 2**62, n)
    labels, weight = given_labels.copy(), np.empty((n, 4))
    native.chain_sample(scores, coupling, order, rows, seed, labels, weight, n_threads)
    for i in range(n):
        for draw in range(4):
            y, log_weight = reference.sample(
                scores[i], coupling, order, given_labels[i, draw], seed, int(rows[i]), draw
            )
            np.testing.assert_array_equal(labels[i, draw], y)
            np.testing.assert_allclose(weight[i, draw], log_weight, rtol=1e-12, atol=1e-15)


def test_search_of_a_hard_chain_is_exact():
    """Strong couplings of both signs around undecided scores leave the bound little to cut."""
    rng = np.random.default_rng(1)
    scores, coupling, order = chain_parameters(rng, 8, 12, scale=0.7)
    known = np.full((8, 12), -1, dtype=np.int8)
    table = np.empty((8, 2**12))
    native.chain_table(scores, coupling, order, known, np.arange(12), table)
    log_prob, _, _ = search(scores, coupling, order, known)
    np.testing.assert_allclose(log_prob, table.max(axis=1), rtol=1e-12)


@pytest.mark.parametrize("max_open", [0, 1, 7])
@pytest.mark.parametrize("budget", [60, 2**63])
def test_search_goes_depth_first_when_too_much_waits(max_open, budget):
    rng = np.random.default_rng(2)
    scores, coupling, order = chain_parameters(rng, 8, 12, scale=0.4)
    exact = np.full((8, 12), -1, dtype=np.int8)
    best, _, nodes = search(scores, coupling, order, exact)
    assert (nodes > 60).any()
    labels = np.full((8, 12), -1, dtype=np.int8)
    log_prob, bound, _ = search(scores, coupling, order, labels, budget=budget, max_open=max_open)
    assert (bound >= best - 1e-12).all()
    if budget > 60:
        np.testing.assert_array_equal(labels, exact)
        np.testing.assert_array_equal(bound, log_prob)


class TestBadArguments:
    """A wrong size must end in an exception, never in memory that is not ours."""

    scores = np.zeros((2, 3))
    coupling = np.zeros((3, 3))
    order = np.arange(3)
    labels = np.full((2, 3), -1, dtype=np.int8)

    @pytest.mark.parametrize("order", [[0, 1, 3], [-1, 0, 1], [0, 0, 1], [0, 1, 2, 0]])
    def test_order(self, order):
        with pytest.raises(ValueError, match="order"):
            native.chain_log_prob(
                self.scores, self.coupling, np.array(order), self.labels, np.empty(2)
            )

    def test_coupling(self):
        with pytest.raises(ValueError, match="coupling"):
            native.chain_log_prob(
                self.scores, np.zeros((3, 2)), self.order, self.labels, np.empty(2)
            )
        with pytest.raises(ValueError, match="coupling"):
            native.conditional_log_prob(self.scores, np.zeros((3, 2)), self.labels, np.empty(2))

    @pytest.mark.parametrize("shape", [(1, 3), (2, 2)])
    def test_labels(self, shape):
        labels = np.zeros(shape, dtype=np.int8)
        with pytest.raises(ValueError, match="labels"):
            native.conditional_log_prob(self.scores, self.coupling, labels, np.empty(2))
        with pytest.raises(ValueError, match="labels"):
            search(self.scores, self.coupling, self.order, labels)
        with pytest.raises(ValueError, match="labels"):
            native.chain_beam(self.scores, self.coupling, self.order, 2, labels, np.empty(2))

    def test_outputs_too_short(self):
        with pytest.raises(ValueError, match="log_prob"):
            native.chain_log_prob(self.scores, self.coupling, self.order, self.labels, np.empty(1))
        with pytest.raises(ValueError, match="log_prob"):
            native.conditional_log_prob(self.scores, self.coupling, self.labels, np.empty(1))
        with pytest.raises(ValueError, match="upper_bound"):
            native.chain_beam(self.scores, self.coupling, self.order, 2, self.labels, np.empty(1))
        with pytest.raises(ValueError, match="upper_bound"):
            native.chain_greedy(
                self.scores, self.coupling, self.order, self.labels, np.empty(2), np.empty(1)
            )

    def test_outputs_that_would_be_copied(self):
        strided = np.empty(4)[::2]
        with pytest.raises(TypeError):
            native.chain_beam(self.scores, self.coupling, self.order, 2, self.labels, strided)

    @pytest.mark.parametrize("short", range(5))
    def test_search_shapes(self, short):
        sizes = [2] * 5
        sizes[short] = 1
        floor, mass, log_prob, bound = (np.zeros(size) for size in sizes[:4])
        nodes = np.zeros(sizes[4], dtype=np.int64)
        chain = (self.scores, self.coupling, self.order)
        with pytest.raises(ValueError, match="one entry for each row"):
            native.chain_search(
                *chain, 9, 0.0, 9.0, floor, mass, self.labels.copy(), log_prob, bound, nodes
            )

    @pytest.mark.parametrize("width", [0, 2**30])
    def test_beam_width(self, width):
        with pytest.raises(ValueError, match="width"):
            native.chain_beam(
                self.scores, self.coupling, self.order, width, self.labels.copy(), np.empty(2)
            )

    @pytest.mark.parametrize(
        ("slot", "columns", "message"),
        [
            ([0, 1, 2], 7, "power of two"),
            ([0, 1, 2], 4, "slot"),
            ([0, 1, 1], 8, "slot"),
            ([0, 1, -1], 4, "known"),
            ([0, 1], 8, "slot"),
        ],
    )
    def test_table_slots(self, slot, columns, message):
        with pytest.raises(ValueError, match=message):
            native.chain_table(
                self.scores,
                self.coupling,
                self.order,
                self.labels,
                np.array(slot),
                np.empty((2, columns)),
            )

    def test_sample_shapes(self):
        draws = np.full((2, 4, 3), -1, dtype=np.int8)
        for rows, weight in ((3, (2, 4)), (2, (2, 3))):
            with pytest.raises(ValueError, match=r"rows|log_weight"):
                native.chain_sample(
                    self.scores,
                    self.coupling,
                    self.order,
                    np.arange(rows),
                    0,
                    draws,
                    np.empty(weight),
                )
