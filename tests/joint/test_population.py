"""Populations of weighted prefixes, and what is estimated from them."""

import numpy as np
import pytest

from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint
from labelweave.joint.conditionals import population_sizes
from labelweave.joint.quantities import mean_of_replicates
from tests.joint.cases import chain_parameters
from tests.reference import population as reference

LINEAR = ("marginals", "pairwise", "cardinality", "cardinality_by_label")


def chain(seed, n, L, scale=1.5):
    return ChainJoint(*chain_parameters(np.random.default_rng(seed), n, L, scale))


def as_general(joint):
    whole = joint[:]
    return ChainJoint.of_functions(
        whole.conditionals.log_odds_of,
        joint.n_rows,
        joint.n_labels,
        joint.order,
        row_ids=joint.row_ids,
    )


def evidence_on(joint, labels):
    rng = np.random.default_rng(len(labels))
    known = np.full((joint.n_rows, joint.n_labels), -1, dtype=np.int8)
    known[:, labels] = rng.integers(0, 2, size=(joint.n_rows, len(labels)))
    return known


@pytest.mark.parametrize("size", [1, 2, 7, 30, 200])
@pytest.mark.parametrize("labels", [[], [2], [0, 5, 8]])
@pytest.mark.parametrize("shift", [0.0, -5.0], ids=["frequent", "rare"])
def test_kernel_and_numpy_follow_the_reference(size, labels, shift):
    joint = chain(1, 3, 9)[[2, 0, 1]]
    joint = ChainJoint(
        joint.conditionals.scores + shift,
        joint.conditionals.coupling,
        order=joint.order,
        row_ids=joint.row_ids,
    )
    known = evidence_on(joint, labels)
    for form in (joint, as_general(joint)):
        found = form._populations(known, joint.order, (4, size), seed=11)
        for i in range(3):
            for r in range(4):
                marginals, log_evidence, quantum, vectors = reference.populate(
                    joint.conditionals.scores[i],
                    joint.conditionals.coupling,
                    joint.order,
                    known[i],
                    11,
                    int(joint.row_ids[i]),
                    r,
                    size,
                )
                np.testing.assert_allclose(found.marginals[i, r], marginals, atol=1e-12)
                assert found.log_evidence[i, r] == pytest.approx(log_evidence, abs=1e-10)
                assert found.quantum[i, r] == pytest.approx(quantum, abs=1e-12)
                held = np.isfinite(found.log_weight[i, r])
                assert held.sum() == len(vectors) <= size
                weight = np.exp(found.log_weight[i, r, held] - log_evidence)
                np.testing.assert_allclose(weight, [w for _, w in vectors], atol=1e-12)
                expected = [[y[j] for j in range(9)] for y, _ in vectors]
                np.testing.assert_array_equal(found.labels[i, r, held], expected)


def test_weights_sum_to_one_and_no_vector_is_held_twice():
    joint = chain(2, 5, 40)
    found = joint._populations(joint.known, joint.order, (3, 50), seed=0)
    np.testing.assert_allclose(np.exp(found.log_weight).sum(axis=2), 1.0)
    for vectors in found.labels.reshape(-1, 50, 40):
        assert len(np.unique(vectors, axis=0)) == 50
    assert (found.marginals > 0).all()
    assert (found.marginals < 1).all()


def test_large_enough_populations_are_exact():
    joint = chain(3, 4, 6)
    for quantity in LINEAR:
        estimate = joint.estimate(quantity, samples=8 * 64)
        np.testing.assert_allclose(estimate.value, joint.estimate(quantity).value, atol=1e-12)
        assert estimate.standard_error.max() < 1e-12


