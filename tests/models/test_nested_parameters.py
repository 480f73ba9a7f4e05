"""Settings of strategies as parameters of the estimator, for grid searches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from labelweave import (
    BinaryRelevance,
    ChainEnsemble,
    ClassifierChain,
    JointClassifierCV,
    MixtureSettings,
    TreeEnsemble,
    TreeMixture,
    TreeNetwork,
)
from labelweave.decision import ClassMassNormalization
from labelweave.inference import Beam, Greedy

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = (X + RANDOM.normal(size=(60, 3)) > 0).astype(np.int64)


def test_a_strategy_is_replaced_not_changed():
    beam = Beam(width=3)
    model = ClassifierChain(inference=beam)
    assert model.get_params()["inference__width"] == 3
    assert "inference__width" not in model.get_params(deep=False)
    assert model.set_params(inference__width=7) is model
    assert (model.inference, beam) == (Beam(width=7), Beam(width=3))
    assert clone(model).inference == Beam(width=7)


def test_strategy_and_setting_together():
    model = ClassifierChain().set_params(inference=Beam(), inference__width=4, C=0.5)
    assert (model.inference, model.C) == (Beam(width=4), 0.5)


def test_rules_and_bases_too():
    rule = BinaryRelevance(decision=ClassMassNormalization(), estimator=LogisticRegression())
    rule.set_params(decision__fallback=None, estimator__C=3.0)
    assert rule.decision.fallback is None
    assert rule.estimator.C == 3.0


def test_settings_a_strategy_does_not_have():
    with pytest.raises(ValueError, match="inference='auto' has no setting 'width'"):
        ClassifierChain(inference="auto").set_params(inference__width=4)
    with pytest.raises(ValueError, match="has no setting 'height'"):
        ClassifierChain(inference=Beam()).set_params(inference__height=4)
    with pytest.raises(ValueError, match="width must be"):
        ClassifierChain(inference=Beam()).set_params(inference__width=0)


def test_settings_that_are_none_are_the_defaults():
    model = TreeMixture(n_components=2)
    assert model.get_params()["settings__patience"] == 2
    assert model.get_params(deep=False)["settings"] is None
    assert clone(model).settings is None
    model.set_params(settings__patience=3, settings__gate="constant")
    assert model.settings == MixtureSettings(patience=3, gate="constant")
    with pytest.raises(ValueError, match="has no setting 'height'"):
        model.set_params(settings__height=1)


def test_grid_search_over_a_setting():
    model = TreeMixture(n_components=2, C=1.0, label_penalty=1.0)
    search = GridSearchCV(model, {"settings__gate": ["linear", "constant"]}, cv=2).fit(X, Y)
    gates = [p["settings__gate"] for p in search.cv_results_["params"]]
    assert gates == ["linear", "constant"]
    constant = clone(model).set_params(settings=MixtureSettings(gate="constant"))
    expected = GridSearchCV(constant, {}, cv=2).fit(X, Y).cv_results_["mean_test_score"][0]
    assert search.cv_results_["mean_test_score"][1] == expected


@pytest.mark.parametrize(
    "kind", [BinaryRelevance, ClassifierChain, TreeNetwork, ChainEnsemble, TreeEnsemble]
)
def test_the_base_classifier_may_be_given_by_position(kind):
    base = LogisticRegression()
    assert kind(base).estimator is base
    assert "LogisticRegression" in kind(base)._repr_html_()
    with pytest.raises(TypeError, match="positional"):
        kind(base, 1.0)


def test_grid_search_over_a_width():
    chain = ClassifierChain(C=1.0, label_penalty=1.0, inference=Beam())
    grid = {"classifierchain__inference__width": [1, 4]}
    search = GridSearchCV(make_pipeline(StandardScaler(), chain), grid, cv=2).fit(X, Y)
    widths = [p["classifierchain__inference__width"] for p in search.cv_results_["params"]]
    assert widths == [1, 4]
    greedy = ClassifierChain(C=1.0, label_penalty=1.0, inference=Greedy())
    expected = GridSearchCV(make_pipeline(StandardScaler(), greedy), {}, cv=2).fit(X, Y)
    assert search.cv_results_["mean_test_score"][0] == expected.cv_results_["mean_test_score"][0]


def woven():
    named = [("trees", DecisionTreeClassifier(max_depth=1)), ("line", LogisticRegression())]
    return JointClassifierCV(estimator=named, joint=ClassifierChain(C=1.0, label_penalty=1.0), cv=2)


def test_members_of_a_named_list():
    model = woven()
    assert model.get_params()["trees__max_depth"] == 1
    assert "trees" not in model.get_params(deep=False)
    assert model.set_params(trees__max_depth=2, joint__C=3.0) is model
    assert (model.estimator[0][1].max_depth, model.joint.C) == (2, 3.0)
    other = LogisticRegression(C=7.0)
    model.set_params(line=other, line__tol=0.5)
    assert [name for name, _ in model.estimator] == ["trees", "line"]
    assert model.estimator[1][1] is other
    assert other.tol == 0.5
    assert clone(model).get_params()["line__C"] == 7.0
    with pytest.raises(ValueError, match="Invalid parameter 'forest'"):
        model.set_params(forest__max_depth=1)


def test_a_search_over_a_member():
    search = GridSearchCV(woven(), {"trees__max_depth": [1, 3]}, cv=2).fit(X, Y)
    alone = woven().set_params(**search.best_params_).fit(X, Y)
    np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize(
    "given",
    [
        [("a", LogisticRegression(), 3)],
        [("a",)],
        [(1, LogisticRegression())],
        [("a", LogisticRegression()), LogisticRegression()],
        ("a", LogisticRegression()),
    ],
)
def test_lists_that_are_neither_named_nor_plain(given):
    with pytest.raises(ValueError, match="pairs \\(name, classifier\\) throughout"):
        JointClassifierCV(estimator=given).fit(X, Y)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("", "b"), "it is empty"),
        (("a", "a"), "must differ"),
        (("a", "joint"), "'joint' cannot"),
        (("a__b", "c"), "'a__b'"),
    ],
)
def test_names_that_would_be_ambiguous(names, complaint):
    named = [(name, LogisticRegression()) for name in names]
    with pytest.raises(ValueError, match=complaint):
        JointClassifierCV(estimator=named).fit(X, Y)
