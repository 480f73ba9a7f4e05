"""Deciding anew for a loss: `decide` of joint distributions and of models."""

import itertools

import numpy as np
import pytest
from hypothesis import given

from labelweave import BinaryRelevance, ClassifierChain
from labelweave.data import load
from labelweave.decision import (
    FLoss,
    HammingLoss,
    JaccardLoss,
    MinimumBayesRisk,
    PartialAbstention,
    PrecisionAtK,
)
from labelweave.decision.decide import LOSS_NAMES, decide
from labelweave.decision.utilities import Scenarios
from labelweave.inference import Greedy
from labelweave.joint import ChainJoint, IndependentJoint, JointDistribution
from labelweave.models.base import MultiLabelClassifier
from tests.joint.cases import forms, label_counts, make, make_with_oracle, row_counts, seeds


@pytest.mark.parametrize("loss", ["subset", "hamming", "f1", "jaccard", PrecisionAtK(2)])
def test_labels_with_their_expected_score(loss):
    joint, _ = make("mixture", seed=3, n=5, L=4)
    decided = joint.decide(loss)
    np.testing.assert_array_equal(decided.score, 1.0 - decided.risk)
    assert ((decided.score > 0) & (decided.score <= 1)).all()
    np.testing.assert_array_equal(decided.labels, decide(joint, loss).labels)


@given(forms, seeds, row_counts, label_counts)
def test_a_decision_for_f1_and_its_risk_together_or_apart(form, seed, n, L):
    joint, _ = make(form, seed=seed, n=n, L=L)
    loss, decided = FLoss(), joint.decide("f1")
    np.testing.assert_array_equal(decided.labels, loss(joint))
    np.testing.assert_array_equal(decided.risk, loss.risk(joint, decided.labels))


def test_sampled_quantities_serve_a_decision_and_its_risk(monkeypatch):
    rng = np.random.default_rng(0)
    coupling = np.tril(rng.normal(size=(40, 40)), -1)
    joint = ChainJoint(rng.normal(-2.0, 1.0, size=(3, 40)), coupling)
    labels = FLoss()(joint)
    risk = FLoss().risk(joint, labels)
    asked = []
    by_label = ChainJoint.cardinality_by_label
    monkeypatch.setattr(
        ChainJoint, "cardinality_by_label", lambda own: asked.append(own.n_rows) or by_label(own)
    )
    decided = joint.decide("f1")
    np.testing.assert_array_equal(decided.labels, labels)
    np.testing.assert_array_equal(decided.risk, risk)
    assert sum(asked) == 3


def test_a_loss_of_ones_own_decides_and_weighs_by_itself():
    class Cautious(FLoss):
        def __call__(self, joint, /):
            return np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)

        def risk(self, joint, labels):
            return super().risk(joint, labels) + 1.0

    joint = ChainJoint([[2.0, 2.0]], [[0.0, 0.0], [1.0, 0.0]])
    decided = decide(joint, Cautious())
    assert not decided.labels.any()
    np.testing.assert_array_equal(decided.risk, 1.0 + FLoss().risk(joint, decided.labels))


def test_models_decide_without_another_fit():
    data = load("emotions")
    model = ClassifierChain(C=0.01, label_penalty=0.03, inference=Greedy())
    model.fit(data.X[:300], data.Y[:300])
    X = data.X[300:320]
    np.testing.assert_array_equal(model.decide(X, "subset").labels, model.predict(X))
    for name in ("hamming", "f1", "jaccard"):
        by_name = model.decide(X, name).labels
        np.testing.assert_array_equal(by_name, model.set_params(decision=name).predict(X))


@pytest.mark.parametrize("loss", ["cmn", "macro_f1", lambda joint: joint.known])
def test_rules_for_test_sets_have_no_risk_of_rows(loss):
    joint, _ = make("chain", seed=1, n=2, L=3)
    with pytest.raises(ValueError, match="has no expected value for a single row"):
        joint.decide(loss)


def test_unknown_losses():
    joint, _ = make("chain", seed=1, n=2, L=3)
    names = ", ".join(map(repr, LOSS_NAMES))
    with pytest.raises(ValueError, match=f"loss must be {names} or"):
        joint.decide("f2")


@pytest.mark.parametrize("decide", [JointDistribution.decide, MultiLabelClassifier.decide])
def test_every_loss_is_named_where_one_decides(decide):
    assert [name for name in LOSS_NAMES if f'"{name}"' not in decide.__doc__] == []


# ---------------------------------------------------------------------- abstention


