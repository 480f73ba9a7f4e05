"""A decision for a loss has the least expected loss of all label vectors."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.decision import (
    FLoss,
    HammingLoss,
    JaccardLoss,
    MinimumBayesRisk,
    RankingLoss,
    SubsetLoss,
    UnprovenModeWarning,
)
from labelweave.decision.decide import resolve_decision
from labelweave.inference import Auto, BestFirst, Exhaustive, Greedy
from labelweave.joint import ChainJoint, MixtureJoint
from tests.joint.cases import forms, label_counts, make, make_with_oracle, row_counts, seeds


def subset(y, truth):
    return float(y != truth)


def hamming(y, truth):
    return float(np.mean(np.array(y) != np.array(truth)))


def f_measure(y, truth, beta=1.0):
    if not any(y) and not any(truth):
        return 0.0
    both = sum(a and b for a, b in zip(y, truth, strict=True))
    return 1.0 - (1 + beta**2) * both / (beta**2 * sum(truth) + sum(y))


def f_half(y, truth):
    return f_measure(y, truth, beta=0.5)


def cost(y, truth):
    return float(np.mean([3.0 * (b > a) + 0.5 * (b < a) for a, b in zip(y, truth, strict=True)]))


def jaccard(y, truth):
    union = sum(a or b for a, b in zip(y, truth, strict=True))
    return 1.0 - sum(a and b for a, b in zip(y, truth, strict=True)) / union if union else 0.0


def pairs_lost(y, truth):
    """Pairs of a true and a false label that are in the wrong order; half of those in none."""
    true = [a for a, b in zip(y, truth, strict=True) if b]
    false = [a for a, b in zip(y, truth, strict=True) if not b]
    return sum((a < b) + (a == b) / 2 for a in true for b in false)


def ranking(y, truth):
    n_pairs = sum(truth) * (len(truth) - sum(truth))
    return pairs_lost(y, truth) / n_pairs if n_pairs else 0.0


def own(y, truth):
    return 1.0 - (2.0 * (y[0] == truth[0]) - abs(sum(y) - sum(truth)))


def own_utility(truth, predicted):
    of_size = truth.sum(axis=-1, dtype=int) - predicted.sum(axis=-1, dtype=int)
    return 2.0 * (truth == predicted)[..., 0] - np.abs(of_size)


LOSSES = {
    subset: SubsetLoss(),
    hamming: HammingLoss(),
    cost: HammingLoss(false_positive=0.5, false_negative=3),
    f_measure: FLoss(),
    f_half: FLoss(beta=0.5),
    jaccard: JaccardLoss(),
    ranking: RankingLoss(),
    pairs_lost: RankingLoss(normalized=False),
    own: MinimumBayesRisk(own_utility),
}


@given(forms, seeds, row_counts, label_counts, st.sampled_from(list(LOSSES)))
def test_decisions_minimise_the_expected_loss(form, seed, n, L, definition):
    joint, rows = make_with_oracle(form, seed, n, L)
    loss = LOSSES[definition]
    decided = loss(joint)
    assert decided.shape == (n, L)
    assert decided.dtype == np.int8
    for y in itertools.product((0, 1), repeat=L):
        expected = [sum(p * definition(y, t) for t, p in table.items()) for table in rows]
        risk = loss.risk(joint, np.tile(y, (n, 1)))
        np.testing.assert_allclose(risk, expected, atol=1e-9)
        assert (loss.risk(joint, decided) <= risk + 1e-9).all()


@given(forms, seeds, row_counts, label_counts, st.sampled_from([ranking, pairs_lost]))
def test_no_ranking_loses_fewer_pairs(form, seed, n, L, definition):
    joint, rows = make_with_oracle(form, seed, n, L)
    loss = LOSSES[definition]
    least = loss.ranking_risk(joint, loss.scores(joint))
    # Every order, and orders with ties.
    for scores in {*itertools.permutations(range(L)), *itertools.product((0, 1, 2), repeat=L)}:
        expected = [sum(p * definition(scores, t) for t, p in table.items()) for table in rows]
        risk = loss.ranking_risk(joint, np.tile(scores, (n, 1)))
        np.testing.assert_allclose(risk, expected, atol=1e-9)
        assert (least <= risk + 1e-9).all()


def test_a_ranking_has_a_number_for_every_label():
    joint, _ = make("chain", seed=1, n=2, L=3)
    for scores in (np.zeros((2, 2)), np.full((2, 3), np.nan)):
        with pytest.raises(ValueError, match="scores must be numbers of shape"):
            RankingLoss().ranking_risk(joint, scores)
    with pytest.raises(ValueError, match="normalized must be"):
        RankingLoss(normalized="yes")


def test_subset_and_hamming_can_disagree():
    joint, _ = make("table", seed=1, n=60, L=3)
    assert (SubsetLoss()(joint) != HammingLoss()(joint)).any()


def test_subset_loss_uses_its_inference():
    joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    assert SubsetLoss(Greedy())(joint).tolist() == [[1, 0]]
    assert SubsetLoss(Exhaustive())(joint).tolist() == [[0, 0]]
    assert SubsetLoss()(joint).tolist() == [[0, 0]]
    assert SubsetLoss()(joint.with_inference(Greedy())).tolist() == [[1, 0]]
    assert SubsetLoss(Exhaustive())(joint.with_inference(Greedy())).tolist() == [[0, 0]]


def test_names():
    assert resolve_decision("subset") == SubsetLoss()
    assert resolve_decision("hamming") == HammingLoss()
    assert resolve_decision("f1") == FLoss()
    assert resolve_decision("jaccard") == JaccardLoss()
    assert resolve_decision("ranking") == RankingLoss()
    own = HammingLoss()
    assert resolve_decision(own) is own


@pytest.mark.parametrize("decision", ["F1", "Subset", None, 3])
def test_unknown_decisions(decision):
    with pytest.raises(ValueError, match="decision must be 'subset', 'hamming'"):
        resolve_decision(decision)


def test_hamming_risk_checks_labels():
    joint, _ = make("chain", seed=1, n=2, L=3)
    for labels in (np.zeros((2, 2)), np.full((2, 3), 2)):
        with pytest.raises(ValueError, match="labels must"):
            HammingLoss().risk(joint, labels)


@pytest.mark.parametrize("costs", [-1, np.nan, [1, np.inf], [[1.0]], "a"])
def test_costs_are_not_negative(costs):
    with pytest.raises(ValueError, match="false_negative must be a cost of at least 0"):
        HammingLoss(false_negative=costs)


def test_costs_of_labels():
    joint, _ = make("chain", seed=1, n=4, L=3)
    loss = HammingLoss(false_positive=np.array([0, 1, 1]), false_negative=[1, 0, 1])
    assert loss == HammingLoss([0.0, 1.0, 1.0], (1, 0, 1))
    decided = loss(joint)
    assert decided[:, 0].all()
    assert not decided[:, 1].any()
    np.testing.assert_array_equal(decided[:, 2], HammingLoss()(joint)[:, 2])
    with pytest.raises(ValueError, match="false_positive has 2 costs, but there are 3 labels"):
        HammingLoss([1, 2])(joint)


@pytest.mark.parametrize("beta", [0, -1, np.inf, np.nan])
def test_beta_is_positive(beta):
    with pytest.raises(ValueError, match="beta must be a number above 0"):
        FLoss(beta)


def test_a_mode_that_is_sought_and_not_proven_is_told():
    random = np.random.default_rng(0)
    coupling = 0.1 * np.tril(random.normal(size=(100, 100)), -1)
    flat = ChainJoint(0.1 * random.normal(size=(3, 100)), coupling)
    for strategy in (Auto(budget=20), BestFirst(budget=20)):
        with pytest.warns(
            UnprovenModeWarning, match="3 of 3 rows have the best label vector found"
        ):
            labels = SubsetLoss(strategy)(flat)
        np.testing.assert_array_equal(labels, strategy(flat).labels)
    for strategy, call in ((Auto(), "mode()"), (BestFirst(20), f"mode({BestFirst(20)!r})")):
        with pytest.warns(UnprovenModeWarning) as caught:
            flat.with_inference(strategy).decide("subset")
        message = str(caught[0].message)
        assert f"predict_joint(X).{call}.gap" in message
        assert f"up to {flat.mode(strategy).gap.max():.2g} nats" in message
        assert "Auto(budget=...) searches longer with a larger budget" in message
    SubsetLoss(Greedy())(flat)  # never meant to prove anything
    SubsetLoss(BestFirst())(ChainJoint(np.full((3, 40), 4.0), np.zeros((40, 40))))


def test_the_warning_of_a_mixture_names_a_search_that_tells_more():
    random = np.random.default_rng(0)
    chains = [
        ChainJoint(
            0.2 * random.normal(size=(3, 40)), 0.2 * np.tril(random.normal(size=(40, 40)), -1)
        )
        for _ in range(3)
    ]
    mixture = MixtureJoint(np.ones(3) / 3, chains)
    with pytest.warns(UnprovenModeWarning, match=r"Auto\(budget=...\) searches longer"):
        mixture.decide("subset")
    for joint in (mixture, chains[0]):
        assert (joint.mode(Auto(budget=30_000)).gap < joint.mode().gap - 0.05).any()
