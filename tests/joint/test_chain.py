"""Chains: extreme scores, many labels, evidence that cannot be enumerated, bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from labelweave.inference import Auto, Exhaustive, Greedy
from labelweave.inference.search import greedy_path
from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint
from labelweave.joint.function_chain import beam_search
from labelweave.joint.quantities import normalised_weights
from tests.joint.cases import chain_parameters, seeds
from tests.reference.tree import poisson_binomial


def as_general(joint):
    """Build the same chain through the path for arbitrary classifiers."""

    def log_odds(label, rows, prefix):
        return joint.conditionals.scores[rows, label] + prefix @ joint.conditionals.coupling[label]

    return ChainJoint.of_functions(log_odds, joint.n_rows, joint.n_labels, joint.order)


def counting_chain(n=4, causes=20, seed=0):
    """Many independent causes and one last label that counts them: the truth is a short sum."""
    rng = np.random.default_rng(seed)
    L = causes + 1
    scores = rng.normal(scale=0.5, size=(n, L))
    scores[:, -1] = -0.3 * causes / 2
    coupling = np.zeros((L, L))
    coupling[-1, :-1] = 0.3
    return ChainJoint(scores, coupling)


def counting_posterior(joint):
    """P(last = 1) and P(cause j = 1 | last = 1) of the counting chain."""
    causes = joint.n_labels - 1
    effect = expit(joint.conditionals.scores[:, -1:] + 0.3 * np.arange(causes + 1))
    p = expit(joint.conditionals.scores[:, :-1])
    evidence = (poisson_binomial(p) * effect).sum(axis=1)
    posterior = np.empty_like(p)
    for j in range(causes):
        others = poisson_binomial(np.delete(p, j, axis=1))
        posterior[:, j] = p[:, j] * (others * effect[:, 1:]).sum(axis=1) / evidence
    return evidence, posterior


@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_extreme_scores_stay_finite(scale):
    rng = np.random.default_rng(0)
    scores, coupling, order = chain_parameters(rng, 6, 5)
    chain = ChainJoint(scale * np.sign(scores), scale * np.sign(coupling), order)
    for joint in (chain, as_general(chain)):
        vectors = joint.top(32)
        assert np.isfinite(vectors.log_prob).all()
        for quantity in ("marginals", "pairwise", "cardinality", "entropy"):
            assert np.isfinite(joint.estimate(quantity).value).all()
        assert (joint.entropy() >= 0).all()
        np.testing.assert_allclose(joint.cardinality().sum(axis=1), 1)
        mode = joint.mode()
        np.testing.assert_allclose(mode.log_prob, vectors.log_prob[:, 0], atol=1e-300)
        # Evidence against everything the model believes in still has an answer.
        unlikely = {0: 1 - mode.labels[:, 0], 3: 1 - mode.labels[:, 3]}
        posterior = joint.condition(unlikely)
        np.testing.assert_allclose(posterior.cardinality().sum(axis=1), 1)
        assert np.isfinite(posterior.mode().log_prob).all()
        assert (posterior.sample(3, 0)[:, :, 0] == unlikely[0][:, None]).all()


def test_general_chain_agrees_with_linear_chain():
    rng = np.random.default_rng(2)
    chain = ChainJoint(*chain_parameters(rng, 5, 6))
    general = as_general(chain)
    evidence = {1: 1, 4: np.array([0, 1, -1, -1, 0])}
    for one, other in ((chain, general), (chain.condition(evidence), general.condition(evidence))):
        np.testing.assert_allclose(one.marginals(), other.marginals())
        np.testing.assert_array_equal(one.sample(50, 3), other.sample(50, 3))
        np.testing.assert_array_equal(one.mode().labels, other.mode().labels)
        np.testing.assert_array_equal(one.mode(Greedy()).labels, other.mode(Greedy()).labels)
    # Positions follow the rows that are picked.
    np.testing.assert_allclose(general[[3, 1]].marginals(), chain.marginals()[[3, 1]])


def test_general_chain_shows_only_earlier_labels():
    order = np.array([2, 0, 1])
    seen = []

    def log_odds(label, rows, prefix):
        before = order[: list(order).index(label)]
        later = np.setdiff1d(np.arange(3), before)
        seen.append(label)
        assert prefix.dtype == np.int8
        assert (prefix[:, later] == 0).all()
        return np.full(len(rows), 0.3)

    joint = ChainJoint.of_functions(log_odds, n_rows=2, n_labels=3, order=order)
    joint.sample(4, 0), joint.marginals(), joint.mode(), joint.mode(Greedy())
    joint.log_prob(np.ones((2, 3)))
    joint.condition({1: 1}).sample(4, 0)
    assert set(seen) == {0, 1, 2}


def test_general_chain_with_certain_conditionals():
    def log_odds(label, rows, prefix):
        if label == 0:
            return np.zeros(len(rows))
        return np.where(prefix[:, 0] == 1, np.inf, -np.inf)

    joint = ChainJoint.of_functions(log_odds, n_rows=1, n_labels=2)
    np.testing.assert_allclose(joint.cardinality(), [[0.5, 0, 0.5]])
    np.testing.assert_allclose(joint.entropy(), np.log(2))
    with pytest.raises(ValueError, match="probability zero"):
        joint.condition({0: 1, 1: 0})


def test_many_labels_are_estimated_and_say_so():
    """Two blocks that do not see each other: each alone is exact, together they are sampled."""
    rng = np.random.default_rng(4)
    scores, coupling, order = chain_parameters(rng, 6, 12, scale=1.0)
    half = ChainJoint(scores, coupling, order)
    zero = np.zeros((12, 12))
    whole = ChainJoint(
        np.hstack([scores, scores]),
        np.block([[coupling, zero], [zero, coupling]]),
        np.concatenate([order, order + 12]),
    )
    truth = {"marginals": np.hstack([half.marginals()] * 2), "entropy": 2 * half.entropy()}
    for quantity, expected in truth.items():
        estimate = whole.estimate(quantity)
        assert not estimate.exact.any()
        assert (np.abs(estimate.value - expected) <= 5 * estimate.standard_error).all()
        np.testing.assert_array_equal(getattr(whole, quantity)(), estimate.value)
    assert whole.estimate("marginals").standard_error.max() < 0.01
    # Knowing one block makes the other exact, in the same batch as rows that know nothing.
    evidence = {j: np.array([1, 1, 1, -1, -1, -1]) for j in range(12)}
    mixed = whole.condition(evidence).estimate("marginals")
    np.testing.assert_array_equal(mixed.exact, [True] * 3 + [False] * 3)
    np.testing.assert_allclose(mixed.value[:3, 12:], half.marginals()[:3])
    np.testing.assert_array_equal(mixed.value[3:], whole.marginals()[3:])


def test_evidence_with_few_ancestors_is_exact_in_long_chains():
    """A tree of 60 labels: only the path to the root has to be summed over."""
    rng = np.random.default_rng(5)
    L, n = 60, 4
    coupling = np.zeros((L, L))
    coupling[np.arange(1, L), (np.arange(1, L) - 1) // 8] = rng.normal(scale=2, size=L - 1)
    scores = rng.normal(size=(n, L))
    joint = ChainJoint(scores, coupling)
    evidence = {59: 1, 40: 0}
    found = joint.evidence_log_prob(evidence)
    assert found.exact.all()
    path = np.array([0, (40 - 1) // 8, (59 - 1) // 8, 40, 59])
    small = ChainJoint(scores[:, path], coupling[np.ix_(path, path)])
    np.testing.assert_allclose(found.value, small.evidence_log_prob({4: 1, 3: 0}).value)
    estimate = joint.condition(evidence).estimate("marginals")
    truth = small.condition({4: 1, 3: 0}).marginals()
    assert (np.abs(estimate.value[:, path] - truth) <= 5 * estimate.standard_error[:, path]).all()


def test_evidence_with_many_ancestors_is_weighted():
    joint = counting_chain()
    evidence, posterior = counting_posterior(joint)
    found = joint.evidence_log_prob({20: 1})
    assert not found.exact.any()
    assert (np.abs(found.value - np.log(evidence)) <= 4 * found.standard_error).all()
    assert (found.standard_error > 0).all()
    assert (found.standard_error < 0.1).all()
    conditioned = joint.condition({20: 1})
    estimate = conditioned.estimate("marginals", samples=4000)
    error = np.abs(estimate.value[:, :-1] - posterior)
    assert (error <= 4.5 * estimate.standard_error[:, :-1]).all()
    draws = conditioned.sample(4000, random_state=1)
    assert (draws[:, :, 20] == 1).all()
    # Draws come from a pool of 1024 weighted ones, which limits how well they can do.
    np.testing.assert_allclose(draws[:, :, :-1].mean(axis=1), posterior, atol=0.08)
    batch = conditioned.sample(5, 3)
    np.testing.assert_array_equal(conditioned[[2]].sample(5, 3)[0], batch[2])
    mode = conditioned.mode(Greedy())
    assert (mode.labels[:, 20] == 1).all()
    assert (mode.gap >= 0).all()


def test_labels_that_the_evidence_does_not_touch_are_drawn_as_before():
    counting = counting_chain()
    n, L = counting.conditionals.scores.shape
    coupling = np.zeros((L + 1, L + 1))
    coupling[:L, :L] = counting.conditionals.coupling
    joint = ChainJoint(np.hstack([counting.conditionals.scores, np.zeros((n, 1))]), coupling)
    conditioned = joint.condition({20: 1})
    np.testing.assert_array_equal(
        conditioned.sample(50, 4)[:, :, 21], joint.sample(50, 4)[:, :, 21]
    )


def test_long_chains_rank_by_search_and_bound_what_they_miss():
    rng = np.random.default_rng(6)
    scores, coupling, order = chain_parameters(rng, 5, 8, scale=1.0)
    joint = ChainJoint(scores, coupling, order)
    exact = joint.top(256)
    for width in (1, 4, 256):
        found = beam_search(
            joint.conditionals.log_odds_of, order, joint.known, k=4, width=max(width, 4)
        )
        for i in range(5):
            listed = {tuple(y) for y in found.labels[i]}
            missed = [
                p
                for y, p in zip(exact.labels[i], exact.log_prob[i], strict=True)
                if tuple(y) not in listed
            ]
            assert max(missed) <= found.upper_bound[i] + 1e-12
        np.testing.assert_allclose(joint._log_prob(found.labels), found.log_prob, rtol=1e-10)
    assert found.exact.all()
    np.testing.assert_allclose(found.log_prob, exact.log_prob[:, :4])


def test_top_of_a_long_chain_finds_the_mode():
    rng = np.random.default_rng(7)
    scores, coupling, order = chain_parameters(rng, 5, 18, scale=1.0)
    joint = ChainJoint(scores, coupling, order)
    top = joint.top(3)
    mode = joint.mode()
    assert mode.optimal.all()
    # Here the beam holds the mode; where it would not, the bound has to reach it.
    np.testing.assert_allclose(top.log_prob[:, 0], mode.log_prob)
    assert (np.diff(top.log_prob, axis=1) <= 0).all()
    assert len(np.unique(top.labels[0], axis=0)) == 3
    mixture = MixtureJoint([0.7, 0.3], [joint, IndependentJoint(scores)])
    ranked = mixture.top(6)
    np.testing.assert_allclose(mixture._log_prob(ranked.labels), ranked.log_prob)
    assert (np.diff(ranked.log_prob, axis=1) <= 0).all()
    reach = np.maximum(ranked.upper_bound, ranked.log_prob[:, 0])
    assert (reach >= mixture.mode().log_prob - 1e-12).all()
    assert all(len(np.unique(listed, axis=0)) == 6 for listed in ranked.labels)
    # Components that list the same vectors do not make them count twice.
    twice = MixtureJoint([0.4, 0.6], [joint, joint]).top(3)
    np.testing.assert_array_equal(twice.labels, top.labels)
    np.testing.assert_allclose(twice.log_prob, top.log_prob)


def test_mixture_of_long_chains_is_sampled():
    rng = np.random.default_rng(8)
    parts = [ChainJoint(*chain_parameters(rng, 3, 17, scale=1.0)) for _ in range(2)]
    mixture = MixtureJoint([0.25, 0.75], parts)
    estimate = mixture.estimate("marginals")
    assert not estimate.exact.any()
    columns = logsumexp(
        np.stack(
            [
                np.log(w) + part.conditionals.table(part.known, np.arange(17), part.order)
                for w, part in zip((0.25, 0.75), parts, strict=True)
            ]
        ),
        axis=0,
    )
    bits = (np.arange(2**17)[:, None] >> np.arange(17)) & 1
    assert (np.abs(estimate.value - np.exp(columns) @ bits) <= 5 * estimate.standard_error).all()
    assert (mixture.mode(Greedy()).upper_bound >= columns.max(axis=1)).all()
    np.testing.assert_allclose(mixture.mode().log_prob, columns.max(axis=1))


def test_a_mode_that_cannot_be_proven_says_so():
    rng = np.random.default_rng(3)
    joint = ChainJoint(*chain_parameters(rng, 3, 40, scale=0.3))
    mode = joint.mode(Auto(budget=100))
    assert not mode.optimal.any()
    assert (mode.gap > 0).all()
    assert (mode.log_prob >= joint.mode(Greedy()).log_prob).all()
    np.testing.assert_allclose(joint.log_prob(mode.labels), mode.log_prob)
    better = joint.sample(2000, random_state=0)
    assert (joint._log_prob(better).max(axis=1) <= mode.upper_bound).all()


def test_limits_count_unknown_labels():
    joint = counting_chain(causes=20)
    with pytest.raises(ValueError, match="Greedy"):
        joint.mode(Exhaustive())
    assert joint.mode(Exhaustive(max_labels=21)).optimal.all()
    assert joint.condition({20: 1}).mode(Exhaustive()).optimal.all()
    np.testing.assert_array_equal(joint.mode().labels, joint.mode(Exhaustive(max_labels=21)).labels)


def test_one_label():
    joint = ChainJoint([[0.7], [-0.2]], [[0.0]])
    np.testing.assert_allclose(joint.marginals()[:, 0], expit([0.7, -0.2]))
    assert joint.mode().labels.tolist() == [[1], [0]]
    assert joint.condition({0: 1}).entropy().tolist() == [0.0, 0.0]


class TestBadInput:
    @pytest.mark.parametrize(
        ("scores", "message"),
        [
            ([[np.nan, 0.0]], "NaN"),
            ([[np.inf, 0.0]], "infinite"),
            ([0.0, 1.0], "matrix"),
            (np.zeros((2, 0)), "column"),
        ],
    )
    def test_scores(self, scores, message):
        with pytest.raises(ValueError, match=f"scores.*{message}"):
            ChainJoint(scores, np.zeros((2, 2)))

    def test_coupling_against_the_order(self):
        coupling = np.array([[0.0, 1.0], [0.0, 0.0]])
        with pytest.raises(ValueError, match=r"coupling\[0, 1\]"):
            ChainJoint(np.zeros((1, 2)), coupling)
        ChainJoint(np.zeros((1, 2)), coupling, order=[1, 0])
        with pytest.raises(ValueError, match=r"coupling\[1, 1\]"):
            ChainJoint(np.zeros((1, 2)), np.diag([0.0, 1.0]))
        with pytest.raises(ValueError, match="2 x 2"):
            ChainJoint(np.zeros((1, 2)), np.zeros((3, 3)))

    @pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [1, 2]])
    def test_order(self, order):
        with pytest.raises(ValueError, match="order"):
            ChainJoint(np.zeros((1, 2)), np.zeros((2, 2)), order=order)

    def test_log_odds_of_the_wrong_kind(self):
        for answer in (np.zeros(3), np.array([np.nan]), np.zeros((1, 1))):
            joint = ChainJoint.of_functions(lambda label, rows, prefix, z=answer: z, 1, 2)
            with pytest.raises(ValueError, match="log_odds"):
                joint.marginals()


def long_chain(rng, n, n_labels=18):
    """Return a chain that is sampled, and its exact table of log-probabilities."""
    joint = ChainJoint(*chain_parameters(rng, n, n_labels, scale=1.5))
    return joint, joint.conditionals.table(joint.known, np.arange(n_labels), joint.order)


@pytest.mark.parametrize("evidence", [{}, {3: 1}, {0: 1, 17: 0}])
def test_sampled_marginals_average_conditionals(evidence):
    """Nearer to the truth than the frequencies of the same draws, and never 0 or 1."""
    joint, table = long_chain(np.random.default_rng(12), 5)
    bits = (np.arange(2**18)[:, None] >> np.arange(18)) & 1
    agree = (bits[:, list(evidence)] == list(evidence.values())).all(axis=1)
    weight = np.exp(table) * agree
    truth = weight @ bits / weight.sum(axis=1, keepdims=True)
    posterior = joint.condition(evidence) if evidence else joint
    estimate = posterior.estimate("marginals", samples=1000)
    assert (np.abs(estimate.value - truth) <= 5 * estimate.standard_error + 1e-12).all()
    free = np.setdiff1d(np.arange(18), list(evidence))
    assert (estimate.value[:, free] > 0).all()
    assert (estimate.value[:, free] < 1).all()
    for label, value in evidence.items():
        np.testing.assert_array_equal(estimate.value[:, label], value)
    draws, log_weight = posterior._weighted_sample(1000, 0)
    frequency = np.einsum("nk,nkl->nl", normalised_weights(log_weight), draws)
    error = np.abs(estimate.value - truth).mean()
    assert error < np.abs(frequency - truth).mean()


def test_sampled_marginals_of_rare_labels_are_not_zero():
    """Independent labels in the form of a chain: their probabilities come out exactly."""
    scores = np.linspace(-20.0, -5.0, 20)[None, :]
    marginals = ChainJoint(scores, np.zeros((20, 20))).marginals()
    np.testing.assert_allclose(marginals, expit(scores), rtol=1e-12)


def test_general_chains_and_mixtures_average_conditionals_too():
    rng = np.random.default_rng(13)
    joint, _ = long_chain(rng, 3)
    general = ChainJoint.of_functions(joint.conditionals.log_odds_of, 3, 18, joint.order)
    np.testing.assert_allclose(general.marginals(), joint.marginals(), rtol=1e-9)
    other, _ = long_chain(rng, 3)
    mixture = MixtureJoint([0.25, 0.75], [joint, other])
    estimate = mixture.estimate("marginals")
    truth = 0.25 * joint.estimate("marginals", samples=20_000).value
    truth += 0.75 * other.estimate("marginals", samples=20_000).value
    assert (np.abs(estimate.value - truth) <= 6 * estimate.standard_error).all()
    assert (estimate.value > 0).all()
    rows = [2, 0]
    np.testing.assert_array_equal(mixture[rows].marginals(), estimate.value[rows])


@given(seeds, st.integers(0, 4), st.integers(1, 6))
def test_greedy_path_by_hand(seed, n, L):
    """Label by label along the chain: its conditional given what was chosen before."""
    rng = np.random.default_rng(seed)
    scores, coupling, order = chain_parameters(rng, n, L)
    joint = ChainJoint(scores, coupling, order)
    truth = rng.integers(0, 2, size=(n, L))
    expected = np.zeros(n)
    for i in range(n):
        chosen = np.zeros(L)
        for label in order:
            z = scores[i, label] + coupling[label] @ chosen
            expected[i] -= np.logaddexp(0, -z if truth[i, label] else z)
            chosen[label] = z > 0
    path = greedy_path(joint)
    np.testing.assert_allclose(path.log_prob(truth), expected, atol=1e-9)
    # Both take the same first decision and the same last one, hence the same vector.
    np.testing.assert_array_equal(path.mode().labels, joint.mode(Greedy()).labels)
    halves = greedy_path(MixtureJoint([0.5, 0.5], [joint, joint]))
    np.testing.assert_allclose(halves.log_prob(truth), expected, atol=1e-9)


def test_greedy_path_with_evidence():
    joint = ChainJoint([[1.0, 0.0, 0.5]], np.tril(np.ones((3, 3)), -1)).condition({1: 0})
    path = greedy_path(joint)
    assert path.marginals()[0, 1] == 0.0
    np.testing.assert_allclose(path.scores[0, [0, 2]], [1.0, 1.5])
