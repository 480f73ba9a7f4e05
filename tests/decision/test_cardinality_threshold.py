"""One threshold for all labels: as many labels a row as in training, whatever has the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.decision import (
    CardinalityThreshold,
    ClassMassNormalization,
    ExpectedF,
    FixedThreshold,
    MajorityVote,
    TunedThresholds,
)
from labelweave.decision.decide import resolve_score_rule
from labelweave.inference import Greedy
from labelweave.joint import IndependentJoint, MixtureJoint


def all_labelings(scores):
    """Return what any threshold at all gives, from no label to all of them."""
    thresholds = [np.inf, *np.sort(np.unique(scores))[::-1], -np.inf]
    return [(scores > t).astype(int) for t in thresholds]


@st.composite
def test_sets(draw):
    """Return scores with many ties or none, and a label cardinality."""
    shape = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.uniform(-1, 1, shape).round(draw(st.sampled_from([0, 1, 9])))
    # Quarters: distances to them are exact, so that ties between thresholds are.
    return scores, draw(st.integers(0, 4 * shape[1])) / 4


test_sets.__test__ = False


@given(test_sets())
def test_no_threshold_comes_closer(case):
    scores, cardinality = case
    candidates = all_labelings(scores)
    distances = [abs(labels.sum() - cardinality * len(scores)) for labels in candidates]
    rule = CardinalityThreshold(cardinality)
    # Of thresholds that are equally close, `index` finds the highest.
    np.testing.assert_array_equal(rule.label(scores), candidates[distances.index(min(distances))])
    assert len(set(rule.thresholds(scores))) == 1


@given(test_sets())
def test_only_the_order_of_the_scores_counts(case):
    scores, cardinality = case
    rule = CardinalityThreshold(cardinality)
    np.testing.assert_array_equal(rule.label(scores), rule.label(np.exp(3 * scores)))


@given(test_sets())
def test_of_one_label_it_is_class_mass_normalization(case):
    scores, cardinality = case
    column, rate = scores[:, :1], cardinality / scores.shape[1]
    np.testing.assert_array_equal(
        CardinalityThreshold(rate).thresholds(column),
        ClassMassNormalization([rate], fallback=None).thresholds(column),
    )


def test_training_provides_the_cardinality():
    rates = [0.5, 0.25, 1.0]
    assert CardinalityThreshold().informed(rates) == CardinalityThreshold(1.75)
    assert CardinalityThreshold(0.3).informed(rates) == CardinalityThreshold(0.3)
    # Sums of quotients: ten times a tenth may be more than one.
    ones = CardinalityThreshold().informed(np.full(3, 1 + 1e-15))
    assert ones.label([[0.1, 0.2, 0.3]]).all()


def test_bad_cardinalities():
    with pytest.raises(ValueError, match="needs cardinality=, the mean number of labels"):
        CardinalityThreshold().thresholds([[0.5]])
    with pytest.raises(ValueError, match=r"at most the number of labels, 2; got 2\.5"):
        CardinalityThreshold(2.5).thresholds([[0.1, 0.2]])
    for bad in (-0.1, np.nan, "1"):
        with pytest.raises(ValueError, match="cardinality must be None or a finite number"):
            CardinalityThreshold(bad)


def ensemble(votes):
    """Return the uniform mixture of components that vote so, (K, n, L)."""
    members = [IndependentJoint(np.where(v, 1.0, -1.0)) for v in votes]
    return MixtureJoint(np.full(len(members), 1 / len(members)), members)


@given(st.integers(1, 11), st.integers(1, 8), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_votes_are_cut_by_the_rule(n_members, n, n_labels, seed):
    votes = np.random.default_rng(seed).integers(0, 2, (n_members, n, n_labels))
    counts, joint = votes.sum(axis=0), ensemble(votes)
    rates = np.linspace(0.25, 0.75, n_labels)
    published = MajorityVote.preset("published").informed(rates)
    expected = CardinalityThreshold(rates.sum()).label(counts)
    # Shares are sums of 1/K, counts are whole: whoever has as many votes must have the same share.
    np.testing.assert_array_equal(published(joint), expected)
    np.testing.assert_array_equal(MajorityVote()(joint), counts > n_members / 2)


def test_what_a_vote_needs():
    assert "rows" not in MajorityVote().needs
    assert "rows" not in MajorityVote(threshold=TunedThresholds(values=[0.2])).needs
    assert "rows" in MajorityVote.preset("published").needs
    assert MajorityVote(threshold=0.4).informed([0.5]) == MajorityVote(threshold=0.4)


def test_one_model_has_the_only_vote():
    joint = IndependentJoint(np.array([[3.0, -1.0], [1.0, 2.0]]))
    np.testing.assert_array_equal(MajorityVote()(joint), joint.mode(Greedy()).labels)
    vote = MajorityVote(threshold=FixedThreshold(0.0))
    np.testing.assert_array_equal(vote(joint), joint.mode(Greedy()).labels)
    assert MajorityVote(threshold=ExpectedF())(joint).shape == (2, 2)


def test_bad_votes():
    with pytest.raises(ValueError, match="threshold must be a ThresholdRule or a finite number"):
        MajorityVote(threshold="lcard")
    with pytest.raises(ValueError, match="MajorityVote needs probabilities"):
        resolve_score_rule(MajorityVote())
