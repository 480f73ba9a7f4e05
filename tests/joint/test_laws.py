"""Laws that hold for every form, proved against the definition of each quantity."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.inference import Exhaustive, Greedy
from tests.joint.cases import (
    FORMS,
    evidence_for,
    forms,
    label_counts,
    make,
    make_with_oracle,
    row_counts,
    seeds,
)
from tests.reference import table as oracle

QUANTITIES = ("marginals", "pairwise", "cardinality", "cardinality_by_label", "entropy")


def assert_is(joint, rows):
    """Every question to ``joint`` has the answer of the tables ``rows``."""
    n, L = joint.n_rows, joint.n_labels
    for y in itertools.product((0, 1), repeat=L):
        expected = [table[y] for table in rows]
        np.testing.assert_allclose(
            np.exp(joint.log_prob(np.tile(y, (n, 1)))), expected, rtol=1e-8, atol=1e-12
        )
    for quantity in QUANTITIES:
        estimate = joint.estimate(quantity)
        assert estimate.exact.all()
        assert (estimate.standard_error == 0).all()
        assert estimate.value.shape[0] == n
        np.testing.assert_allclose(getattr(joint, quantity)(), estimate.value)
        for i, expected in enumerate(getattr(oracle, quantity)(rows)):
            np.testing.assert_allclose(estimate.value[i], expected, rtol=1e-8, atol=1e-10)
    for i, expected in enumerate(oracle.marginal_log_odds(rows)):
        np.testing.assert_allclose(joint.marginal_log_odds()[i], expected, rtol=1e-8, atol=1e-8)


def assert_search_is_right(joint, rows):
    best = np.array([max(table.values()) for table in rows])
    for mode in (joint.mode(), joint.mode(Exhaustive())):
        np.testing.assert_allclose(np.exp(mode.log_prob), best, rtol=1e-9)
        np.testing.assert_allclose(joint.log_prob(mode.labels), mode.log_prob, atol=1e-9)
        assert mode.optimal.all()
        assert (mode.gap == 0).all()
    greedy = joint.mode(Greedy())
    np.testing.assert_allclose(joint.log_prob(greedy.labels), greedy.log_prob, atol=1e-9)
    assert (np.exp(greedy.upper_bound) >= best - 1e-9).all()
    assert (greedy.gap >= 0).all()
    np.testing.assert_allclose(np.exp(greedy.log_prob)[greedy.optimal], best[greedy.optimal])


@given(forms, seeds, row_counts, label_counts)
def test_every_quantity_matches_its_definition(form, seed, n, L):
    assert_is(*make_with_oracle(form, seed, n, L))


@given(forms, seeds, row_counts, label_counts)
def test_exact_inference_finds_the_mode_and_greedy_bounds_it(form, seed, n, L):
    assert_search_is_right(*make_with_oracle(form, seed, n, L))


@given(forms, seeds, st.integers(0, 3), label_counts, st.integers(1, 40))
def test_top_lists_the_most_probable_vectors(form, seed, n, L, k):
    joint, rows = make_with_oracle(form, seed, n, L)
    top = joint.top(k)
    assert top.labels.shape == (n, min(k, 2**L), L)
    assert top.exact.all()
    for i, table in enumerate(rows):
        expected = sorted(table.values(), reverse=True)[: min(k, 2**L)]
        np.testing.assert_allclose(np.exp(top.log_prob[i]), expected, rtol=1e-8, atol=1e-12)
        possible = np.isfinite(top.log_prob[i])
        listed = [tuple(int(v) for v in y) for y in top.labels[i][possible]]
        assert len(set(listed)) == len(listed)
        np.testing.assert_allclose(
            [table[y] for y in listed], np.exp(top.log_prob[i][possible]), rtol=1e-8
        )
        assert (top.labels[i][~possible] == -1).all()


@given(forms, seeds, st.integers(0, 3), label_counts)
def test_conditioning_is_bayes_rule(form, seed, n, L):
    joint, rows = make_with_oracle(form, seed, n, L)
    known, evidence = evidence_for(joint, rows, seed)
    np.testing.assert_allclose(
        np.exp(joint.evidence_log_prob(evidence).value),
        oracle.evidence_prob(rows, known),
        rtol=1e-8,
    )
    posterior = joint.condition(evidence)
    expected = oracle.condition(rows, known)
    assert_is(posterior, expected)
    assert_search_is_right(posterior, expected)
    assert posterior.marginals()[known == 1] == pytest.approx(1.0)
    assert posterior.marginals()[known == 0] == pytest.approx(0.0, abs=1e-12)


@given(forms, seeds, st.integers(1, 3), st.integers(2, 5))
def test_conditioning_twice_is_conditioning_once(form, seed, n, L):
    joint, rows = make_with_oracle(form, seed, n, L)
    known, evidence = evidence_for(joint, rows, seed)
    first = {label: evidence[label] for label in range(L // 2)}
    second = {label: evidence[label] for label in range(L // 2, L)}
    assert_is(joint.condition(first).condition(second), oracle.condition(rows, known))


@given(forms, seeds, st.integers(1, 4), label_counts)
def test_batch_equals_row_by_row(form, seed, n, L):
    joint, rows = make_with_oracle(form, seed, n, L)
    _, evidence = evidence_for(joint, rows, seed)
    for batch in (joint, joint.condition(evidence)):
        draws, mode = batch.sample(5, random_state=seed), batch.mode()
        estimates = {quantity: batch.estimate(quantity) for quantity in QUANTITIES}
        for i in range(n):
            row = batch[i]
            assert len(row) == 1
            assert row.row_ids[0] == i
            np.testing.assert_array_equal(row.sample(5, random_state=seed)[0], draws[i])
            np.testing.assert_array_equal(row.mode().labels[0], mode.labels[i])
            for quantity, estimate in estimates.items():
                value = row.estimate(quantity).value[0]
                np.testing.assert_allclose(value, estimate.value[i], atol=1e-12)
                if batch is joint:
                    np.testing.assert_array_equal(value, estimate.value[i])


@given(forms, seeds, st.integers(1, 5), label_counts)
def test_permuting_rows_permutes_results(form, seed, n, L):
    joint, _ = make(form, seed, n, L)
    permutation = np.random.default_rng(seed).permutation(n)
    permuted = joint[permutation]
    np.testing.assert_array_equal(permuted.sample(4, 7), joint.sample(4, 7)[permutation])
    np.testing.assert_array_equal(permuted.mode().labels, joint.mode().labels[permutation])
    np.testing.assert_allclose(permuted.marginals(), joint.marginals()[permutation])
    np.testing.assert_array_equal(
        joint[np.arange(n) % 2 == 0].sample(4, 7), joint.sample(4, 7)[::2]
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("conditioned", [False, True])
def test_samples_follow_the_distribution(form, conditioned):
    joint, rows = make_with_oracle(form, seed=3, n=3, L=4)
    if conditioned:
        known, evidence = evidence_for(joint, rows, seed=3)
        joint, rows = joint.condition(evidence), oracle.condition(rows, known)
    k = 6000
    draws = joint.sample(k, random_state=1)
    for i, table in enumerate(rows):
        for y, p in table.items():
            share = (draws[i] == y).all(axis=1).mean()
            # Five standard errors, and never an impossible vector.
            assert abs(share - p) <= 5 * np.sqrt(p * (1 - p) / k) + 1e-12


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_sampled_estimates_state_an_error_that_covers_the_truth(form, quantity):
    joint, _ = make(form, seed=5, n=8, L=4)
    estimate = joint.estimate(quantity, samples=1500, random_state=2)
    truth = joint.estimate(quantity).value
    assert not estimate.exact.any()
    assert (np.abs(estimate.value - truth) <= 5 * estimate.standard_error + 1e-12).all()
    # The error is neither absent nor an excuse: it shrinks with the square root of the draws, or
    # where a form holds every vector once, it is rounding.
    more = joint.estimate(quantity, samples=6000, random_state=2)
    assert more.standard_error.sum() == pytest.approx(
        estimate.standard_error.sum() / 2, rel=0.15, abs=1e-12
    )


@pytest.mark.parametrize("form", FORMS)
def test_seeds_and_threads(form):
    joint, _ = make(form, seed=11, n=40, L=5)
    np.testing.assert_array_equal(joint.sample(3, 9), joint.sample(3, 9))
    assert (joint.sample(20, 9) != joint.sample(20, 10)).any()
    # More draws begin with the same ones.
    np.testing.assert_array_equal(joint.sample(8, 9)[:, :3], joint.sample(3, 9))
    threaded = joint[:]
    threaded.n_threads = 4
    np.testing.assert_array_equal(threaded.sample(3, 9), joint.sample(3, 9))
    np.testing.assert_array_equal(threaded.marginals(), joint.marginals())
    np.testing.assert_array_equal(threaded.mode().log_prob, joint.mode().log_prob)
    np.testing.assert_array_equal(joint.sample(3), joint.sample(3, 0))  # None counts as 0
    generator = joint.sample(3, np.random.default_rng(0))
    np.testing.assert_array_equal(generator, joint.sample(3, np.random.default_rng(0)))
    np.testing.assert_array_equal(
        joint.sample(3, np.random.RandomState(0)), joint.sample(3, np.random.RandomState(0))
    )


@pytest.mark.parametrize("form", FORMS)
def test_no_rows(form):
    joint, _ = make(form, seed=0, n=0, L=3)
    assert joint.log_prob(np.zeros((0, 3))).shape == (0,)
    assert joint.marginals().shape == (0, 3)
    assert joint.pairwise().shape == (0, 3, 3)
    assert joint.cardinality().shape == (0, 4)
    assert joint.cardinality_by_label().shape == (0, 3, 4)
    assert joint.entropy().shape == (0,)
    assert joint.estimate("pairwise", samples=10).value.shape == (0, 3, 3)
    assert joint.sample(2, 0).shape == (0, 2, 3)
    assert joint.top(2).labels.shape == (0, 2, 3)
    assert joint.mode().labels.shape == (0, 3)
    assert joint.mode(Greedy()).labels.shape == (0, 3)
    assert joint.condition({0: 1}).marginals().shape == (0, 3)
