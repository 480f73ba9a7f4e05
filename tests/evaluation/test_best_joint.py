"""The best of several models: chosen on held-out rows, within a budget, with a table."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import (
    BestJoint,
    BinaryRelevance,
    ClassifierChain,
    JointClassifierCV,
    MultiLabelClassifier,
)
from labelweave.data import load
from labelweave.models import best_joint as candidates
from labelweave.models.best_joint import PORTFOLIO
from labelweave.models.methods import make_methods

BR, CHAIN = BinaryRelevance(C=0.01), ClassifierChain(C=0.01, label_penalty=0.03)


def circles():
    """Return labels that depend on the distance from the origin: out of reach of linear models."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    return X, np.stack([np.hypot(*X.T) < 1, X[:, 0] * X[:, 1] > 0], axis=1).astype(int)


def test_the_best_candidate_is_fitted_to_all_rows():
    data = load("emotions")
    model = BestJoint(candidates=[("alone", BR), ("chain", CHAIN)]).fit(data.X, data.Y)
    assert model.best_name_ == "chain"
    scaled = make_pipeline(StandardScaler(), CHAIN).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.predict(data.X), scaled.predict(data.X))
    assert [trial.name for trial in model.trials_] == ["alone", "chain"]
    assert model.table()["candidate"].tolist() == ["chain", "alone"]
    assert (model.table()["standard_error"] > 0).all()
    assert BR.decision == "subset"  # what was given is not touched


def test_scores_are_those_of_cross_validation():
    data = load("emotions")
    model = BestJoint(candidates=[BR], cv=2).fit(data.X, data.Y)
    by_hand = []
    for train, test in KFold(2, shuffle=True, random_state=0).split(data.X):
        pipeline = make_pipeline(StandardScaler(), BR).fit(data.X[train], data.Y[train])
        joint = pipeline[-1].predict_joint(pipeline[:-1].transform(data.X[test]))
        by_hand.append(joint.log_prob(data.Y[test]).mean())
    # Other folds, the same quantity.
    assert model.trials_[0].score == pytest.approx(np.mean(by_hand), abs=0.15)


def test_what_the_user_measures_decides():
    data = load("emotions")
    candidates = [("alone", BR), ("chain", CHAIN)]
    subset = BestJoint(candidates=candidates, scoring="exact_match").fit(data.X, data.Y)
    assert subset.best_name_ == "chain"
    hamming = BestJoint(candidates=candidates, scoring="hamming_loss", decision="hamming")
    hamming.fit(data.X, data.Y)
    assert all(trial.score < 0 for trial in hamming.trials_)
    best = max(hamming.trials_, key=lambda trial: trial.score)
    assert hamming.best_name_ == best.name


def test_kernels_where_they_are_needed():
    X, Y = circles()
    kernel = "auto(C=1,label_penalty=1,features=KernelFeatures(n_components=50,gamma=1.0))"
    model = BestJoint(candidates=["auto(C=1,label_penalty=1)", kernel]).fit(X[:200], Y[:200])
    assert model.best_name_ == kernel
    assert model.score(X[200:], Y[200:]) > 0.8
    posterior = model.predict_joint(X[200:]).condition({0: 1})
    assert (posterior.marginals()[:, 0] == 1).all()


def test_a_budget_leaves_the_first_candidate():
    data = load("emotions")
    model = BestJoint(candidates=[("alone", BR), ("chain", CHAIN)], time_budget=0)
    model.fit(data.X, data.Y)
    assert model.best_name_ == "alone"
    assert model.trials_[1].problem == "no time left"


def test_mixtures_of_too_many_coefficients_are_tried_only_if_named(monkeypatch):
    monkeypatch.setattr(candidates, "_LARGEST_COMPONENT", 431)
    data = load("emotions")
    problems = {
        trial.name: trial.problem for trial in BestJoint(time_budget=0).fit(data.X, data.Y).trials_
    }
    assert list(problems) == list(PORTFOLIO)
    assert problems["mc"].startswith("432 coefficients in each component")
    named = BestJoint(candidates=[("alone", BR), "mc"], time_budget=0).fit(data.X, data.Y)
    assert named.trials_[1].problem == "no time left"
    monkeypatch.setattr(candidates, "_LARGEST_COMPONENT", 432)
    assert BestJoint(time_budget=0).fit(data.X, data.Y).trials_[-1].problem == "no time left"


def test_candidates_that_fail_are_named():
    data = load("emotions")
    failing = ("greedy", ClassifierChain(C=-1.0))
    model = BestJoint(candidates=[failing, ("alone", BR)]).fit(data.X, data.Y)
    assert model.best_name_ == "alone"
    assert "C must be" in model.trials_[0].problem
    with pytest.raises(ValueError, match="none of the candidates can be fitted: greedy: C must be"):
        BestJoint(candidates=[failing]).fit(data.X, data.Y)


