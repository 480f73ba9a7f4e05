"""Epsilon-approximate, Monte-Carlo and mean-field inference."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from labelweave.inference import BestFirst, Greedy, MeanField, MonteCarlo
from labelweave.inference.mean_field import _Fit
from labelweave.joint import ChainJoint, IndependentJoint
from labelweave.joint.capabilities import ChainRule
from tests.inference.chains import as_general, assert_valid, random_chain, scales, true_maximum
from tests.joint.cases import forms, make, seeds

rows = st.integers(0, 4)
labels = st.integers(1, 8)
STRATEGIES = (BestFirst(least=0.1), MonteCarlo(10), MeanField(5))


@given(st.sampled_from(STRATEGIES), seeds, rows, labels, scales, st.booleans())
def test_answers_are_valid(strategy, seed, n, L, scale, evidence):
    joint = random_chain(seed, n, L, scale, evidence)
    assert_valid(strategy(joint), joint, true_maximum(joint))


@given(st.sampled_from(STRATEGIES), forms, seeds, rows, st.integers(1, 5))
def test_every_form_has_an_answer_or_a_reason(strategy, form, seed, n, L):
    joint, _ = make(form, seed, n, L)
    base = joint.ranks_like
    functions = isinstance(base, ChainRule) and base.conditionals.linear is None
    if functions and isinstance(strategy, MeanField):
        with pytest.raises(ValueError, match="linear conditionals"):
            strategy(joint)
        return
    mode = strategy(joint)
    maximum = joint.mode().log_prob
    assert (mode.log_prob <= maximum + 1e-9).all()
    assert (mode.upper_bound >= maximum - 1e-9).all()


class TestLeastProbability:
    @given(seeds, labels, scales, st.booleans(), st.floats(0.001, 1.0), st.booleans())
    def test_finds_the_mode_if_it_is_probable_enough(
        self, seed, L, scale, evidence, epsilon, general
    ):
        joint = random_chain(seed, 4, L, scale, evidence)
        joint = as_general(joint) if general else joint
        mode, greedy = BestFirst(least=epsilon)(joint), Greedy()(joint)
        maximum = true_maximum(joint)
        probable = maximum >= np.log(epsilon) + 1e-9
        np.testing.assert_allclose(mode.log_prob[probable], maximum[probable], atol=1e-9)
        assert mode.optimal[probable].all()
        assert (mode.log_prob >= greedy.log_prob - 1e-12).all()
        bound = np.maximum(np.log(epsilon), mode.log_prob)
        assert (mode.upper_bound <= bound + 1e-9).all()

    def test_flat_chains_end_without_a_budget(self):
        joint = random_chain(0, 5, 200, scale=0.01)
        mode = BestFirst(least=0.01)(joint)
        np.testing.assert_array_equal(mode.labels, Greedy()(joint).labels)

    def test_no_proof_is_sought(self):
        assert BestFirst().seeks_proof
        assert not BestFirst(least=0.01).seeks_proof

    @pytest.mark.parametrize("least", [-1.0, 1.5, np.nan, None])
    def test_bad_probabilities(self, least):
        with pytest.raises(ValueError, match="least"):
            BestFirst(least=least)


class TestMonteCarlo:
    def test_more_draws_find_more(self):
        joint = random_chain(1, 200, 8, scale=1.0)
        found = [MonteCarlo(k)(joint).log_prob for k in (1, 10, 300)]
        assert (found[0] >= Greedy()(joint).log_prob - 1e-12).all()
        assert (found[1] >= found[0]).all()  # the first draws are the same
        assert found[0].mean() < found[1].mean() < found[2].mean()
        assert (found[2] >= true_maximum(joint) - 1e-9).mean() > 0.95

    def test_rows_keep_their_draws(self):
        joint = random_chain(2, 30, 20, scale=0.5)
        whole = MonteCarlo(20)(joint)
        np.testing.assert_array_equal(MonteCarlo(20)(joint[7:9]).labels, whole.labels[7:9])
        assert (MonteCarlo(20, random_state=1)(joint).labels != whole.labels).any()

    @pytest.mark.parametrize("arguments", [{"samples": 0}, {"samples": 1.5}, {"random_state": -1}])
    def test_bad_arguments(self, arguments):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            MonteCarlo(**arguments)(random_chain(1, 1, 3))


class TestMeanField:
    @staticmethod
    def objective(joint, q):
        """Lower bound of E_q[log P] + H(q) with Jaakkola's bound, by summing over all vectors."""
        scores, coupling = joint.conditionals.scores[0], joint.conditionals.coupling
        entropy = -(q * np.log(q) + (1 - q) * np.log(1 - q)).sum()
        z, weight, y = [], [], []
        for vector in itertools.product((0, 1), repeat=len(q)):
            y.append(np.array(vector))
            z.append(scores + coupling @ y[-1])
            weight.append(np.prod(np.where(y[-1] == 1, q, 1 - q)))
        z, weight, y = np.array(z), np.array(weight)[:, None], np.array(y)
        xi = np.sqrt((weight * z**2).sum(axis=0))
        softplus = (weight * z).sum(axis=0) / 2 + np.logaddexp(xi / 2, -xi / 2)
        return (weight * y * z).sum() - softplus.sum() + entropy

    @given(seeds, st.integers(1, 5))
    def test_the_objective_never_falls(self, seed, L):
        joint = random_chain(seed, 1, L, 1.0)
        fit = _Fit(joint.conditionals, joint.known)
        before = self.objective(joint, fit.q[0])
        for _ in range(4):
            fit.sweep()
            after = self.objective(joint, fit.q[0])
            assert after >= before - 1e-9
            before = after

    def test_moments_are_those_of_the_labels(self):
        joint = random_chain(3, 5, 6, 1.0, evidence=True)
        fit = _Fit(joint.conditionals, joint.known)
        fit.sweep()
        np.testing.assert_allclose(
            fit.mean, joint.conditionals.scores + fit.q @ joint.conditionals.coupling.T
        )
        spread = fit.q * (1 - fit.q)
        np.testing.assert_allclose(
            fit.variance, spread @ (joint.conditionals.coupling**2).T, atol=1e-12
        )

    def test_exact_without_couplings(self):
        scores = np.random.default_rng(4).normal(size=(20, 7))
        joint = ChainJoint(scores, np.zeros((7, 7)))
        fit = _Fit(joint.conditionals, joint.known)
        fit.sweep()
        np.testing.assert_allclose(fit.q, expit(scores))
        np.testing.assert_array_equal(
            MeanField()(joint).labels, IndependentJoint(scores).mode().labels
        )

    def test_looks_ahead_where_greedy_does_not(self):
        """The first label leans to 1, but then leaves the second undecided."""
        joint = random_chain(5, 300, 10, scale=1.0)
        mean_field, greedy = MeanField()(joint).log_prob, Greedy()(joint).log_prob
        assert (mean_field > greedy + 1e-9).any()

    def test_extreme_scores(self):
        joint = random_chain(6, 4, 300, scale=1e4)
        mode = MeanField(3)(joint)
        assert np.isfinite(mode.log_prob).all()

    @pytest.mark.parametrize("iterations", [0, 2.0])
    def test_bad_iterations(self, iterations):
        with pytest.raises(ValueError, match="iterations"):
            MeanField(iterations)
