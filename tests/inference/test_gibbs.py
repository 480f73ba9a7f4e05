"""Gibbs sampling: three implementations agree, its law is the joint, its answers are safe."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.inference import Exhaustive, Gibbs, Greedy
from labelweave.inference.gibbs import run_general, run_linear
from labelweave.joint import ChainJoint, IndependentJoint
from tests.joint.cases import (
    chain_parameters,
    evidence_for,
    forms,
    label_counts,
    make,
    make_with_oracle,
    row_counts,
    seeds,
)
from tests.reference import gibbs as reference

scales = st.sampled_from([0.0, 0.3, 2.0, 8.0, 100.0])


def known_chain(rng, n, L, scale=2.0, known_share=0.3):
    """Return a chain in which some labels of some rows are clamped."""
    scores, coupling, order = chain_parameters(rng, n, L, scale)
    joint = ChainJoint(scores, coupling, order, row_ids=rng.integers(0, 2**62, n))
    values = rng.integers(0, 2, (n, L)).astype(np.int8)
    joint._known = np.where(rng.random((n, L)) < known_share, values, -1).astype(np.int8)
    return joint


def start_of(joint, rng):
    start = rng.integers(0, 2, (joint.n_rows, joint.n_labels)).astype(np.int8)
    return np.where(joint.known >= 0, joint.known, start).astype(np.int8)


def assert_same_run(one, other, gain_tolerance=1e-7):
    np.testing.assert_array_equal(one.samples, other.samples)
    np.testing.assert_array_equal(one.last, other.last)
    np.testing.assert_array_equal(one.best, other.best)
    np.testing.assert_allclose(one.best_gain, other.best_gain, rtol=1e-9, atol=gain_tolerance)


class TestSameStates:
    @given(seeds, row_counts, label_counts, scales, st.integers(0, 2**32 - 9))
    def test_reference(self, seed, n, L, scale, first_draw):
        rng = np.random.default_rng(seed)
        joint = known_chain(rng, n, L, scale)
        start = start_of(joint, rng)
        run = run_linear(joint, start, seed, first_draw, 4, 3)
        for i in range(n):
            visited = reference.states(
                joint.conditionals.scores[i],
                joint.conditionals.coupling,
                joint.order,
                joint.known[i],
                start[i],
                seed,
                int(joint.row_ids[i]),
                4,
                first_draw,
            )
            np.testing.assert_array_equal(run.samples[i], visited[2 * L - 1 :: L])
            np.testing.assert_array_equal(run.last[i], visited[-1])

    @given(seeds, st.integers(0, 20), st.integers(1, 12), scales)
    def test_both_algorithms(self, seed, n, L, scale):
        rng = np.random.default_rng(seed)
        joint = known_chain(rng, n, L, scale)
        start = start_of(joint, rng)
        arguments = (joint, start, seed, 3, 5, 5)
        assert_same_run(run_linear(*arguments), run_general(*arguments))

    def test_long_chain(self):
        """Products of several blocks of factors, sparse columns, lanes at different labels."""
        rng = np.random.default_rng(0)
        scores, coupling, order = chain_parameters(rng, 11, 150, scale=0.4)
        coupling[rng.random(coupling.shape) < 0.3] = 0
        joint = ChainJoint(scores, coupling, order)
        arguments = (joint, start_of(joint, rng), 7, 0, 2, 2)
        fast = run_linear(*arguments)
        assert (fast.samples[:, 1:] != fast.samples[:, :-1]).sum() > 100
        assert_same_run(fast, run_general(*arguments))

    def test_general_chain(self):
        rng = np.random.default_rng(1)
        scores, coupling, order = chain_parameters(rng, 6, 5)

        def log_odds(label, rows, prefix):
            return scores[rows, label] + prefix @ coupling[label]

        linear, general = (
            ChainJoint(scores, coupling, order),
            ChainJoint.of_functions(log_odds, 6, 5, order),
        )
        strategy = Gibbs(sweeps=9, burn_in=1, restarts=2)
        np.testing.assert_array_equal(strategy.sample(linear), strategy.sample(general))
        np.testing.assert_array_equal(strategy(linear).labels, strategy(general).labels)
        np.testing.assert_allclose(strategy.trace(linear), strategy.trace(general))

    @given(seeds, st.integers(1, 4), st.integers(1, 4))
    def test_best_is_the_best_visited(self, seed, n, L):
        rng = np.random.default_rng(seed)
        joint = known_chain(rng, n, L)
        start = start_of(joint, rng)
        run = run_linear(joint, start, seed, 0, 3, 0)
        for i in range(n):
            chain = (joint.conditionals.scores[i], joint.conditionals.coupling, joint.order)
            row = int(joint.row_ids[i])
            visited = reference.states(*chain, joint.known[i], start[i], seed, row, 3)
            states = [start[i], *visited]
            log_prob = np.array([reference.log_prob(*chain, y) for y in states])
            best = reference.log_prob(*chain, run.best[i])
            assert best == pytest.approx(log_prob.max(), abs=1e-8)
            so_far = np.maximum.accumulate(log_prob)[L::L] - log_prob[0]
            np.testing.assert_allclose(run.best_gain[i], so_far, atol=1e-8)


class TestExtremes:
    @pytest.mark.parametrize("scale", [50.0, 700.0, 1e4])
    @pytest.mark.parametrize("coupling_scale", [1.0, 300.0, 1e4])
    def test_large_scores(self, scale, coupling_scale):
        rng = np.random.default_rng(2)
        scores, coupling, order = chain_parameters(rng, 20, 9, scale=1.0)
        joint = ChainJoint(scores * scale, coupling * coupling_scale, order)
        arguments = (joint, start_of(joint, rng), 3, 0, 4, 4)
        fast = run_linear(*arguments)
        assert_same_run(fast, run_general(*arguments))
        assert np.isfinite(fast.best_gain).all()
        mode = Gibbs()(joint)
        assert np.isfinite(mode.log_prob).all()
        assert (mode.log_prob >= Greedy()(joint).log_prob - 1e-12).all()

    def test_products_that_overflow(self):
        """Many certain labels: the product of their odds leaves the range of a double."""
        rng = np.random.default_rng(3)
        L = 90
        scores = rng.normal(scale=1.0, size=(9, L))
        scores[:, 5:] += 30.0
        coupling = np.tril(rng.normal(scale=0.2, size=(L, L)), -1)
        joint = ChainJoint(scores, coupling)
        arguments = (joint, start_of(joint, rng), 3, 0, 3, 3)
        assert_same_run(run_linear(*arguments), run_general(*arguments))

    def test_ordinary_rows_do_not_depend_on_extreme_neighbours(self):
        rng = np.random.default_rng(4)
        scores, coupling, order = chain_parameters(rng, 16, 8, scale=1.0)
        scores[::2] *= 1e4
        joint = ChainJoint(scores, coupling, order)
        start = start_of(joint, rng)
        whole = run_linear(joint, start, 1, 0, 6, 6)
        for rows in (slice(1, None, 2), slice(0, None, 2), slice(3, 4)):
            part = run_linear(joint[rows], start[rows], 1, 0, 6, 6)
            np.testing.assert_array_equal(part.samples, whole.samples[rows])
            np.testing.assert_array_equal(part.best_gain, whole.best_gain[rows])

    def test_one_label(self):
        joint = ChainJoint(np.array([[0.0], [3.0], [-1e4], [1e4]]), np.zeros((1, 1)))
        strategy = Gibbs(sweeps=4000)
        expected = 1 / (1 + np.exp(-np.array([0.0, 3.0, -700.0, 700.0])))
        assert abs(strategy.sample(joint).mean(axis=(1, 2)) - expected).max() < 0.03
        assert strategy(joint).labels[1:].ravel().tolist() == [1, 0, 1]

    def test_thousand_sparse_labels(self):
        """A Markov chain, whose marginals a recursion knows."""
        rng = np.random.default_rng(5)
        L = 1000
        follows = rng.normal(scale=1.5, size=L - 1)
        coupling = np.zeros((L, L))
        coupling[np.arange(1, L), np.arange(L - 1)] = follows
        joint = ChainJoint(rng.normal(scale=2.0, size=(3, L)), coupling)
        mode, greedy = Gibbs()(joint), Greedy()(joint)
        assert (mode.log_prob >= greedy.log_prob - 1e-12).all()
        np.testing.assert_allclose(mode.log_prob, joint.log_prob(mode.labels))

        def sigmoid(z):
            return 1 / (1 + np.exp(-z))

        marginal = [sigmoid(joint.conditionals.scores[:, 0])]
        for j in range(1, L):
            before, z = marginal[-1], joint.conditionals.scores[:, j]
            marginal.append(before * sigmoid(z + follows[j - 1]) + (1 - before) * sigmoid(z))
        mean = Gibbs(sweeps=1000, burn_in=20).sample(joint).mean(axis=1)
        assert abs(mean - np.transpose(marginal)).mean() < 0.02
        assert abs(mean - np.transpose(marginal)).max() < 0.12

    def test_equal_scores_without_couplings(self):
        """All vectors are equally probable: the first one visited stays, rounding does not win."""
        joint = ChainJoint(np.zeros((5, 70)), np.zeros((70, 70)))
        run = run_linear(joint, start_of(joint, np.random.default_rng(6)), 0, 0, 50, 50)
        np.testing.assert_allclose(run.best_gain, 0)
        assert abs(run.samples.mean() - 0.5) < 0.02
        np.testing.assert_array_equal(Gibbs()(joint).labels, Greedy()(joint).labels)

    def test_no_rows_and_no_sweeps(self):
        joint = ChainJoint(np.zeros((0, 3)), np.zeros((3, 3)))
        assert Gibbs()(joint).labels.shape == (0, 3)
        assert Gibbs().sample(joint).shape == (0, 20, 3)
        assert Gibbs().estimate(joint, "pairwise").value.shape == (0, 3, 3)
        some = ChainJoint(np.ones((2, 3)), np.zeros((3, 3)))
        assert Gibbs(sweeps=0).trace(some).shape == (2, 1)
        assert Gibbs(sweeps=0)(some).labels.all()


class TestLaw:
    @pytest.mark.parametrize(
        "form", ["chain", "general", "table", pytest.param("mixture", marks=pytest.mark.slow)]
    )
    def test_long_run_frequencies_are_the_posterior(self, form):
        """With evidence in the middle of the vector, against Bayes' rule on the full table."""
        joint, rows = make_with_oracle(form, 3, 3, 4, scale=1.0)
        known, evidence = evidence_for(joint, rows, 1)
        posterior = joint.condition(evidence)
        sweeps = 20000 if form == "chain" else 800
        samples = Gibbs(sweeps=sweeps, burn_in=20, restarts=2).sample(posterior)
        weights = 2 ** np.arange(4)
        for i, table in enumerate(rows):
            agrees = {
                y: p
                for y, p in table.items()
                if all(k in (-1, v) for k, v in zip(known[i], y, strict=True))
            }
            counts = np.bincount(samples[i] @ weights, minlength=16) / samples.shape[1]
            total = sum(agrees.values())
            expected = np.zeros(16)
            for y, p in agrees.items():
                expected[int(np.array(y) @ weights)] = p / total
            assert abs(counts - expected).max() < (0.02 if form == "chain" else 0.07)

    @pytest.mark.parametrize("quantity", ["marginals", "pairwise", "cardinality", "entropy"])
    def test_estimates(self, quantity):
        joint = ChainJoint(*chain_parameters(np.random.default_rng(8), 6, 5, scale=0.8))
        posterior = joint.condition({2: np.array([0, 1, -1, 0, 1, -1])})
        found = Gibbs(sweeps=3000, burn_in=30, restarts=2).estimate(posterior, quantity)
        exact = posterior.estimate(quantity)
        assert exact.exact.all()
        assert not found.exact.any()
        assert found.value.shape == exact.value.shape
        assert (abs(found.value - exact.value) <= 5 * found.standard_error + 1e-12).all()
        assert found.standard_error.max() < 0.1

    def test_errors_know_that_states_are_alike(self):
        """Two labels that hold each other: few flips, so far larger errors than of free draws."""
        joint = ChainJoint(np.array([[0.0, -3.5]]), np.array([[0.0, 0.0], [7.0, 0.0]]))
        found = Gibbs(sweeps=4000).estimate(joint, "marginals")
        independent = np.sqrt(0.25 / 4000)
        assert (found.standard_error > 2 * independent).all()
        assert (abs(found.value - joint.marginals()) < 4 * found.standard_error).all()