def test_label_names_reach_the_joint():
    data = load("emotions")
    Y = pd.DataFrame(data.Y, columns=list(data.label_names))
    model = BestJoint(candidates=[CHAIN]).fit(data.X, Y)
    joint = model.predict_joint(data.X[:3])
    assert joint.condition({data.label_names[0]: 1}).marginals()[0, 0] == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"candidates": []}, "candidates must be a list"),
        ({"candidates": "pcc"}, "candidates must be a list"),
        ({"candidates": [GaussianNB()]}, "candidates must be estimators of P"),
        ({"candidates": [BinaryRelevance]}, "candidates must be names of methods"),
        ({"candidates": [("br", BR, 1)]}, "candidates must be names of methods"),
        ({"candidates": [("a name", "br(C=1)")]}, "candidates must be names of methods"),
        ({"candidates": [None]}, "candidates must be names of methods"),
        ({"candidates": {"br": BR}}, "candidates must be a list"),
        ({"candidates": BR}, "candidates must be a list"),
        ({"scoring": "f2"}, "f2"),
        ({"scoring": None}, "scoring must be 'log_likelihood'"),
        ({"time_budget": -1}, "time_budget must be"),
        ({"cv": 0}, "cv must be"),
    ],
)
def test_bad_parameters(parameters, message):
    data = load("emotions")
    with pytest.raises(ValueError, match=message):
        BestJoint(**({"candidates": [BR]} | parameters)).fit(data.X, data.Y)


def test_the_portfolio_consists_of_methods():
    for method in make_methods(PORTFOLIO).values():
        last = method[-1] if hasattr(method, "steps") else method
        assert isinstance(last, MultiLabelClassifier)


@pytest.mark.parametrize("features", ["", ",features=KernelFeatures(n_components=20,gamma=0.01)"])
def test_weights_reach_the_model_behind_every_preprocessing(features):
    data = load("emotions")
    X, labels = data.X[:200], data.Y[:200]
    weight = np.where(labels[:, 2] == 1, 20.0, 1.0)
    model = BestJoint(candidates=[f"br(C=1{features})"])
    plain = model.fit(X, labels).predict_proba(data.X[200:])[:, 2].mean()
    weighted = model.fit(X, labels, sample_weight=weight).predict_proba(data.X[200:])[:, 2].mean()
    assert weighted > plain + 0.05


def test_candidates_that_take_no_weights_are_left_out():
    data = load("emotions")
    model = BestJoint(candidates=["br(C=1)", "mlknn"])
    model.fit(data.X[:200], data.Y[:200], sample_weight=np.linspace(1, 2, 200))
    assert "sample_weight was given, but estimator MLkNN(" in model.trials_[1].problem


def test_candidates_that_fail_in_their_own_way_are_left_out():
    data = load("emotions")
    dense_only = JointClassifierCV(estimator=GaussianNB(), joint=CHAIN)
    model = BestJoint(candidates=[BR, ("dense", dense_only)])
    model.fit(sp.csr_array(data.X[:200]), data.Y[:200])
    assert model.best_name_ != "dense"
    assert "GaussianNB() cannot be fitted to label 0" in model.trials_[1].problem
    assert "Sparse data was passed" in model.trials_[1].problem


class Broken(BinaryRelevance):
    """A model with a mistake in it, or one that warns."""

    error: Exception = AttributeError("no such thing")

    def _fit(self, X, labels, sample_weight):
        raise self.error


def test_mistakes_in_candidates_are_told():
    X, labels = circles()
    with pytest.warns(FitFailedWarning, match="candidate bad failed: AttributeError: no such"):
        model = BestJoint(candidates=[BR, ("bad", Broken())]).fit(X, labels)
    assert model.trials_[1].problem == "AttributeError: no such thing"
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(ValueError, match="can be fitted: bad: Attr") as caught,
    ):
        BestJoint(candidates=[("bad", Broken())]).fit(X, labels)
    assert caught.value.__cause__ is Broken.error


def test_warnings_that_are_errors_stay_errors(monkeypatch):
    monkeypatch.setattr(Broken, "error", FutureWarning("soon"))
    with pytest.raises(FutureWarning, match="soon"):
        BestJoint(candidates=[BR, ("bad", Broken())]).fit(*circles())


def test_before_fit_there_is_no_table():
    with pytest.raises(NotFittedError):
        BestJoint().table()


def test_one_fold_is_none():
    X, labels = circles()
    with pytest.raises(ValueError, match=r"cv must be .* a whole number of at least 2; got 1"):
        BestJoint(candidates=[BR], cv=1).fit(X, labels)
