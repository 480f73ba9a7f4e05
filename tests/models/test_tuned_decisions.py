"""Decisions that are tuned on rows which `fit` holds out by itself."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB

from labelweave import (
    BayesianOnlineClassifier,
    BestJoint,
    BinaryRelevance,
    ChainEnsemble,
    ClassifierChain,
    JointClassifierCV,
    LabelPowerset,
    MLkNN,
    ThresholdedSVM,
)
from labelweave._common.folds import assign_folds
from labelweave.decision import FixedThreshold, MajorityVote, TunedThresholds
from labelweave.decision.decide import resolve_decision
from labelweave.decision.probabilities import Probabilities
from labelweave.joint import IndependentJoint
from labelweave.models.cross_fitting import N_FOLDS
from labelweave.persistence import load_model, save_model
from tests.decision.tuning import tune_common_threshold, tune_thresholds

DECISIONS = ("macro_f1", "micro_f1")


def sample(n=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    Y = (X[:, :3] + rng.normal(size=(n, 3)) > [0, 1, 1.5]).astype(int)
    return X, Y


X, Y = sample()


def held_out_probabilities(make, weight=None, seed=None):
    """Fit to the other folds, by scikit-learn's means; thresholds lie between log-odds."""
    seed = BinaryRelevance()._seed() if seed is None else seed
    total = np.ones(len(X)) if weight is None else weight
    fold, _ = assign_folds(X, total, N_FOLDS, seed)
    scores = np.empty(Y.shape)
    for k in range(N_FOLDS):
        for label in range(Y.shape[1]):
            model = make().fit(X[fold != k], Y[fold != k, label], sample_weight=total[fold != k])
            scores[fold == k, label] = model.predict_proba(X[fold == k])[:, 1]
    return Probabilities.of(scores)


@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_are_those_of_rows_held_out_by_hand(weighted):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    scores = held_out_probabilities(lambda: LogisticRegression(C=0.7, tol=1e-10), weight)
    micro = BinaryRelevance(C=0.7, decision="micro_f1").fit(X, Y, weight)
    expected = tune_common_threshold(scores, Y, weight)
    np.testing.assert_allclose(micro.thresholds_, np.full(3, np.asarray(expected)), rtol=1e-5)
    macro = BinaryRelevance(C=0.7, decision="macro_f1").fit(X, Y, weight)
    expected = resolve_decision("macro_f1").informed(
        Y.mean(axis=0), (scores, Y, np.ones(len(X)) if weight is None else weight)
    )
    np.testing.assert_allclose(macro.thresholds_, expected.values, rtol=1e-5)
    np.testing.assert_array_equal(macro.predict(X), macro.predict_proba(X) > macro.thresholds_)


def test_any_classifier_is_cross_fitted():
    binary = X > 0
    model = BinaryRelevance(estimator=BernoulliNB(), decision=TunedThresholds(average="micro")).fit(
        binary, Y
    )
    fold, _ = assign_folds(binary.astype(float), np.ones(len(X)), N_FOLDS, model._seed())
    scores = np.empty(Y.shape)
    for k in range(N_FOLDS):
        other = MultiOutputClassifier(BernoulliNB()).fit(binary[fold != k], Y[fold != k])
        found = other.predict_proba(binary[fold == k])
        scores[fold == k] = np.column_stack([each[:, 1] for each in found])
    expected = tune_common_threshold(Probabilities.of(scores), Y)
    assert model.rule_.values.log_odds == pytest.approx(float(expected.log_odds))


def test_chosen_penalties_are_those_of_all_rows():
    model = BinaryRelevance(decision="macro_f1").fit(X, Y)
    same = BinaryRelevance(C=model.C_, decision="macro_f1").fit(X, Y)
    np.testing.assert_array_equal(same.thresholds_, model.thresholds_)


MODELS = {
    "br": BinaryRelevance(C=1.0),
    "chain": ClassifierChain(C=1.0, label_penalty=0.1),
    "neighbours": MLkNN(n_neighbors=5),
    "stacked": JointClassifierCV(
        estimator=BernoulliNB(), joint=ClassifierChain(C=1.0, label_penalty=0.1), cv=3
    ),
    "online": BayesianOnlineClassifier(),
    "best": BestJoint(candidates=["br(C=1.0)", "pcc(C=1.0,label_penalty=0.1)"], cv=2),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("decision", ["macro_f1", "micro_f1"])
def test_any_estimator_tunes_its_decision(name, decision, tmp_path):
    model = clone(MODELS[name]).set_params(decision=decision).fit(X, Y)
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, model.predict_proba(X) > model.thresholds_)
    assert "held_out" not in model.threshold_rule().needs
    np.testing.assert_array_equal(model.predict_above(X[:9], model.thresholds_), labels[:9])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), labels)
    save_model(model, tmp_path / "model.skops")
    kept = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(kept.predict(X), labels)
    np.testing.assert_array_equal(kept.thresholds_, model.thresholds_)


@pytest.mark.parametrize("decision", DECISIONS)
def test_neither_the_order_of_rows_nor_threads_matter(decision):
    order = np.random.default_rng(2).permutation(len(X))
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    model = ClassifierChain(C=1.0, label_penalty=0.1, decision=decision).fit(X, Y, weight)
    moved = clone(model).set_params(n_jobs=2).fit(X[order], Y[order], weight[order])
    np.testing.assert_allclose(moved.thresholds_, model.thresholds_, rtol=1e-6)
    np.testing.assert_array_equal(moved.predict(X), model.predict(X))
    threads = clone(model).set_params(n_jobs=2).fit(X, Y, weight)
    np.testing.assert_array_equal(threads.thresholds_, model.thresholds_)


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_row_of_weight_two_is_two_rows(decision):
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weight)
    model = BinaryRelevance(C=1.0, decision=decision).fit(X, Y, weight)
    repeated = clone(model).fit(X[rows], Y[rows])
    np.testing.assert_allclose(repeated.thresholds_, model.thresholds_, rtol=1e-6)


