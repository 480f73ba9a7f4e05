"""Conformal sets: the law of their coverage, and exactly which vectors are in them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import (
    BinaryRelevance,
    ClassifierChain,
    ConformalClassifier,
    LabelPowerset,
    persistence,
)
from labelweave.joint.enumeration import label_vectors
from labelweave.models.conformal import ConformalScores, conformal_quantile, nonconformity
from labelweave.models.methods import with_preprocessing
from tests.contract.samples import sample

BR = BinaryRelevance(C=1.0)


def drawn(n, seed):
    """Draw rows of labels that depend on the features and on each other."""
    return sample(n, n_features=3, n_labels=3, seed=seed)


# ---------------------------------------------------------------------- quantiles


@given(st.lists(st.integers(0, 9), max_size=30), st.floats(0.01, 0.99))
def test_the_quantile_is_the_smallest_with_enough_scores_at_or_below_it(scores, confidence):
    quantile = conformal_quantile(scores, confidence)
    enough = confidence * (len(scores) + 1) - 1e-9
    candidates = [
        s for s in [*scores, np.inf] if np.sum(np.array([*scores, np.inf]) <= s) >= enough
    ]
    assert quantile == min(candidates)


@given(st.integers(1, 40), st.sampled_from([0.07, 0.5, 0.8, 0.9, 0.95]), st.booleans())
def test_of_exchangeable_scores_each_is_left_out_in_turn(n, confidence, tied):
    """Of n + 1 scores in any order, the last is at most the others' quantile often enough."""
    scores = np.arange(n + 1) // (3 if tied else 1)
    covered = [
        s <= conformal_quantile(np.delete(scores, i), confidence) for i, s in enumerate(scores)
    ]
    assert np.mean(covered) >= confidence - 1e-9
    if not tied:
        assert np.mean(covered) <= confidence + 1 / (n + 1)


def test_bad_scores_are_named():
    with pytest.raises(ValueError, match="confidence must be"):
        conformal_quantile([1.0], 1.0)
    with pytest.raises(ValueError, match="scores"):
        conformal_quantile([np.nan], 0.5)


# ---------------------------------------------------------------------- sets


@pytest.mark.parametrize("score", ["ratio", "probability"])
def test_split_sets_are_all_vectors_up_to_the_quantile(score):
    X, Y = drawn(120, 0)
    model = ConformalClassifier(estimator=BR, nonconformity=score, confidence=0.8).fit(X, Y)
    rows = model.held_out_rows_
    assert len(rows) == 30
    others = np.setdiff1d(np.arange(120), rows)
    joint = clone(BR).fit(X[others], Y[others]).predict_joint(X)
    scores = nonconformity(joint, Y, score)[rows]
    np.testing.assert_allclose(np.sort(model.held_out_.scores), np.sort(scores))
    quantile = np.sort(scores)[24]  # 31 * 0.8 = 24.8
    for row, vectors in enumerate(model.predict_set(X)):
        everything = label_vectors(3)
        strange = nonconformity(joint[np.full(8, row)], everything, score)
        wanted = everything[(strange <= quantile + 1e-8) | (strange == strange.min())]
        assert sorted(map(tuple, vectors.tolist())) == sorted(map(tuple, wanted.tolist()))


@pytest.mark.parametrize("grouped", [False, True])
def test_cross_conformal_sets_by_their_definition(grouped):
    X, Y = drawn(60, 1)
    X_new, confidence = drawn(20, 2)[0], 0.85
    groups, new = (X[:, 0] > 0, X_new[:, 0] > 0) if grouped else (None, None)
    model = ConformalClassifier(estimator=BR, cv=4, confidence=confidence)
    model.fit(X, Y, groups)
    sets = model.predict_set(X_new, groups=new)
    held_out, everything = model.held_out_, label_vectors(3)
    assert sorted(model.held_out_rows_) == list(range(60))
    for row, vectors in enumerate(sets):
        own = np.ones(60, bool) if new is None else held_out.groups == int(new[row])
        below = np.zeros(8)
        for fold, fitted in enumerate(model.estimators_):
            joint = fitted.predict_joint(X_new[np.full(8, row)])
            strange = nonconformity(joint, everything)
            scores = held_out.scores[own & (held_out.folds == fold)]
            below += (scores[:, None] < strange - 1e-8).sum(axis=0)
        wanted = everything[below < confidence * (own.sum() + 1)]
        assert sorted(map(tuple, vectors.tolist())) == sorted(map(tuple, wanted.tolist()))
    assert sets.complete.all()


