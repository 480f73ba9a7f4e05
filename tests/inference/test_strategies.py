"""Strategies are values, and their certificates hold."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from labelweave.inference import Exhaustive, Greedy
from labelweave.inference.strategy import Inference
from labelweave.joint import ChainJoint, IndependentJoint, Mode
from tests.joint.cases import chain_parameters, forms, label_counts, make, row_counts, seeds


@given(forms, seeds, row_counts, label_counts)
def test_exact_inference_beats_greedy(form, seed, n, L):
    joint, _ = make(form, seed, n, L)
    exact, greedy = Exhaustive()(joint), Greedy()(joint)
    assert (exact.log_prob >= greedy.log_prob - 1e-9).all()
    assert (greedy.upper_bound >= exact.log_prob - 1e-9).all()
    assert exact.labels.dtype == greedy.labels.dtype == np.int8


def test_greedy_misses_modes_and_does_not_claim_them():
    """Over many chains greedy must lose somewhere, or the comparison proves nothing."""
    rng = np.random.default_rng(0)
    joint = ChainJoint(*chain_parameters(rng, 300, 6))
    exact, greedy = joint.mode(Exhaustive()), joint.mode(Greedy())
    missed = exact.log_prob > greedy.log_prob + 1e-9
    assert 0 < missed.sum() < 300
    assert not greedy.optimal[missed].any()
    assert greedy.optimal.any()
    assert (greedy.gap[missed] >= (exact.log_prob - greedy.log_prob)[missed] - 1e-12).all()


def test_interval_bound_certifies_weak_couplings():
    rng = np.random.default_rng(1)
    scores, coupling, order = chain_parameters(rng, 50, 30, scale=3.0)
    joint = ChainJoint(np.sign(scores) * 0.2, np.zeros_like(coupling), order)
    greedy = joint.mode(Greedy())
    # Far too many labels for probability one half, but without couplings the bound is tight.
    assert greedy.optimal.all()
    np.testing.assert_allclose(greedy.gap, 0)


def test_a_vector_with_most_of_the_mass_is_the_mode():
    coupling = np.array([[0.0, 0.0], [9.0, 0.0]])
    assert ChainJoint([[3.0, -3.0]], coupling).mode(Greedy()).optimal.all()


def test_limits_are_named():
    joint = IndependentJoint(np.ones((2, 6)))
    with pytest.raises(ValueError, match=r"2\^6 .*limited to 5 .*Greedy\(\)"):
        Exhaustive(max_labels=5)(joint)
    assert Exhaustive(max_labels=5)(joint.condition({0: 1})).optimal.all()


def test_strategies_are_values():
    assert Greedy() == Greedy()
    assert Exhaustive(max_labels=3) != Exhaustive()
    assert Exhaustive(prune=False) != Exhaustive()
    assert repr(Exhaustive(max_labels=3)) == "Exhaustive(max_labels=3, prune=True)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        Exhaustive().max_labels = 4
    assert len({Greedy(), Greedy(), Exhaustive()}) == 2


def test_any_callable_is_a_strategy():
    def all_zero(joint):
        labels = np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)
        return Mode(labels, joint.log_prob(labels), np.zeros(joint.n_rows))

    strategy: Inference = all_zero
    mode = IndependentJoint([[1.0, -1.0]]).mode(strategy)
    assert mode.labels.tolist() == [[0, 0]]
    assert mode.gap > 0
    assert not mode.optimal.any()


@given(forms, seeds, row_counts, label_counts)
def test_enumeration_proves_what_the_pruned_search_finds(form, seed, n, L):
    joint, _ = make(form, seed, n, L)
    every, pruned = Exhaustive(prune=False)(joint), Exhaustive()(joint)
    np.testing.assert_allclose(every.log_prob, pruned.log_prob, atol=1e-9)
    assert every.optimal.all()


def test_enumeration_looks_at_every_vector(monkeypatch):
    """It asks for the whole table, where the pruned search never does."""
    joint, _ = make("chain", 3, 5, 6)
    tables = []
    log_table = type(joint)._table
    monkeypatch.setattr(
        type(joint),
        "_table",
        lambda self, free: tables.append(2 ** len(free)) or log_table(self, free),
    )
    Exhaustive()(joint)
    assert tables == []
    Exhaustive(prune=False)(joint)
    assert tables == [2**6]
    with pytest.raises(ValueError, match="limited to 5 unknown labels"):
        Exhaustive(max_labels=5, prune=False)(joint)