@pytest.mark.parametrize("evidence", [{}, {4: 1}, {1: 0, 8: 1}])
@pytest.mark.parametrize("quantity", LINEAR)
def test_estimates_are_unbiased_and_their_errors_cover(quantity, evidence):
    """Many seeds: their mean is the truth, and the error stated is that which they have."""
    joint = chain(4, 3, 10, scale=1.0)
    posterior = joint.condition(evidence) if evidence else joint
    truth = posterior.estimate(quantity).value
    found = [posterior.estimate(quantity, samples=96, random_state=seed) for seed in range(60)]
    values = np.stack([estimate.value for estimate in found])
    errors = np.stack([estimate.standard_error for estimate in found])
    spread = values.std(axis=0, ddof=1)
    # Evidence makes ratios of the estimates, which are biased a little.
    bound = 5 * spread / np.sqrt(60) + 1e-12 + (0.01 if evidence else 0.0)
    often = truth > 0.02  # what is rare is seen in few of the 60
    assert (np.abs(values.mean(axis=0) - truth) <= bound)[often].all()
    seen = spread > 1e-12
    covered = np.abs(values - truth)[:, seen] <= 2 * errors[:, seen]
    assert covered.mean() > 0.9
    rms = np.sqrt((errors[:, seen] ** 2).mean())
    assert 0.7 < rms / np.sqrt((spread[seen] ** 2).mean()) < 2.0


def test_less_error_than_independent_draws():
    joint = chain(5, 6, 12)
    truth = joint.marginals()
    drawn = np.abs(joint._conditionals(joint.sample(256, 1)).mean(axis=1) - truth).mean()
    estimated = np.abs(joint.estimate("marginals", samples=256).value - truth).mean()
    assert estimated < drawn / 3


@pytest.mark.parametrize("quantity", [*LINEAR, "entropy"])
def test_rows_have_the_same_bits_in_any_batch_and_with_any_threads(quantity):
    joint = chain(6, 5, 20).condition({3: np.array([1, -1, 0, -1, 1])})
    whole = joint.estimate(quantity, samples=64)
    linear = joint.conditionals.linear
    parallel = ChainJoint(*linear, joint.order, n_threads=3)
    parallel = parallel.condition({3: np.array([1, -1, 0, -1, 1])})
    rows = [4, 1]
    part = parallel[rows].estimate(quantity, samples=64)
    np.testing.assert_array_equal(part.value, whole.value[rows])
    np.testing.assert_array_equal(part.standard_error, whole.standard_error[rows])


@pytest.mark.parametrize("size", [5, 40])
def test_rows_of_any_conditionals_have_the_same_bits_in_any_batch(size):
    """Also where some hold fewer prefixes than others, because conditionals are certain."""
    linear = chain(8, 12, 20)[:]
    rng = np.random.default_rng(8)
    alone, coupling = rng.normal(size=(12, 20)), rng.normal(size=(20, 20))

    def log_odds(label, rows, prefixes):
        earlier = linear.order[: np.flatnonzero(linear.order == label)[0]]
        effects = prefixes[:, earlier] * coupling[label, earlier]
        # Added up from left to right: a product of matrices has other bits in other batches.
        z = np.cumsum(np.column_stack([alone[rows, label], effects]), axis=1)[:, -1]
        return np.where(np.abs(z) > 2.0, np.inf * np.sign(z), z)

    joint = ChainJoint.of_functions(log_odds, 12, 20, linear.order, row_ids=linear.row_ids)
    whole = joint._populations(joint.known, joint.order, (4, size), seed=1)
    for i in range(12):
        single = joint[[i]]
        found = single._populations(single.known, joint.order, (4, size), seed=1)
        for name in ("marginals", "quantum", "log_weight"):
            np.testing.assert_array_equal(getattr(found, name)[0], getattr(whole, name)[i], name)


def test_sampled_marginals_are_never_certain():
    """Also of labels that no draw has, with evidence behind them, and in mixtures."""
    rng = np.random.default_rng(7)
    L = 24
    coupling = np.tril(rng.normal(size=(L, L)), -1)
    chains = [ChainJoint(rng.normal(-9.0, 2.0, size=(3, L)), coupling) for _ in range(2)]
    forms = [chains[0], as_general(chains[0]), MixtureJoint([0.3, 0.7], chains)]
    for joint in forms:
        for form in (joint, joint.condition({L - 1: 1, 5: 0})):
            estimate = form.estimate("marginals", samples=64)
            unknown = form.known < 0
            assert not estimate.exact.any()
            assert (estimate.value[unknown] > 0).all()
            assert (estimate.value[unknown] < 1).all()
            assert (estimate.standard_error[unknown] > 0).all()