@pytest.mark.parametrize("decision", DECISIONS)
def test_constant_labels(decision):
    labels = np.column_stack([Y, np.zeros(len(Y), int), np.ones(len(Y), int)])
    predicted = BinaryRelevance(C=1.0, decision=decision).fit(X, labels).predict(X)
    np.testing.assert_array_equal(predicted[:, 3:], labels[:, 3:])


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("rows", [[0], [0, 0, 0], [0, 1]])
def test_too_few_rows_to_hold_any_out(decision, rows):
    model = BinaryRelevance(C=1.0, decision=decision).fit(X[rows], Y[rows])
    assert model.predict(X).shape == Y.shape
    if len(set(rows)) == 1:
        assert model.threshold_rule() == FixedThreshold()


def test_one_dimensional_targets_and_names():
    y = np.array(["no", "yes"])[Y[:, 1]]
    model = LabelPowerset(C=1.0, decision="macro_f1").fit(X, y)
    yes = model.predict_proba(X)[:, 1] > model.thresholds_[0]
    np.testing.assert_array_equal(model.predict(X), np.where(yes, "yes", "no"))


def test_votes_can_be_tuned_too():
    rule = MajorityVote(threshold=TunedThresholds())
    model = ChainEnsemble(n_estimators=3, C=1.0, label_penalty=0.1, decision=rule).fit(X, Y)
    shares = rule.shares(model.predict_joint(X))
    np.testing.assert_array_equal(model.predict(X), shares > model.thresholds_)


def test_another_decision_without_a_new_fit():
    model = BinaryRelevance(C=1.0, decision="macro_f1").fit(X, Y)
    tuned = model.predict(X)
    for other in (
        "micro_f1",
        TunedThresholds(fbr=0.3),
        MajorityVote(threshold=TunedThresholds(average="micro")),
    ):
        model.set_params(decision=other)
        with pytest.raises(ValueError, match=r"decision .* call fit again, or choose"):
            model.predict(X)
    model.set_params(decision="hamming")
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.5)
    for same in (TunedThresholds(smoothing=30),):  # the same rule by its class
        model.set_params(decision=same)
        np.testing.assert_array_equal(model.predict(X), tuned)
    model.set_params(decision="hamming").fit(X, Y)
    assert not hasattr(model, "rule_")
    with pytest.raises(AttributeError, match="decision such as 'macro_f1'"):
        model.thresholds_  # noqa: B018


def test_values_of_ones_own_need_no_rows():
    rule = TunedThresholds(values=[0.3, 0.6, 0.2])
    model = BinaryRelevance(C=1.0, decision=rule).fit(X, Y)
    assert not hasattr(model, "rule_")
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > rule.values)


def test_streams_have_no_rows_to_hold_out():
    model = BayesianOnlineClassifier(decision="macro_f1")
    with pytest.raises(AttributeError, match="partial_fit") as raised:
        model.partial_fit(X, Y)
    assert "needs all rows at once" in str(raised.value.__cause__)


@pytest.mark.parametrize("decision", ["macro_f1", "micro_f1"])
def test_scores_are_tuned_as_probabilities_are(decision):
    model = ThresholdedSVM(C=1.0, cv=2, decision=decision).fit(X, Y)
    same = set(model.thresholds_)
    assert len(same) == (1 if decision == "micro_f1" else 3)
    if decision == "macro_f1":
        scut = ThresholdedSVM(C=1.0, cv=2).fit(X, Y)
        np.testing.assert_array_equal(scut.thresholds_, model.thresholds_)


def test_tuning_pays_on_the_rows_it_is_tuned_on():
    scores = np.asarray(held_out_probabilities(lambda: LogisticRegression(C=0.7)))
    limits = np.unique(scores)
    for label, best in enumerate(tune_thresholds(scores, Y)):
        f1 = [_f1(scores[:, label] > t, Y[:, label]) for t in [-1.0, *limits]]
        assert _f1(scores[:, label] > best, Y[:, label]) == max(f1)
    f1 = [_f1(scores > t, Y) for t in [-1.0, *limits]]
    assert _f1(scores > tune_common_threshold(scores, Y), Y) == max(f1)


def _f1(given, truth):
    return 2 * (given * truth).sum() / (given.sum() + truth.sum())


class TooSure(BinaryRelevance):
    """Its marginals are rounded to 1 in every row; their log-odds are features."""

    def _joint(self, X, rows):
        return IndependentJoint(60.0 + 5.0 * X[:, :3])


@pytest.mark.parametrize("pool", [False, True])
def test_the_best_model_tunes_what_rounded_probabilities_hide(pool):
    truth = (X[:, :3] > 0).astype(int)
    given = {"one": TooSure(C=1.0), "other": TooSure(C=2.0)}
    model = BestJoint(candidates=list(given.items()), pool=pool, decision="micro_f1")
    model.fit(X, truth)
    assert (model.predict_proba(X) == 1).all()
    assert np.mean(model.predict(X) == truth) > 0.95
