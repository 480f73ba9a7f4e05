"""Test sets that come in parts: the thresholds are those of all rows at once."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.decision import CardinalityThreshold, ClassMassNormalization, SampledF
from labelweave.decision.probabilities import Probabilities, joined
from labelweave.decision.rules import cut_between, possible_cuts

pytest.importorskip("dask")

from labelweave.distributed import prediction as passes


def merged(level, merge, arity):
    """Merge summaries in a tree."""
    while len(level) > 1:
        level = [merge(level[k : k + arity]) for k in range(0, len(level), arity)]
    return level[0]


def by_histogram(share, parts, arity):
    """Find the common threshold in two passes over the parts."""
    bins = merged([passes.histogram(part) for part in parts], passes.Tally.merged, arity)
    chosen = passes.bin_of_rank(bins, share)
    near = [passes.scores_near(part, chosen) for part in parts]
    tally = merged(near, lambda group: passes.folded(passes.Tally.merged(group), chosen), arity)
    return passes.common_threshold(tally, share, np.shape(parts[0])[1]), tally


def nearest_cut(scores, rate):
    """Match a frequency by looking at every cut: as many rows as come closest to it."""
    descending = -np.sort(-scores)
    cuts = possible_cuts(descending)
    return cut_between(descending, int(cuts[np.argmin(np.abs(cuts - rate * len(scores)))]))


@st.composite
def parted_scores(draw):
    """Return scores with many ties or none, how they are parted, and a rate for each label."""
    n, n_labels = draw(st.integers(1, 60)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.uniform(-1, 1, (n, n_labels)) * draw(st.sampled_from([1e-3, 1.0, 1e4]))
    if (digits := draw(st.sampled_from([None, 0, 1]))) is not None:
        scores = scores.round(digits)
    if draw(st.booleans()):
        scores = np.sort(scores, axis=0)  # every part has its own range
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    rates = [draw(st.sampled_from([0.0, 1 / n, 0.3, 0.5, 1 - 1 / n, 1.0])) for _ in range(n_labels)]
    return scores, np.split(scores, ends), np.array(rates)


@given(parted_scores())
def test_class_mass_normalization_goes_label_by_label(case):
    scores, parts, rates = case
    rule = ClassMassNormalization(rates=rates, fallback=None)
    expected = [
        nearest_cut(s, r) if r < 1 else -np.inf for s, r in zip(scores.T, rates, strict=True)
    ]
    np.testing.assert_array_equal(rule.thresholds(scores), expected)
    for labels in np.array_split(np.arange(len(rates)), 2):
        found = rule.for_labels(labels).thresholds(joined([part[:, labels] for part in parts]))
        np.testing.assert_array_equal(found, np.array(expected)[labels])


@given(parted_scores(), st.sampled_from([4, 12, 20, 30]), st.integers(2, 4))
def test_one_threshold_for_all_labels_by_bins_of_any_width(case, bits, arity):
    scores, parts, rates = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_BIN_BITS", bits)
        found, _ = by_histogram(rates.mean(), parts, arity)
    expected = nearest_cut(scores.ravel(), rates.mean())
    np.testing.assert_array_equal(found, np.full(scores.shape[1], expected))
    np.testing.assert_array_equal(found, CardinalityThreshold(rates.sum()).thresholds(scores))


@given(parted_scores())
def test_log_odds_stay_log_odds(case):
    scores, parts, rates = case
    nothing = np.empty((0, scores.shape[1]))  # a part without rows has plain scores
    held = [nothing, *(Probabilities(part) for part in parts)]
    found, _ = by_histogram(rates.mean(), held, 2)
    expected = CardinalityThreshold(rates.sum()).thresholds(Probabilities(scores))
    assert isinstance(found, Probabilities)
    np.testing.assert_array_equal(found.log_odds, expected.log_odds)
    rare = ClassMassNormalization(rates=np.full(scores.shape[1], 1e-3), fallback=0.9)
    np.testing.assert_allclose(rare.thresholds(Probabilities(scores)).log_odds, np.log(9))


def test_bins_have_the_order_of_the_scores():
    scores = np.array([-np.finfo(float).max, -2.0, -1e-310, -0.0, 0.0, 1e-310, 0.3, 0.7, 1e300])
    bins = passes.bins_of(scores)
    assert (np.diff(bins) >= 0).all()
    assert bins[3] == bins[4]
    assert len(set(bins)) >= 6


def test_the_second_pass_brings_few_scores_together():
    scores = np.random.default_rng(5).normal(size=(1000, 64))
    _, tally = by_histogram(0.1, np.array_split(scores, 10), 8)
    assert tally.counts.sum() == scores.size
    assert len(tally.values) < scores.size / 100


def test_no_rows_at_all():
    found, _ = by_histogram(0.5, [np.empty((0, 2))] * 3, 2)
    np.testing.assert_array_equal(found, [np.inf, np.inf])


@pytest.mark.parametrize("n", [0, 1, 40])
def test_counts_of_parts_add_up(n):
    rng = np.random.default_rng(n)
    scores = rng.uniform(size=(n, 3))
    labels = (rng.uniform(size=(5, n, 3)) < scores).astype(np.int8)
    rule = SampledF()
    cuts = list(itertools.pairwise([0, n // 3, n // 2, n]))
    parts = [rule.counted(scores[a:b], lambda _, a=a, b=b: labels[:, a:b]) for a, b in cuts]
    found = passes._added(parts).thresholds()
    np.testing.assert_array_equal(found, rule.thresholds(scores, lambda _: labels))
