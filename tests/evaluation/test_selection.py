"""Pools of models, and the race between candidates: weights, abandonment, tuned decisions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelweave import (
    BestJoint,
    BinaryRelevance,
    ClassifierChain,
    DistributionalForest,
    compare,
    explain_label,
    persistence,
)
from labelweave._common.folds import Fold
from labelweave._common.pipelines import copy_for_fold, inside
from labelweave.data import load
from labelweave.decision import TunedThresholds
from labelweave.models.best_joint import Race, pool_weights
from labelweave.models.cross_fitting import TrainingData
from labelweave.models.explanations import can_explain
from labelweave.models.predictions import predict_joint

DATA = load("emotions")
X, Y = DATA.X[:400], DATA.Y[:400]
TEST, TRUTH = DATA.X[400:], DATA.Y[400:]
BR, CHAIN = BinaryRelevance(C=0.01), ClassifierChain(C=0.01, label_penalty=0.03)
HOPELESS = BinaryRelevance(C=1e4)
FOREST = DistributionalForest(estimator=ExtraTreesClassifier(25, bootstrap=True))
CANDIDATES = [("alone", BR), ("chain", CHAIN), ("forest", FOREST)]


def pooled(**parameters):
    return BestJoint(**({"candidates": CANDIDATES, "pool": True} | parameters)).fit(X, Y)


@pytest.fixture(scope="module")
def pool():
    """Return a pool for tests that only ask it."""
    return pooled()


def mean_log_prob(log_probs, weights, share):
    return np.average(np.log(np.exp(log_probs) @ weights), weights=share)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.booleans())
def test_weights_maximise_the_likelihood(seed, n_models, weighted):
    random = np.random.default_rng(seed)
    log_probs = random.normal(-3, 2, size=(40, n_models))
    share = random.integers(0, 3, 40) + (np.arange(40) == 0) if weighted else None
    weights = pool_weights(log_probs, share)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    # By concavity no weights are better by more than the largest derivative minus one.
    probs = np.exp(log_probs)
    gradient = np.average(probs / (probs @ weights)[:, None], axis=0, weights=share)
    assert gradient.max() <= 1 + 1e-4


def test_impossible_rows_do_not_matter():
    log_probs = np.log([[0.8, 0.1], [0.2, 0.7], [0.6, 0.5]])
    nothing = np.full((1, 2), -np.inf)
    np.testing.assert_array_equal(
        pool_weights(np.vstack([log_probs, nothing])), pool_weights(log_probs)
    )
    one_sided = np.vstack([log_probs, [[-np.inf, -1.0]]])
    assert pool_weights(one_sided)[1] > pool_weights(log_probs)[1]
    np.testing.assert_array_equal(pool_weights(nothing), [0.5, 0.5])


def test_a_pool_is_the_mixture_of_its_members(pool):
    model = pool
    assert set(model.members_) <= {"alone", "chain", "forest"}
    assert len(model.members_) > 1
    joints = [predict_joint(member, TEST) for member in model.members_.values()]
    by_model = np.stack([np.exp(joint.log_prob(TRUTH)) for joint in joints])
    by_hand = np.log(model.weights_ @ by_model)
    joint = model.predict_joint(TEST)
    np.testing.assert_allclose(joint.log_prob(TRUTH), by_hand)
    assert joint.mode().optimal.all()
    np.testing.assert_array_equal(model.predict(TEST), joint.mode().labels)
    assert model.table()["weight"].sum() == pytest.approx(1)


def test_held_out_rows_are_no_less_probable_than_under_the_best():
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    fold = np.arange(len(X)) % 3
    race = Race(
        TrainingData(X, Y, weight),
        [Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)],
        metric=None,
        rule=None,
        pooled=True,
        n_jobs=None,
    )
    for name, estimator in CANDIDATES:
        race.run(name, estimator)
    log_probs = race.log_probs(sorted(race.judged))
    means = np.average(log_probs, axis=0, weights=weight)
    assert [trial.name for trial in race.trials][race.best()] == "forest"
    assert mean_log_prob(log_probs, pool_weights(log_probs, weight), weight) >= means.max() - 1e-5


@pytest.mark.parametrize("pool", [False, True])
def test_candidates_far_behind_are_tried_on_one_fold(pool):
    candidates = [("chain", CHAIN), ("hopeless", HOPELESS), ("alone", BR)]
    model = BestJoint(candidates=candidates, pool=pool).fit(X, Y)
    tried = {trial.name: trial for trial in model.trials_}
    reason = "weight below 0.02" if pool else "far behind"
    assert tried["hopeless"].problem == f"{reason} after one of 3 folds"
    assert len(tried["hopeless"].scores) == 1
    assert len(tried["chain"].scores) == 3
    assert model.best_name_ == "chain"
    assert "hopeless" not in model.members_
    # A first fold may be the best of all, but it does not win a comparison over three.
    assert BestJoint(candidates=[("hopeless", HOPELESS)]).fit(X, Y).trials_[0].problem == ""


def test_threads_do_not_matter(pool):
    one, two = pool, pooled(n_jobs=2)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.predict(TEST), two.predict(TEST))


@pytest.mark.parametrize("pool", [False, True])
def test_thresholds_are_tuned_on_the_rows_that_were_held_out(pool):
    model = BestJoint(candidates=CANDIDATES, pool=pool, decision="micro_f1").fit(X, Y)
    plain = BestJoint(candidates=CANDIDATES, pool=pool).fit(X, Y)
    assert plain.best_name_ == model.best_name_
    np.testing.assert_array_equal(plain.weights_, model.weights_)
    marginals = plain.predict_proba(TEST)
    np.testing.assert_array_equal(model.predict_proba(TEST), marginals)
    np.testing.assert_array_equal(model.predict(TEST), marginals > model.thresholds_)
    assert (model.thresholds_ < 0.5).all()  # F1 is better served by more labels
    assert isinstance(model.rule_, TunedThresholds)


def test_names_of_candidates_are_told_apart():
    model = pooled(candidates=[BR, CHAIN, BR])
    names = [trial.name for trial in model.trials_]
    assert names == [str(BR), str(CHAIN), f"{BR} 2"]


def test_pools_are_saved(tmp_path):
    model = pooled(decision="macro_f1")
    persistence.save_model(model, tmp_path / "pool.skops")
    again = persistence.load_model(tmp_path / "pool.skops")
    np.testing.assert_array_equal(again.predict(TEST), model.predict(TEST))
    np.testing.assert_array_equal(again.predict_proba(TEST), model.predict_proba(TEST))


def test_pools_explain_their_members_only(pool):
    with pytest.raises(ValueError, match="the model is a pool"):
        explain_label(pool, TEST[:1], 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pool": "yes"}, "pool must be"),
        ({"scoring": "exact_match"}, "pool=True weighs candidates by scoring='log_likelihood'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        pooled(**parameters)


def test_equal_rows_leave_the_first_candidate():
    model = BestJoint(candidates=CANDIDATES[:2], pool=True, decision="macro_f1")
    model.fit(np.ones((4, 2)), [[0, 1]] * 4)
    assert model.best_name_ == "alone"
    np.testing.assert_array_equal(model.predict(np.ones((1, 2))), [[0, 1]])


@pytest.mark.parametrize("pool", [False, True])
def test_decisions_are_those_of_the_model_not_of_its_best_member(pool):
    """What looks for the classifier inside pipelines and searches must stop here."""
    methods = {
        decision: BestJoint(candidates=CANDIDATES[:2], pool=pool, decision=decision)
        for decision in ("subset", "hamming")
    }
    comparison = compare(methods, X[:200], Y[:200], cv=2, metrics=["exact_match"])
    subset, hamming = (comparison.scores(name, "exact_match") for name in methods)
    assert (subset != hamming).any()
    model = make_pipeline(StandardScaler(), methods["subset"]).fit(X, Y)
    assert isinstance(inside(model).model, BestJoint)


def test_a_pool_is_calibrated_as_a_whole(pool):
    assert isinstance(copy_for_fold(pool), BestJoint)
    single = BestJoint(candidates=CANDIDATES[:1]).fit(X, Y)
    assert isinstance(inside(copy_for_fold(single)).model, BinaryRelevance)
    assert can_explain(single)
    assert not can_explain(pool)


def test_weights_of_rows_are_repetitions():
    random = np.random.default_rng(69)
    rows = random.normal(size=(12, 2))
    labels = (rows + random.normal(size=(12, 2)) > 0).astype(int)
    candidates = [("weak", BinaryRelevance(C=0.001)), ("good", BinaryRelevance(C=0.1))]
    weighted, repeated = BestJoint(candidates=candidates), BestJoint(candidates=candidates)
    weighted.fit(rows, labels, sample_weight=np.full(12, 10.0))
    repeated.fit(np.repeat(rows, 10, axis=0), np.repeat(labels, 10, axis=0))
    assert weighted.best_name_ == repeated.best_name_
    shown = [model.table()[["candidate", "problem"]] for model in (weighted, repeated)]
    pd.testing.assert_frame_equal(*shown)


def test_what_was_given_up_stands_last():
    random = np.random.default_rng(0)
    rows = random.normal(size=(45, 3))
    labels = (rows[:, :2] + random.normal(size=(45, 2)) > 0).astype(int)
    for seed in range(8):
        candidates = [(str(C), BinaryRelevance(C=C)) for C in (0.1, 1e4, 0.03)]
        table = BestJoint(candidates=candidates, random_state=seed).fit(rows, labels).table()
        assert table["weight"][0] == 1
        assert table["problem"].astype(bool).is_monotonic_increasing


def test_names_that_are_taken():
    model = pooled(candidates=[("a", BR), ("a", CHAIN), ("a 2", BR)])
    assert [trial.name for trial in model.trials_] == ["a", "a 2", "a 2 2"]
    assert len(model.table()) == 3


@pytest.mark.filterwarnings("error")
def test_impossible_rows_neither_win_nor_warn():
    trees = BinaryRelevance(estimator=DecisionTreeClassifier())
    neighbours = BinaryRelevance(estimator=KNeighborsClassifier())
    candidates = [("trees", trees), ("neighbours", neighbours), ("alone", BR)]
    for pool in (False, True):
        model = BestJoint(candidates=candidates, pool=pool).fit(X, Y)
        assert model.best_name_ == "alone"
        assert np.isfinite(model.predict_joint(TEST).log_prob(TRUTH)).all()


def test_a_budget_is_for_candidates_that_can_be_fitted():
    failing = ("failing", ClassifierChain(C=-1.0))
    model = BestJoint(candidates=[failing, ("alone", BR)], time_budget=0).fit(X, Y)
    assert model.best_name_ == "alone"