class TestAnswer:
    @given(forms, seeds, row_counts, label_counts)
    def test_between_greedy_and_the_mode(self, form, seed, n, L):
        joint, _ = make(form, seed, n, L)
        greedy, exact = Greedy()(joint), Exhaustive()(joint)
        for strategy in (Gibbs(sweeps=3), Gibbs(sweeps=2, restarts=2, start="random")):
            mode = strategy(joint)
            assert (mode.log_prob >= greedy.log_prob - 1e-12).all()
            assert (mode.log_prob <= exact.log_prob + 1e-9).all()
            assert (mode.upper_bound >= exact.log_prob - 1e-9).all()
            np.testing.assert_allclose(mode.log_prob, joint.log_prob(mode.labels))

    @settings(max_examples=20)
    @given(seeds)
    def test_finds_the_mode_of_small_chains_with_evidence(self, seed):
        joint, rows = make_with_oracle("chain", seed, 4, 4, scale=1.0)
        known, evidence = evidence_for(joint, rows, seed)
        posterior = joint.condition(evidence)
        mode = Gibbs(sweeps=400)(posterior)
        np.testing.assert_allclose(mode.log_prob, Exhaustive()(posterior).log_prob, atol=1e-9)
        assert ((known < 0) | (mode.labels == known)).all()

    def test_improves_on_greedy(self):
        joint = ChainJoint(*chain_parameters(np.random.default_rng(0), 300, 6))
        greedy, exact = Greedy()(joint), Exhaustive()(joint)
        missed = exact.log_prob > greedy.log_prob + 1e-9
        found = abs(Gibbs()(joint).log_prob - exact.log_prob) < 1e-9
        assert missed.sum() > 30
        assert found[missed].mean() > 0.8

    def test_evidence_that_greedy_contradicts(self):
        """Greedy makes label 1 certain to be 0, but it is known to be 1: leave that state."""

        def log_odds(label, rows, prefix):
            certain = np.where(prefix[:, 0] == 1, -np.inf, np.inf)
            return certain if label == 1 else np.full(len(rows), 1.0)

        joint = ChainJoint.of_functions(log_odds, n_rows=2, n_labels=2).condition({1: 1})
        mode = Gibbs()(joint)
        assert mode.labels.tolist() == [[0, 1], [0, 1]]
        np.testing.assert_allclose(mode.log_prob, 0)

    def test_trace(self):
        joint = ChainJoint(*chain_parameters(np.random.default_rng(1), 30, 8))
        strategy = Gibbs(sweeps=6, burn_in=2, restarts=3, start="random")
        trace = strategy.trace(joint)
        assert trace.shape == (30, 1 + 3 * 8)
        assert (np.diff(trace, axis=1) >= 0).all()
        np.testing.assert_allclose(trace[:, 0], Greedy()(joint).log_prob)
        np.testing.assert_allclose(trace[:, -1], strategy(joint).log_prob, atol=1e-8)
        assert (trace[:, -1] > trace[:, 0]).any()

    def test_more_sweeps_continue_the_same_walk(self):
        joint = ChainJoint(*chain_parameters(np.random.default_rng(2), 10, 6))
        long = Gibbs(sweeps=12).sample(joint)
        np.testing.assert_array_equal(Gibbs(sweeps=5).sample(joint), long[:, :5])
        np.testing.assert_array_equal(Gibbs(sweeps=5, burn_in=7).sample(joint), long[:, 7:])
        np.testing.assert_array_equal(Gibbs(sweeps=12, keep="last")(joint).labels, long[:, -1])

    def test_restarts_and_seeds_differ(self):
        joint = ChainJoint(*chain_parameters(np.random.default_rng(3), 10, 8, scale=0.5))
        samples = Gibbs(sweeps=5, restarts=2).sample(joint)
        assert (samples[:, :5] != samples[:, 5:]).any()
        assert (samples[:, :5] != Gibbs(sweeps=5, random_state=1).sample(joint)).any()
        random = Gibbs(sweeps=0, restarts=2, start="random", keep="last")(joint).labels
        assert (random != Greedy()(joint).labels).any()
        generator = np.random.default_rng(0)
        assert (
            Gibbs(random_state=generator).sample(joint)
            != Gibbs(random_state=generator).sample(joint)
        ).any()