@pytest.mark.parametrize("cv", [0.3, 3])
def test_coverage_is_what_was_asked_for(cv):
    """Over many draws of training and new rows; binomial noise is about 0.015."""
    covered = []
    for seed in range(40):
        X, Y = drawn(80, seed)
        model = ConformalClassifier(estimator=BR, confidence=0.8, cv=cv)
        model.fit(X[:60], Y[:60])
        covered.append(model.coverage(X[60:], Y[60:]))
    assert 0.75 < np.mean(covered) < 0.9


def test_coverage_within_groups():
    """One group has labels at random: a common quantile would cover it too rarely."""
    by_group, together = [], []
    for seed in range(20):
        random = np.random.default_rng(seed)
        group = random.random(300) < 0.3
        X = random.normal(size=(300, 3))
        Y = (X > 0).astype(int)
        Y[group] = random.integers(0, 2, size=(group.sum(), 3))
        test = np.arange(300) >= 200
        model = ConformalClassifier(estimator=BR, confidence=0.8)
        model.fit(X[~test], Y[~test], group[~test])
        hard = test & group
        by_group.append(model.coverage(X[hard], Y[hard], groups=group[hard]))
        model.fit(X[~test], Y[~test])
        together.append(model.coverage(X[hard], Y[hard]))
    assert 0.75 < np.mean(by_group) < 0.95
    assert np.mean(together) < 0.7


def test_probabilities_that_tie_are_all_in():
    X, Y = np.zeros((40, 1)), np.tile(label_vectors(2), (10, 1))
    X[:, 0] = np.arange(40)
    model = ConformalClassifier(estimator=FrozenEstimator(Uniform().fit(X, Y)), confidence=0.5)
    assert (model.fit(X, Y).predict_set(X).sizes == 4).all()


class Uniform(BinaryRelevance):
    def _joint(self, X, rows):
        joint = super()._joint(X, rows)
        joint.scores[:] = 0.0
        return joint


def test_few_rows_give_everything():
    X, Y = drawn(12, 0)
    sets = ConformalClassifier(estimator=BR, confidence=0.9).fit(X, Y).predict_set(X)
    assert (sets.sizes == 8).all()
    assert sets.complete.all()
    cut = ConformalClassifier(estimator=BR, max_size=3).fit(X, Y).predict_set(X)
    assert not cut.complete.any()
    assert cut.outer.all()
    assert not cut.inner.any()
    same = ConformalClassifier(estimator=BR, cv=3).fit(X[[0] * 5], Y[:5])
    assert (same.predict_set(X).sizes == 8).all()


def test_a_truth_that_was_impossible_gives_everything():
    X, Y = drawn(60, 0)
    model = LabelPowerset(C=1.0).fit(X, np.zeros_like(Y))
    frozen = ConformalClassifier(estimator=FrozenEstimator(model), confidence=0.9)
    truth = np.tile([[1, 1, 1]], (60, 1))
    sets = frozen.fit(X, truth).predict_set(X)
    assert sets.contains(truth).all()


def test_a_group_that_is_new_gets_everything():
    X, Y = drawn(80, 0)
    groups = np.where(X[:, 0] > 0, "east", "west")
    model = ConformalClassifier(estimator=BR, confidence=0.6).fit(X, Y, groups)
    assert model.groups_.tolist() == ["east", "west"]
    assert model.predict_set(X[:2], groups=["north", "east"]).sizes[0] == 8
    with pytest.raises(ValueError, match="groups must be given"):
        model.predict_set(X)
    with pytest.raises(ValueError, match="groups must be given"):
        model.fit(X, Y).predict_set(X, groups=groups)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, Y, groups[:3])


# ---------------------------------------------------------------------- models


def test_a_fitted_model_is_only_calibrated():
    X, Y = drawn(100, 0)
    fitted = ClassifierChain(C=1.0, label_penalty=1.0).fit(X[:50], Y[:50])
    model = ConformalClassifier(estimator=FrozenEstimator(fitted)).fit(X[50:], Y[50:])
    assert len(model.held_out_rows_) == 50
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    np.testing.assert_allclose(
        np.sort(model.held_out_.scores),
        np.sort(nonconformity(fitted.predict_joint(X[50:]), Y[50:])),
    )


def test_preprocessing_does_not_see_held_out_rows():
    X, Y = drawn(100, 0)
    prepared = with_preprocessing(ConformalClassifier(estimator=BR), X)
    model = prepared.fit(X, Y)
    others = np.setdiff1d(np.arange(100), model.held_out_rows_)
    np.testing.assert_allclose(model.estimator_[0].mean_, X[others].mean(axis=0))
    by_hand = ConformalClassifier(estimator=make_pipeline(StandardScaler(), BR)).fit(X, Y)
    np.testing.assert_array_equal(model.predict_set(X).vectors, by_hand.predict_set(X).vectors)


