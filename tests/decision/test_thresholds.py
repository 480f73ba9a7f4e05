"""Matching training frequencies, and tuning on held-out rows."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelweave.decision import ClassMassNormalization, TunedThresholds
from labelweave.decision.rules import apply_thresholds
from tests.decision.tuning import tune_common_threshold, tune_thresholds

# Few different values, so that ties are common.
columns = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=12)
rates = st.floats(0, 1)


def counts_above(scores):
    """All numbers of rows that some threshold can have above it."""
    limits = [-1.0, *scores]
    return np.array([sum(s > limit for s in scores) for limit in limits])


@given(columns, rates)
def test_no_threshold_comes_closer_to_the_frequency(column, rate):
    rule = ClassMassNormalization(rates=[rate], fallback=None)
    given_labels = rule.label(np.array(column)[:, None]).sum()
    wanted = rate * len(column)
    best = np.abs(counts_above(column) - wanted).min()
    assert abs(given_labels - wanted) <= best + 1e-12


@given(columns, rates, rates)
def test_a_higher_frequency_labels_no_fewer_rows(column, a, b):
    scores = np.array(column)[:, None]
    few, many = (
        ClassMassNormalization(rates=[rate], fallback=None).label(scores).sum()
        for rate in sorted((a, b))
    )
    assert few <= many


@given(columns, rates, st.floats(0.5, 3))
def test_only_the_order_of_scores_counts(column, rate, power):
    rule = ClassMassNormalization(rates=[rate], fallback=None)
    scores = np.array(column)[:, None]
    np.testing.assert_array_equal(rule.label(scores), rule.label(scores**power))


def test_without_ties_the_frequency_is_met_within_half_a_row():
    rng = np.random.default_rng(0)
    scores, rates = rng.uniform(size=(101, 30)), rng.uniform(size=30)
    labels = ClassMassNormalization(rates=rates).label(scores)
    assert np.abs(labels.sum(axis=0) - 101 * rates).max() <= 0.5


def test_labels_of_one_kind_in_training():
    rule = ClassMassNormalization(rates=[0.0, 1.0])
    for n in (0, 1, 5):
        assert rule.thresholds(np.full((n, 2), 0.7)).tolist() == [np.inf, -np.inf]


def test_neighbouring_floats_are_told_apart():
    low = 0.3
    high = np.nextafter(low, 1)
    labels = ClassMassNormalization(rates=[0.5]).label([[low], [high], [low], [high]])
    assert labels.ravel().tolist() == [0, 1, 0, 1]


def test_where_the_frequency_says_nothing_the_score_decides():
    rule = ClassMassNormalization(rates=[0.1, 0.9])
    assert rule.label([[0.9, 0.9], [0.2, 0.2]]).tolist() == [[1, 1], [0, 0]]
    silent = ClassMassNormalization(rates=[0.1, 0.9], fallback=None)
    assert silent.label([[0.9, 0.9], [0.2, 0.2]]).tolist() == [[0, 1], [0, 1]]


@given(rate=st.floats(0.01, 0.99), least=st.floats(0, 20))
def test_frequencies_are_matched_from_the_least_number_of_rows_on(rate, least):
    assume(abs(min(rate, 1 - rate) * 30 - least) > 1e-6)
    scores = np.random.default_rng(0).uniform(size=(30, 1))
    labels = ClassMassNormalization(rates=[rate], least_rows=least).label(scores)
    if min(rate, 1 - rate) * 30 < least:
        np.testing.assert_array_equal(labels, scores > 0.5)
    else:
        assert abs(labels.sum() - rate * 30) <= 0.5


def test_a_rate_that_was_rounded_still_means_two_rows():
    scores = np.linspace(0, 0.4, 49)[:, None]
    assert ClassMassNormalization(rates=[2 / 49]).label(scores).sum() == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("least_rows", v) for v in (-1, np.nan, "x", None)] + [("fallback", v) for v in (np.nan, "x")],
)
def test_bad_parameters_of_matching(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*a number"):
        ClassMassNormalization(**{name: value})


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        (None, "needs rates="),
        ([0.5], "each of the 2 labels"),
        ([0.5, 1.5], "between 0 and 1"),
        ([0.5, np.nan], "between 0 and 1"),
    ],
)
def test_bad_rates(rates, message):
    with pytest.raises(ValueError, match=message):
        ClassMassNormalization(rates=rates).thresholds([[0.1, 0.2]])


def test_own_rates_outrank_those_of_the_training_rows():
    assert ClassMassNormalization(rates=[0.5]).informed([0.1]).rates == [0.5]
    np.testing.assert_array_equal(ClassMassNormalization().informed([0.1]).rates, [0.1])


@given(columns, st.integers(0, 2**12 - 1))
def test_no_threshold_has_a_better_f1_on_the_held_out_rows(column, bits):
    truth = np.array([bits >> i & 1 for i in range(len(column))])
    scores = np.array(column)
    tuned = tune_thresholds(scores[:, None], truth[:, None])

    def f1(limit):
        chosen = scores > limit
        total = chosen.sum() + truth.sum()
        return 2 * (chosen & truth).sum() / total if total else 1.0

    assert f1(tuned[0]) == max(f1(limit) for limit in [-1.0, *scores])


@given(st.lists(st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.9]), min_size=2, max_size=2)), st.data())
def test_no_common_threshold_has_a_better_micro_f1(rows, data):
    scores = np.array(rows).reshape(-1, 2)
    truth = data.draw(arrays(np.int64, scores.shape, elements=st.integers(0, 1)))
    weight = data.draw(arrays(np.float64, len(scores), elements=st.sampled_from([0.5, 1.0, 2.0])))

    def f1(limit):
        chosen = weight[:, None] * (scores > limit)
        total = chosen.sum() + (weight[:, None] * truth).sum()
        return 2 * (chosen * truth).sum() / total if total else 1.0

    tuned = tune_common_threshold(scores, truth, weight)
    assert f1(tuned) == pytest.approx(max(f1(limit) for limit in [-1.0, *scores.ravel(), 1.0]))


@given(st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.9]), min_size=1, max_size=8), st.data())
def test_smoothed_labels_are_mixed_with_their_probabilities(column, data):
    scores = np.array(column)
    truth = data.draw(arrays(np.int64, scores.shape, elements=st.integers(0, 1)))
    weight = data.draw(arrays(np.float64, scores.shape, elements=st.sampled_from([0.5, 1.0, 2.0])))
    tuned = tune_thresholds(scores[:, None], truth[:, None], smoothing=3.0, sample_weight=weight)
    if not truth.any():
        assert tuned == np.inf
        return
    positives = weight @ truth
    mixed = (positives * truth + 3.0 * scores) / (positives + 3.0)

    def f1(limit):
        chosen = weight * (scores > limit)
        return 2 * (chosen @ mixed) / (chosen.sum() + weight @ mixed)

    assert f1(tuned[0]) == pytest.approx(max(f1(limit) for limit in [-1.0, *scores]))


def test_smoothing_tells_luck_from_knowledge():
    scores = np.repeat([[0.5], [0.02]], [10, 200], axis=0)
    truth = np.zeros_like(scores, dtype=int)
    truth[200] = 1  # the only positive is among the rows that look like negatives
    assert tune_thresholds(scores, truth) == -np.inf
    np.testing.assert_allclose(tune_thresholds(scores, truth, smoothing=10.0), [0.26])


def test_labels_that_tune_badly_get_a_safe_threshold():
    scores = np.array([[0.9, 0.9], [0.8, 0.8], [0.7, 0.7], [0.1, 0.1]])
    truth = np.array([[1, 0], [0, 0], [0, 0], [0, 1]])
    plain = tune_thresholds(scores, truth)
    np.testing.assert_allclose(plain, [0.85, -np.inf])  # F1 of 1 and of 0.4
    np.testing.assert_allclose(tune_thresholds(scores, truth, fbr=0.5), [0.85, 0.9])
    never = tune_thresholds(scores, truth, fbr=0.5, fallback="never")
    np.testing.assert_allclose(never, [0.85, np.inf])
    rule = TunedThresholds(fbr=0.5).informed([0.25, 0.25], (scores, truth))
    np.testing.assert_array_equal(rule.thresholds(scores), [plain[0], 0.9])
    assert apply_thresholds(scores, rule.thresholds(scores))[:, 1].sum() == 0


def test_a_label_without_positives_is_never_given():
    assert tune_thresholds([[0.9], [0.1]], [[0], [0]]) == np.inf


def test_no_held_out_rows_at_all():
    assert tune_thresholds(np.empty((0, 1)), np.empty((0, 1)), fbr=2.0) == np.inf


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([[1, 0]], {}, "must match"),
        ([[2]], {}, "0 or 1"),
        ([[1]], {"fallback": "lowest"}, "'highest' or 'never'"),
        ([[1]], {"sample_weight": [1.0, 1.0]}, "sample_weight must be one number for each"),
    ],
)
def test_bad_held_out_rows(labels, options, message):
    with pytest.raises(ValueError, match=message):
        tune_thresholds([[0.5]], labels, **options)


def test_bad_values():
    with pytest.raises(ValueError, match="smoothing must be"):
        TunedThresholds(smoothing=-1.0)
    with pytest.raises(ValueError, match="scores must be probabilities"):
        tune_thresholds([[1.5]], [[1]], smoothing=1.0)
    with pytest.raises(ValueError, match="values must be"):
        TunedThresholds("half")
    with pytest.raises(ValueError, match="must match"):
        tune_common_threshold([[0.5]], [[1, 0]])
    with pytest.raises(ValueError, match="has no values yet"):
        TunedThresholds().thresholds([[0.1]])
    with pytest.raises(ValueError, match="each of the 2 labels"):
        TunedThresholds(values=[0.5]).thresholds([[0.1, 0.2]])