@given(forms, seeds, row_counts, label_counts)
def test_abstention_costs_least(form, seed, n, L):
    joint, rows = make_with_oracle(form, seed, n, L)
    loss = PartialAbstention(price=0.2, loss=HammingLoss(false_negative=2))
    decided = loss(joint)
    risk = loss.risk(joint, decided)
    for row, table in enumerate(rows):
        totals = []
        for labels in itertools.product((-1, 0, 1), repeat=L):
            wrong = {0: lambda t: 2.0 * t, 1: lambda t: 1.0 - t, -1: lambda t: 0.2}
            costs = [
                sum(p * wrong[y](truth[j]) for truth, p in table.items())
                for j, y in enumerate(labels)
            ]
            totals.append(sum(costs) / L)
        assert risk[row] == pytest.approx(min(totals), abs=1e-9)


def test_abstention_has_a_price():
    with pytest.raises(ValueError, match="price must be"):
        PartialAbstention(price=-0.1)
    joint, _ = make("chain", seed=1, n=4, L=3)
    assert (PartialAbstention(price=0.0)(joint) == -1).all()
    np.testing.assert_array_equal(PartialAbstention(price=0.5)(joint), HammingLoss()(joint))


def test_a_single_target_cannot_stay_open():
    data = load("emotions")
    model = BinaryRelevance(C=0.01, decision=PartialAbstention(price=0.01))
    model.fit(data.X, data.Y[:, 0])
    with pytest.raises(ValueError, match="no class for labels that stay open"):
        model.predict(data.X[:50])
    assert (model.decide(data.X[:50], PartialAbstention(price=0.01)).labels == -1).any()


# ---------------------------------------------------------------------- many labels


def many_labels(n=6, L=12):
    random = np.random.default_rng(0)
    coupling = np.tril(random.normal(size=(L, L)), -1)
    return ChainJoint(random.normal(-1.0, 1.0, size=(n, L)), coupling)


def test_scenarios_stand_for_the_whole_distribution():
    joint = many_labels()
    scenarios = Scenarios.of(joint, n_listed=200, n_draws=2000)
    np.testing.assert_allclose(scenarios.weights.sum(axis=1), 1.0)
    listed = joint.top(200)
    np.testing.assert_allclose(scenarios.weights[:, :200], np.exp(listed.log_prob), rtol=1e-9)
    means = np.einsum("nm,nml->nl", scenarios.weights, scenarios.labels)
    np.testing.assert_allclose(means, joint.marginals(), atol=0.02)


def test_many_labels_are_decided_nearly_as_well():
    joint = many_labels()
    everything = joint.top(2**12)
    truth, weights = everything.labels.astype(float), np.exp(everything.log_prob)

    def expected(labels):
        both = np.einsum("nml,nl->nm", truth, labels)
        union = truth.sum(axis=2) + labels.sum(axis=1, keepdims=True) - both
        return (weights * np.where(union > 0, both / np.maximum(union, 1), 1.0)).sum(axis=1)

    decided = joint.decide("jaccard")
    np.testing.assert_allclose(decided.score, expected(decided.labels), atol=0.02)
    # A local optimum of the exact expectation is hardly better.
    for label in range(12):
        flipped = decided.labels.copy()
        flipped[:, label] ^= 1
        assert (expected(flipped) <= expected(decided.labels) + 0.02).all()


def test_a_utility_by_another_way():
    joint = IndependentJoint(np.random.default_rng(0).normal(-1, 1.5, size=(8, 11)))

    def f1(truth, predicted):
        both = (truth & predicted).sum(axis=-1)
        size = truth.sum(axis=-1, dtype=int) + predicted.sum(axis=-1, dtype=int)
        return np.where(size > 0, 2 * both / np.maximum(size, 1), 1.0)

    own = MinimumBayesRisk(f1, n_draws=2000)(joint)
    risk = FLoss().risk(joint, own)
    assert (risk <= joint.decide("f1").risk + 0.01).all()


def test_bad_utilities():
    joint = many_labels()
    with pytest.raises(ValueError, match="utility returned NaN"):
        MinimumBayesRisk(lambda t, p: np.full(np.broadcast(t, p).shape[:-1], np.nan))(joint)
    with pytest.raises(ValueError, match="utility must be a function"):
        MinimumBayesRisk("f1")
    with pytest.raises(ValueError, match="utility must return one number per pair"):
        MinimumBayesRisk(lambda truth, predicted: truth == predicted)(joint)
    with pytest.raises(ValueError, match="n_draws must be"):
        JaccardLoss(n_draws=0)
