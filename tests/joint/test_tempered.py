"""Powers of distributions with too many labels to enumerate, and what they keep of the base."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import logsumexp

from labelweave.inference import Auto, Beam, BestFirst, Exhaustive, Gibbs, Greedy
from labelweave.inference.search import greedy_path
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint, MixtureJoint, TreeJoint
from labelweave.joint.tempered import TemperedJoint
from tests.joint.cases import chain_parameters, forms, make, seeds
from tests.reference import tree as tree_reference

L, N = 17, 4


def long_chain(rng, n=N, n_labels=L, scale=0.7):
    return ChainJoint(*chain_parameters(rng, n, n_labels, scale))


def general_chain(rng):
    chain = long_chain(rng)
    return ChainJoint.of_functions(chain.conditionals.log_odds_of, N, L, chain.order)


def mixture(rng):
    logits, parents = tree_reference.random_forest(rng, N, L, 1.0)
    vectors = np.unique(rng.integers(0, 2, (30, L)), axis=0)
    weights = rng.dirichlet(np.ones(len(vectors)), size=N)
    components = [
        long_chain(rng),
        TreeJoint(logits, parents),
        IndependentJoint(rng.normal(size=(N, L))),
        ListedJoint(vectors, np.log(weights)),
    ]
    return MixtureJoint(rng.dirichlet(np.ones(4), size=N), components)


LONG = {"chain": long_chain, "general": general_chain, "mixture": mixture}
TEMPERATURES = (0.8, 1.7)


def written_out(joint):
    """Return the same distribution as a table, whose powers are exact."""
    table = joint._table(np.arange(L))
    return ListedJoint.of_table(table - logsumexp(table, axis=1, keepdims=True))


@pytest.mark.parametrize(
    "temperature", [TEMPERATURES[0], pytest.param(TEMPERATURES[1], marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("form", LONG)
def test_estimated_normalisers_and_quantities_state_errors_that_hold(form, temperature):
    base = LONG[form](np.random.default_rng(0))
    joint, exact = base.tempered(temperature), written_out(base).tempered(temperature)
    assert isinstance(joint, TemperedJoint)
    vectors = exact.mode().labels
    error = joint.log_prob_error()
    assert ((error > 0) & (error < 0.2)).all()
    assert (np.abs(joint.log_prob(vectors) - exact.log_prob(vectors)) <= 4 * error).all()
    for quantity in ("marginals", "pairwise", "cardinality", "entropy"):
        found = joint.estimate(quantity)
        assert not found.exact.any()
        truth = getattr(exact, quantity)()
        assert (np.abs(found.value - truth) <= 5 * found.standard_error).all()
    assert ((joint.marginals() > 0) & (joint.marginals() < 1)).all()
    draws = joint.sample(2000, random_state=1).mean(axis=1)
    assert np.abs(draws - exact.marginals()).max() < 0.1


@pytest.mark.parametrize("form", LONG)
def test_late_evidence_is_that_of_the_power(form):
    """Few labels are left unknown, or many: 17 − 2."""
    rng = np.random.default_rng(1)
    base = LONG[form](rng)
    joint, exact = base.tempered(1.5), written_out(base).tempered(1.5)
    known = np.full((N, L), -1)
    known[0, :] = 0
    known[1, [2, 15]] = 1, 0
    known[2, 16] = 1
    evidence = {label: known[:, label] for label in range(L)}
    found = joint.evidence_log_prob(evidence)
    truth = exact.evidence_log_prob(evidence).value
    assert (np.abs(found.value - truth) <= 4 * found.standard_error).all()
    assert found.value[3] == found.standard_error[3] == 0
    posterior = joint.condition(evidence)
    np.testing.assert_array_equal(posterior.known, known)
    marginals = posterior.estimate("marginals")
    assert marginals.exact[:3].all()  # at most 16 labels are left
    truth = exact.condition(evidence).marginals()
    np.testing.assert_allclose(marginals.value[:3], truth[:3], atol=1e-9)


def test_evidence_on_long_chains_agrees_with_bayes_rule():
    """Where both sides are estimated: log P(e) + log P(y|e) = log P(y)."""
    joint = long_chain(np.random.default_rng(2), n=6, n_labels=30).tempered(1.3)
    evidence = {29: 1, 12: 0}
    posterior, of_evidence = joint.condition(evidence), joint.evidence_log_prob(evidence)
    vectors = posterior.mode().labels
    error = np.sqrt(
        joint.log_prob_error() ** 2
        + posterior.log_prob_error() ** 2
        + of_evidence.standard_error**2
    )
    difference = joint.log_prob(vectors) - posterior.log_prob(vectors) - of_evidence.value
    assert (np.abs(difference) <= 4 * error).all()


@given(forms, seeds)
@settings(max_examples=15)
def test_powers_of_powers_multiply_and_one_changes_nothing(form, seed):
    joint, _ = make(form, seed, 2, 4)
    assert joint.tempered(1.0) is joint
    again, once = joint.tempered(2.0).tempered(0.8), joint.tempered(1.6)
    np.testing.assert_allclose(again.marginals(), once.marginals(), atol=1e-12)


@given(forms, seeds)
@settings(max_examples=15)
def test_the_order_of_vectors_stays(form, seed):
    joint, _ = make(form, seed, 3, 4)
    hot = joint.tempered(3.0)
    one, other = joint.top(16), hot.top(16)
    # Equal probabilities may come in any order.
    found = joint.log_prob(np.maximum(other.labels, 0))
    np.testing.assert_allclose(
        np.where(np.isfinite(other.log_prob), found, -np.inf), one.log_prob, atol=1e-9
    )
    assert (hot.entropy() >= joint.entropy() - 1e-9).all()


@pytest.mark.parametrize(
    "strategy", [Auto(), Beam(), BestFirst(), Greedy(), Gibbs(), Exhaustive(40), None]
)
def test_strategies_find_in_a_power_what_they_find_in_the_base(strategy):
    base = long_chain(np.random.default_rng(3), n=5, n_labels=24, scale=2.0)
    joint = base.tempered(2.0)
    one, other = base.mode(strategy), joint.mode(strategy)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.optimal, other.optimal)
    np.testing.assert_allclose(one.gap / 2.0, other.gap, atol=1e-9)
    assert type(one) is type(other)
    if isinstance(strategy, Auto):
        np.testing.assert_array_equal(strategy(joint).labels, one.labels)


def test_rows_are_the_same_in_any_batch():
    joint = long_chain(np.random.default_rng(4), n_labels=20).tempered(1.4)
    vectors = joint.mode().labels
    for i in range(N):
        alone = long_chain(np.random.default_rng(4), n_labels=20).tempered(1.4)[[i]]
        np.testing.assert_array_equal(alone.log_prob(vectors[[i]]), joint.log_prob(vectors)[[i]])
        np.testing.assert_array_equal(alone.sample(9, 1)[0], joint.sample(9, 1)[i])
        np.testing.assert_array_equal(alone.marginals()[0], joint.marginals()[i])


def test_the_greedy_path_is_tempered_label_by_label():
    base = long_chain(np.random.default_rng(5))
    np.testing.assert_allclose(greedy_path(base.tempered(2.0)).scores, greedy_path(base).scores / 2)
    mixture, _ = make("mixture", 0, 2, 3)
    assert greedy_path(mixture.tempered(2.0, samples=7)).samples == 7


@pytest.mark.parametrize("temperature", [0, -1.0, np.nan, np.inf, "hot"])
def test_bad_temperatures_are_named(temperature):
    with pytest.raises(ValueError, match="temperature must be"):
        IndependentJoint([[0.0]]).tempered(temperature)
