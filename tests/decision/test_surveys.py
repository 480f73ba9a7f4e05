"""Test sets that come in parts: the thresholds are those of all rows at once."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.decision import (
    CardinalityThreshold,
    ClassMassNormalization,
    ExpectedF,
    MajorityVote,
    Probabilities,
    SampledF,
)
from labelweave.decision.rank_search import Ranks, RankSearch, passes_over
from labelweave.decision.threshold_rule import cut_between, possible_cuts


def surveyed(survey, parts, draws=None, arity=2):
    """Go through the parts as often as the survey asks for, and merge in a tree."""
    for _ in range(survey.passes):
        if survey.finished:
            break
        draws_of = draws or [None] * len(parts)
        level = [survey.summary(*pair) for pair in zip(parts, draws_of, strict=True)]
        while len(level) > 1:
            level = [survey.merge(level[k : k + arity]) for k in range(0, len(level), arity)]
        survey = survey.conclude(level[0])
    assert survey.finished
    return survey.thresholds()


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
    scores = rng.uniform(-1, 1, (n, n_labels))
    if (digits := draw(st.sampled_from([None, 0, 1]))) is not None:
        scores = scores.round(digits)
    if draw(st.booleans()):
        scores = np.sort(scores, axis=0)  # every part has its own range
    ends = sorted(draw(st.lists(st.integers(0, n), max_size=8)))
    rates = [draw(st.sampled_from([0.0, 1 / n, 0.3, 0.5, 1 - 1 / n, 1.0])) for _ in range(n_labels)]
    return scores, np.split(scores, ends), np.array(rates)


@given(parted_scores(), st.integers(4, 12), st.integers(1, 5), st.integers(2, 4))
def test_class_mass_normalization_by_any_number_of_points_and_passes(case, points, passes, arity):
    scores, parts, rates = case
    rule = ClassMassNormalization(rates=rates, fallback=None)
    search = replace(RankSearch.of(rates, rule._cut, passes), points=points)
    found = surveyed(search, parts, arity=arity)
    expected = [
        nearest_cut(s, r) if r < 1 else -np.inf for s, r in zip(scores.T, rates, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(rule.thresholds(scores), expected)


@given(parted_scores(), st.sampled_from([0.0, 0.5, 2.0, 7.0]))
def test_surveys_of_class_mass_normalization(case, least_rows):
    scores, parts, rates = case
    rule = ClassMassNormalization(rates=rates, least_rows=least_rows)
    expected = rule.thresholds(scores)
    for n_rows in (None, len(scores)):
        found = surveyed(rule.survey(scores.shape[1], n_rows), parts)
        np.testing.assert_array_equal(found, expected)


@given(parted_scores(), st.integers(4, 12), st.integers(1, 5), st.integers(2, 4))
def test_one_threshold_for_all_labels_by_any_number_of_points_and_passes(
    case, points, passes, arity
):
    scores, parts, rates = case
    rule = CardinalityThreshold().informed(rates)
    survey = rule.survey(scores.shape[1], len(scores))
    survey = replace(survey, search=replace(survey.search, passes=passes, points=points))
    found = surveyed(survey, parts, arity=arity)
    np.testing.assert_array_equal(found, rule.thresholds(scores))


@given(parted_scores())
def test_surveys_of_log_odds_know_their_units(case):
    """Thresholds are log-odds too, also that of a label expected on too few rows."""
    scores, parts, rates = case
    nothing = np.empty((0, scores.shape[1]))  # a part without rows has plain scores
    for rule in (ClassMassNormalization(rates=rates), CardinalityThreshold(rates.sum())):
        survey = rule.survey(scores.shape[1], len(scores))
        held = [nothing, *(Probabilities(1e4 * part) for part in parts)]
        found, expected = surveyed(survey, held), rule.thresholds(Probabilities(1e4 * scores))
        assert isinstance(found, Probabilities)
        np.testing.assert_array_equal(found.log_odds, expected.log_odds)
    rare = ClassMassNormalization(rates=np.full(scores.shape[1], 1e-3), fallback=0.9)
    np.testing.assert_allclose(rare.thresholds(Probabilities(scores)).log_odds, np.log(9))


@given(parted_scores())
def test_surveys_of_votes_are_those_of_their_rule(case):
    scores, parts, rates = case
    vote = MajorityVote.preset("published").informed(rates)
    for n_rows in (None, len(scores)):
        found = surveyed(vote.survey(scores.shape[1], n_rows), parts)
        np.testing.assert_array_equal(found, vote.thresholds(scores))


@given(parted_scores(), st.integers(4, 10))
def test_what_is_left_of_a_summary_stays_true(case, points):
    scores, parts, _ = case
    column = [part[:, 0] for part in parts]
    ranks = Ranks.merged([Ranks.of(s, -np.inf, np.inf).pruned(points) for s in column])
    ranks = ranks.pruned(points)
    assert len(ranks.points) <= max(points, 4)
    above = (scores[:, 0] > ranks.points[:, None]).sum(axis=1)
    assert (ranks.surely_above() <= above).all()
    assert (above <= ranks.possibly_above()).all()
    descending = -np.sort(-scores[:, 0])
    for rank, score in enumerate(descending):
        low, high = ranks.bounds(rank, -np.inf, np.inf)
        assert low < score <= high


def test_a_pass_leaves_few_rows_undecided():
    rng = np.random.default_rng(5)
    parts = [rng.normal(size=1000) for _ in range(64)]
    level = [Ranks.of(part, -np.inf, np.inf).pruned(200) for part in parts]
    while len(level) > 1:
        level = [Ranks.merged(level[k : k + 8]).pruned(200) for k in range(0, len(level), 8)]
    everything = np.concatenate(parts)
    for rank in (0, 100, 32_000, 63_999):
        low, high = level[0].bounds(rank, -np.inf, np.inf)
        inside = ((everything > low) & (everything <= high)).sum()
        assert inside <= 16 * len(everything) / 200


@pytest.mark.parametrize("n", [0, 1, 40])
def test_counts_of_parts_add_up(n):
    rng = np.random.default_rng(n)
    scores = rng.uniform(size=(n, 3))
    labels = (rng.uniform(size=(5, n, 3)) < scores).astype(np.int8)
    rule = SampledF()
    cuts = [0, n // 3, n // 2, n]
    parts = [scores[a:b] for a, b in itertools.pairwise(cuts)]
    draws = [lambda _, a=a, b=b: labels[:, a:b] for a, b in itertools.pairwise(cuts)]
    found = surveyed(rule.survey(3), parts, draws)
    np.testing.assert_array_equal(found, rule.thresholds(scores, lambda _: labels))


@pytest.mark.parametrize(
    "rule", [ClassMassNormalization(rates=np.array([0.4])), CardinalityThreshold(0.4)]
)
def test_a_search_travels(rule):
    scores = np.linspace(0, 1, 20)[:, None]
    survey = pickle.loads(pickle.dumps(rule.survey(1, 20)))
    np.testing.assert_array_equal(surveyed(survey, [scores]), rule.thresholds(scores))


def test_more_rows_need_more_passes():
    numbers = [passes_over(10**k, 100) for k in range(10)]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[6]) == (1, 2)


def test_a_rule_that_has_to_see_all_rows():
    assert ExpectedF().survey(3, 10) is None
    assert ExpectedF().by_label
