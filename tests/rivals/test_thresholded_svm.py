"""Linear SVMs against LinearSVC, thresholds against a plain search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from labelweave import ThresholdedSVM
from labelweave._common import row_keys as module
from labelweave._common.folds import assign_folds
from labelweave._common.row_keys import merge_equal_rows
from labelweave.decision import ExpectedF, TunedThresholds
from labelweave.models.methods import make_methods
from labelweave.models.rivals.margins import FBR_GRID, ScoredFolds
from tests.contract.samples import sample

X, Y = sample(n=90, n_features=6, n_labels=5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_decision_values_are_those_of_linear_svc(form, shape):
    rows, labels = (X, Y) if shape == "tall" else sample(n=30, n_features=90)
    # The rows come to liblinear in an order of their own: both are taken to the optimum.
    tight = {"C": 0.5, "tol": 1e-10, "max_iter": 100_000}
    model = ThresholdedSVM(decision="fixed", **tight).fit(form(rows), labels)
    for label in range(labels.shape[1]):
        peer = LinearSVC(random_state=0, **tight).fit(form(rows), labels[:, label])
        values = model.decision_function(form(rows))[:, label]
        np.testing.assert_allclose(values, peer.decision_function(form(rows)), atol=1e-7)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 3.0}])
@pytest.mark.parametrize("decision", ["macro_f1", "fixed"])
def test_weighted_classes_take_the_place_of_tuned_thresholds(class_weight, decision):
    tight = {"C": 0.5, "tol": 1e-10, "max_iter": 100_000, "class_weight": class_weight}
    model = ThresholdedSVM(decision=decision, **tight).fit(X, Y)
    for label in range(Y.shape[1]):
        peer = LinearSVC(random_state=0, **tight).fit(X, Y[:, label])
        np.testing.assert_allclose(
            model.decision_function(X)[:, label], peer.decision_function(X), atol=1e-7
        )
    with pytest.raises(ValueError, match="class_weight must be None, 'balanced' or a dict"):
        ThresholdedSVM(class_weight="even").fit(X, Y)


def out_of_fold_scores(C, n_folds):
    seed = ThresholdedSVM()._seed()
    fold, n = assign_folds(X, np.ones(len(X)), n_folds, seed)
    scores = np.empty(Y.shape)
    for k in range(n):
        for label in range(Y.shape[1]):
            peer = LinearSVC(C=C, random_state=seed).fit(X[fold != k], Y[fold != k, label])
            scores[fold == k, label] = peer.decision_function(X[fold == k])
    return scores, fold


def best_f1(scores, truth):
    """Return the best F1 of any threshold, by trying one between every two scores."""
    levels = np.unique(scores)
    cuts = np.concatenate([[-np.inf], (levels[1:] + levels[:-1]) / 2])
    return max(f1_score(truth, scores > cut) for cut in cuts)


def test_thresholds_have_the_best_f1_on_rows_left_out():
    model = ThresholdedSVM(C=0.5, decision=TunedThresholds(), cv=4).fit(X, Y)
    scores, _ = out_of_fold_scores(0.5, 4)
    for label in range(Y.shape[1]):
        given = scores[:, label] > model.thresholds_[label]
        reached = f1_score(Y[:, label], given)
        assert reached == pytest.approx(best_f1(scores[:, label], Y[:, label]), abs=1e-12)
    at_zero = ThresholdedSVM(C=0.5, decision="fixed").fit(X, Y)
    np.testing.assert_allclose(
        model.decision_function(X), at_zero.decision_function(X) - model.thresholds_, atol=1e-12
    )


def test_labels_below_the_limit_have_their_highest_score():
    """FBR.1, with a limit nobody reaches."""
    model = ThresholdedSVM(C=0.5, decision=TunedThresholds(fbr=1.1), cv=4).fit(X, Y)
    scores, _ = out_of_fold_scores(0.5, 4)
    np.testing.assert_allclose(model.thresholds_, scores.max(axis=0), atol=1e-12)


def test_the_limit_is_judged_by_folds_not_tuned_on():
    random = np.random.default_rng(0)
    truth = (random.random((200, 6)) < 0.08).astype(np.int8)
    held_out = ScoredFolds(
        truth * random.normal(0.7, 1, truth.shape) + random.normal(size=truth.shape),
        truth,
        np.ones(200),
        np.arange(200) % 4,
    )
    fbr, macro = held_out.verdict
    results = []
    for limit in FBR_GRID:
        given = np.zeros_like(truth)
        for k in range(4):
            rest, here = held_out.fold != k, held_out.fold == k
            rule = TunedThresholds(fbr=limit)
            rule = rule.informed([], (held_out.scores[rest], truth[rest]))
            given[here] = rule.label(held_out.scores[here])
        results.append(f1_score(truth, given, average="macro"))
    assert macro == pytest.approx(max(results))
    assert fbr == FBR_GRID[int(np.argmax(results))]
    assert len(set(results)) > 1, "the limit makes no difference here"


def test_the_penalty_is_chosen_by_macro_f1_of_rows_left_out():
    model = ThresholdedSVM(cv=3).fit(X, Y)
    scale = 1 / (X**2).sum(axis=1).mean()
    reached = {}
    for factor in (0.1, 0.3, 1.0, 3.0, 10.0):
        scores, fold = out_of_fold_scores(factor * scale, 3)
        reached[factor] = ScoredFolds(scores, Y.astype(np.int8), np.ones(90), fold).verdict[1]
    best = max(reached, key=reached.get)
    assert pytest.approx(best * scale) == model.C_


def test_tuning_helps_rare_labels():
    random = np.random.default_rng(1)
    rows = random.normal(size=(600, 8))
    labels = (rows @ random.normal(size=(8, 4)) + random.normal(0, 2, (600, 4)) > 5).astype(int)
    assert 0.01 < labels.mean() < 0.12
    scores = {
        name: f1_score(
            labels[300:],
            model.fit(rows[:300], labels[:300]).predict(rows[300:]),
            average="macro",
            zero_division=0.0,
        )
        for name, model in {
            "tuned": ThresholdedSVM(C=0.1),
            "zero": ThresholdedSVM(C=0.1, decision="fixed"),
        }.items()
    }
    assert scores["tuned"] > scores["zero"]


def test_constant_labels_have_constant_values():
    labels = Y.copy()
    labels[:, 0], labels[:, 4] = 0, 1
    model = ThresholdedSVM(C=0.5).fit(X, labels)
    values = model.decision_function(10 * X)
    np.testing.assert_array_equal(values[:, 0], -1.0)
    np.testing.assert_array_equal(values[:, 4], 1.0)
    np.testing.assert_array_equal(model.coef_[[0, 4]], 0.0)


def test_infinite_thresholds_leave_finite_values_in_order():
    """A useless score is best ignored where most rows have the label."""
    labels = (np.arange(90) % 10 > 0).astype(int)[:, None]
    model = ThresholdedSVM(C=0.5).fit(X, labels)
    values, raw = model.decision_function(X)[:, 0], X @ model.coef_[0]
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(np.argsort(values), np.argsort(raw))


def test_no_convergence_is_told():
    with pytest.warns(ConvergenceWarning, match="5 of 5 support vector machines did not converge"):
        ThresholdedSVM(C=1.0, max_iter=1, tol=1e-12, decision="fixed").fit(X, Y)


def test_rules_that_need_probabilities_are_refused():
    with pytest.raises(ValueError, match="ExpectedF needs probabilities"):
        ThresholdedSVM(decision=ExpectedF()).fit(X, Y)
    with pytest.raises(ValueError, match=r"cv must be .* a whole number of at least 2; got 1"):
        ThresholdedSVM(cv=1).fit(X, Y)


def test_thresholds_of_a_test_set_belong_to_no_model():
    model = ThresholdedSVM(C=0.5, decision="cmn").fit(X, Y)
    assert not hasattr(model, "thresholds_")
    np.testing.assert_allclose(model.predict(X).mean(axis=0), Y.mean(axis=0), atol=1 / 90)


def test_short_names():
    made = make_methods("svm, lasvm(kernel='rbf'), pa-online, pa-batch")
    assert [type(m).__name__ for m in made.values()] == [
        "ThresholdedSVM",
        "LaSVM",
        "PassiveAggressive",
        "PassiveAggressive",
    ]
    assert made["pa-batch"].tuned_with == "batch"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_equal_rows_are_one_row_of_their_weights(form):
    """To the last bit, though liblinear stops long before the optimum."""
    rng = np.random.default_rng(2)
    weight = rng.integers(1, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    rng.shuffle(repeated)
    model = ThresholdedSVM(tol=0.1)
    weighted = clone(model).fit(form(X), Y, sample_weight=weight)
    plain = clone(model).fit(form(X[repeated]), Y[repeated])
    np.testing.assert_array_equal(plain.coef_, weighted.coef_)
    np.testing.assert_array_equal(plain.thresholds_, weighted.thresholds_)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_only_rows_with_equal_features_and_labels_are_merged(form):
    rows = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    labels = np.array([[1], [1], [0], [1]], dtype=np.int8)
    merged, kept, weight = merge_equal_rows(form(rows), labels, np.array([0.5, 2.0, 4.0, 8.0]))
    merged = merged.toarray() if sp.issparse(merged) else merged
    found = {
        (*row, *label): w
        for row, label, w in zip(merged.tolist(), kept.tolist(), weight, strict=True)
    }
    assert found == {(0.0, 1.0, 1): 8.5, (1.0, 0.0, 1): 2.0, (0.0, 1.0, 0): 4.0}


def test_rows_of_the_same_key_are_compared(monkeypatch):
    """A key is a hash: rows that share one by chance stay two rows."""
    monkeypatch.setattr(module, "row_keys", lambda rows: np.zeros(rows.shape[0], np.int64))
    rows, labels = np.array([[1.0], [2.0], [2.0]]), np.ones((3, 1), dtype=np.int8)
    for form in (np.asarray, sp.csr_array):
        assert merge_equal_rows(form(rows), labels, np.ones(3))[2].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1e100, 1e140])
def test_rows_too_large_for_liblinear_are_refused(form, size):
    """It would not return."""
    with pytest.raises(ValueError, match=r"X has rows of length .*: scale the features"):
        ThresholdedSVM(C=1.0, cv=2).fit(form(X * size), Y)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("C", "size"), [(1.0, 1e-100), ("cv", 1e-100), ("cv", 1e-300)])
def test_rows_too_small_for_liblinear_are_refused(form, C, size):
    """It would not return, either."""
    with pytest.raises(ValueError, match=r"X has no row longer than .*: scale the features"):
        ThresholdedSVM(C=C, cv=2).fit(form(X * size), Y)


def test_rows_that_are_large_but_not_too_large():
    model = ThresholdedSVM(cv=2).fit(X * 2.0**400, Y)
    np.testing.assert_array_equal(model.predict(X * 2.0**400).shape, Y.shape)
    assert np.isfinite(model.decision_function(X * 2.0**400)).all()