@pytest.mark.parametrize("cv", [0.25, 3])
def test_sparse_rows_threads_order_and_files_change_nothing(cv, tmp_path):
    X, Y = drawn(90, 3)
    X = np.round(X * (X > 0.3), 2) + np.eye(90, 3)
    groups = np.arange(90) % 2
    model = ConformalClassifier(estimator=BR, cv=cv, confidence=0.7)
    sets = model.fit(X, Y, groups).predict_set(X, groups=groups)
    persistence.save_model(model, tmp_path / "sets.skops")
    order = np.random.default_rng(0).permutation(90)
    others = {
        "sparse": clone(model).fit(sp.csr_array(X), Y, groups),
        "threads": clone(model).set_params(n_jobs=2).fit(X, Y, groups),
        "order": clone(model).fit(X[order], Y[order], groups[order]),
        "file": persistence.load_model(tmp_path / "sets.skops"),
    }
    for name, other in others.items():
        again = other.predict_set(sp.csr_array(X) if name == "sparse" else X, groups=groups)
        np.testing.assert_array_equal(again.sizes, sets.sizes, err_msg=name)
        np.testing.assert_array_equal(again.vectors, sets.vectors, err_msg=name)


def test_constant_labels_and_single_labels():
    X, Y = drawn(60, 0)
    Y[:, 1] = 1
    sets = ConformalClassifier(estimator=BR, confidence=0.7).fit(X, Y).predict_set(X)
    assert sets.inner[:, 1].all()
    single = ConformalClassifier(estimator=BR).fit(X, np.where(Y[:, 0], "yes", "no"))
    assert set(single.predict(X)) == {"yes", "no"}
    assert single.predict_set(X).vectors.shape[1] == 1
    yes = Y[:, 0] == 1
    shares = [single.coverage(X[part], np.where(Y[part, 0], "yes", "no")) for part in (yes, ~yes)]
    whole = single.coverage(X, np.where(Y[:, 0], "yes", "no"))
    assert whole == pytest.approx(np.average(shares, weights=[yes.sum(), (~yes).sum()]))


@pytest.mark.parametrize("cv", [0.25, 3])
def test_sets_show_the_confidence_and_the_names(cv):
    X, Y = sample(n=60)
    named = pd.DataFrame(Y[:, :3], columns=["sun", "rain", "wind"])
    model = ConformalClassifier(estimator=BR, confidence=0.75, cv=cv)
    sets = model.fit(X, named).predict_set(X)
    assert (sets.confidence, sets.label_names) == (0.75, ("sun", "rain", "wind"))
    assert "confidence 0.75\nrow 0: {" in repr(sets)
    assert "confidence 0.75" in sets._repr_html_()


def test_a_level_can_be_chosen_after_fitting():
    X, Y = drawn(100, 0)
    model = ConformalClassifier(estimator=BR).fit(X, Y)
    sizes = [model.set_params(confidence=c).predict_set(X).sizes for c in (0.5, 0.8, 0.95)]
    assert (np.diff(sizes, axis=0) >= 0).all()
    search = GridSearchCV(ConformalClassifier(estimator=BR), {"estimator__C": [0.1, 1.0]}, cv=2)
    assert search.fit(X, Y).best_estimator_.coverage(X, Y) > 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"confidence": 1.5}, "confidence must be a number above 0 and below 1; got 1.5"),
        ({"cv": 1.0}, "cv must be"),
        ({"cv": 1}, "cv must be a share between 0 and 1 or a whole number of"),
        ({"cv": "split"}, "cv must be"),
        ({"nonconformity": "rank"}, "nonconformity must be 'ratio' or 'probability'"),
        ({"max_size": 0}, "max_size must be"),
        ({"estimator": LogisticRegression()}, r"estimator must be an estimator of P\(y\|x\)"),
        ({"estimator": BinaryRelevance}, "estimator must be"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, Y = drawn(20, 0)
    with pytest.raises(ValueError, match=message):
        ConformalClassifier(**parameters).fit(X, Y)


def test_held_out_scores_of_groups_without_rows():
    zero = np.zeros(2, dtype=np.int64)
    held_out = ConformalScores(np.array([0.0, 1.0]), zero, zero)
    conforms, below = held_out.conforms(np.array([[5.0]]), np.array([-1]), 0.9)
    assert conforms.all()
    assert not below.any()