@pytest.mark.parametrize("start", ["greedy", "random"])
def test_threads_and_batches_do_not_matter(start):
    rng = np.random.default_rng(9)
    scores, coupling, order = chain_parameters(rng, 43, 17, scale=0.7)
    joint = ChainJoint(scores, coupling, order)
    strategy = Gibbs(sweeps=7, restarts=2, start=start)
    samples, trace, mode = strategy.sample(joint), strategy.trace(joint), strategy(joint)
    for n_threads in (2, 3, 0):
        other = ChainJoint(scores, coupling, order, n_threads=n_threads)
        np.testing.assert_array_equal(strategy.sample(other), samples)
        np.testing.assert_array_equal(strategy.trace(other), trace)
    rows = rng.permutation(43)
    for part in (rows[:1], rows[1:12], rows[12:]):
        np.testing.assert_array_equal(strategy.sample(joint[part]), samples[part])
        np.testing.assert_array_equal(strategy.trace(joint[part]), trace[part])
        np.testing.assert_array_equal(strategy(joint[part]).labels, mode.labels[part])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweeps": -1}, "sweeps must be a whole number of at least 0"),
        ({"sweeps": 2.5}, "sweeps"),
        ({"burn_in": -1}, "burn_in"),
        ({"restarts": 0}, "restarts must be a whole number of at least 1"),
        ({"sweeps": 2**31, "restarts": 2}, "2\\^32"),
        ({"start": "zero"}, "start must be 'greedy' or 'random'; got 'zero'"),
        ({"keep": "all"}, "keep"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        Gibbs(**options)


def test_bad_questions_are_named():
    joint = IndependentJoint([[1.0, -1.0]])
    with pytest.raises(ValueError, match="quantity must be 'marginals', "):
        Gibbs().estimate(joint, "variance")
    with pytest.raises(ValueError, match="sweeps must be at least 2"):
        Gibbs(sweeps=1).estimate(joint, "marginals")
    with pytest.raises(ValueError, match="random_state"):
        Gibbs(random_state=-1)(joint)


def test_strategy_is_a_value():
    assert Gibbs() == Gibbs(sweeps=20)
    assert Gibbs(sweeps=3) != Gibbs()
    assert dataclasses.replace(Gibbs(), sweeps=70).sweeps == 70
    assert "sweeps=20" in repr(Gibbs())


class TestRandomScan:
    def test_states_by_hand(self):
        """Labels drawn for a sweep, each resampled from its conditional in the whole table."""
        rng = np.random.default_rng(4)
        joint = known_chain(rng, 7, 4)
        start = start_of(joint, rng)
        run = run_general(joint, start, 5, 2, 3, 3, random_scan=True)
        uniforms = np.empty((7, 4))
        y = start.copy()
        for sweep in range(3):
            native.fill_uniform(5, joint.row_ids, 2 + sweep, uniforms, 1)
            drawn = np.random.default_rng([5, 2 + sweep]).integers(4, size=4)
            for step, label in enumerate(joint.order[drawn]):
                both = np.stack([y, y])
                both[0, :, label], both[1, :, label] = 0, 1
                z = np.subtract(*joint.conditionals.log_joint(both[::-1].transpose(1, 0, 2)).T)
                value = (uniforms[:, step] < 1 / (1 + np.exp(-z))).astype(np.int8)
                y[:, label] = np.where(joint.known[:, label] < 0, value, y[:, label])
            np.testing.assert_array_equal(run.samples[:, sweep], y)

    def test_it_samples_the_distribution(self):
        rng = np.random.default_rng(0)
        joint = ChainJoint(*chain_parameters(rng, 3, 4))
        found = Gibbs(sweeps=1500, burn_in=50, scan="random").estimate(joint, "marginals")
        error = np.maximum(found.standard_error, 1e-3)
        assert (np.abs(found.value - joint.marginals()) < 5 * error).all()

    def test_batches_and_seeds(self):
        joint = ChainJoint(*chain_parameters(np.random.default_rng(1), 12, 5))
        strategy = Gibbs(sweeps=4, scan="random", random_state=3)
        labels = strategy.sample(joint)
        np.testing.assert_array_equal(strategy.sample(joint[4:9]), labels[4:9])
        assert (dataclasses.replace(strategy, random_state=4).sample(joint) != labels).any()
        assert (strategy(joint).log_prob >= Greedy()(joint).log_prob).all()
        with pytest.raises(ValueError, match="scan must be 'systematic' or 'random'"):
            Gibbs(scan="zigzag")
