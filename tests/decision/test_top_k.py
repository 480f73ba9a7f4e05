"""A fixed number of labels: the best set of that size, and the best order of it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.decision import NDCGAtK, PrecisionAtK, RecallAtK
from labelweave.joint import IndependentJoint
from tests.joint.cases import forms, label_counts, make, make_with_oracle, row_counts, seeds


def precision(ranking, truth):
    return sum(truth[j] for j in ranking) / len(ranking)


def recall(ranking, truth):
    return sum(truth[j] for j in ranking) / sum(truth) if any(truth) else 1.0


def ndcg(ranking, truth):
    gain = sum(truth[j] / math.log2(rank + 2) for rank, j in enumerate(ranking))
    best = sum(1 / math.log2(rank + 2) for rank in range(min(len(ranking), sum(truth))))
    return gain / best if best else 1.0


LOSSES = {precision: PrecisionAtK, recall: RecallAtK, ndcg: NDCGAtK}


@given(forms, seeds, row_counts, label_counts, st.sampled_from(list(LOSSES)), st.integers(1, 6))
def test_no_ranking_is_better(form, seed, n, L, measure, k):
    joint, rows = make_with_oracle(form, seed, n, L)
    loss = LOSSES[measure](k)
    decided = loss(joint)
    assert (decided.sum(axis=1) == min(k, L)).all()
    expected = 1.0 - loss.risk(joint, decided)
    order = np.argsort(-loss.scores(joint), axis=1, kind="stable")[:, :k]
    for row, table in enumerate(rows):
        best = max(
            sum(p * measure(ranking, truth) for truth, p in table.items())
            for ranking in itertools.permutations(range(L), min(k, L))
        )
        own = sum(p * measure(order[row].tolist(), truth) for truth, p in table.items())
        assert expected[row] == pytest.approx(best, abs=1e-9)
        assert own == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("k", [0, -1, 1.5, None])
def test_k_is_a_whole_number(k):
    with pytest.raises(ValueError, match="k must be"):
        PrecisionAtK(k)


def test_risk_checks_labels():
    joint, _ = make("chain", seed=1, n=2, L=3)
    with pytest.raises(ValueError, match="labels must"):
        RecallAtK(1).risk(joint, np.zeros((2, 2)))


def test_labels_that_are_almost_certain_keep_their_order():
    joint = IndependentJoint([[40.0, 60.0, 1e4, 50.0]])
    assert (joint.marginals() == 1).all()
    assert PrecisionAtK(2)(joint).tolist() == [[0, 1, 1, 0]]