def test_impossible_evidence_on_all_prefixes_leaves_valid_numbers():
    def log_odds(label, rows, prefix):
        return (
            np.where(prefix[:, :label].sum(axis=1) > label - 1, 40.0, -40.0)
            if label
            else (np.full(len(rows), -np.inf))
        )

    joint = ChainJoint.of_functions(log_odds, 1, 3)
    known = np.array([[1, -1, -1]], dtype=np.int8)
    found = joint._populations(known, joint.order, (2, 4), seed=0)
    assert np.isneginf(found.log_evidence).all()
    assert np.isfinite(found.marginals).all()


def test_mixtures_compute_what_their_components_can():
    """A component in closed form adds no error; one that was drawn adds its share."""
    long, L = chain(8, 3, 20), 20
    free = IndependentJoint(np.random.default_rng(8).normal(size=(3, L)))
    part = long.estimate("marginals")
    mixture = MixtureJoint([0.25, 0.75], [free, long]).estimate("marginals")
    assert (mixture.standard_error < 0.76 * 3 * part.standard_error.max()).all()
    truth = 0.25 * free.marginals() + 0.75 * long.estimate("marginals", samples=50_000).value
    assert (np.abs(mixture.value - truth) <= 6 * mixture.standard_error).all()
    only = MixtureJoint([1.0, 0.0], [free, long]).estimate("marginals")
    np.testing.assert_array_equal(only.value, free.marginals())
    np.testing.assert_array_equal(only.standard_error, 0.0)


def test_weights_that_evidence_estimated_are_part_of_the_error():
    chains = [chain(seed, 4, 22, scale=0.7) for seed in (9, 10)]
    posterior = MixtureJoint([0.5, 0.5], chains).condition({int(chains[0].order[-1]): 1})
    stated = posterior.estimate("marginals")
    sure = posterior[:]
    sure._log_weight_error = np.zeros_like(posterior.weights)
    assert (stated.standard_error >= sure.estimate("marginals").standard_error).all()
    assert (posterior._log_weight_error > 0).any()


def test_few_samples_make_few_populations():
    assert population_sizes(2) == (2, 1)
    assert population_sizes(8) == (8, 1)
    assert population_sizes(1000) == (8, 125)
    mean, error = mean_of_replicates(np.array([[[1.0], [3.0]]]), np.zeros((1, 2)))
    assert mean == 2.0
    assert error == pytest.approx(1.0)


@pytest.mark.parametrize("behind", [[], [3]], ids=["at once", "behind a rare label"])
def test_prefixes_that_evidence_has_ruled_out_do_not_judge_further_evidence(behind):
    """A prefix whose weight has underflowed fits what comes next by far the best."""
    coupling = np.zeros((5, 5))
    coupling[2, 1], coupling[4, 1] = -2000.0, 2000.0
    joint = ChainJoint([[0.0, 0.0, 1000.0, -50.0, -1000.0]], coupling)
    known = np.array([[-1, -1, 1, -1, 1]], dtype=np.int8)
    order = np.array([0, 1, 2, *behind, 4])
    for form in (joint, as_general(joint)):
        found = form._populations(known, order, (4, 2), seed=3)
        np.testing.assert_allclose(found.log_evidence, np.log(0.5) - 1000.0)
        np.testing.assert_allclose(
            np.exp(found.log_weight - found.log_evidence[..., None]).sum(2), 1
        )


def test_chains_of_any_conditionals_are_walked_in_small_blocks():
    linear, calls = chain(9, 40, 18), []

    def log_odds(label, rows, prefix):
        calls.append(len(rows))
        return linear.conditionals.log_odds_of(label, rows, prefix)

    joint = ChainJoint.of_functions(log_odds, 40, 18, linear.order, row_ids=linear.row_ids)
    joint.estimate("marginals", samples=1000)
    assert max(calls) <= 2**21 // (9 * 18)
