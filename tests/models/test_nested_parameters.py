"""Settings of strategies as parameters of the estimator, for grid searches."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave.decision import ClassMassNormalization
from labelweave.inference import Beam, Greedy
from labelweave.models import BinaryRelevance, ClassifierChain

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


def test_grid_search_over_a_width():
    chain = ClassifierChain(C=1.0, label_penalty=1.0, inference=Beam())
    grid = {"classifierchain__inference__width": [1, 4]}
    search = GridSearchCV(make_pipeline(StandardScaler(), chain), grid, cv=2).fit(X, Y)
    widths = [p["classifierchain__inference__width"] for p in search.cv_results_["params"]]
    assert widths == [1, 4]
    greedy = ClassifierChain(C=1.0, label_penalty=1.0, inference=Greedy())
    expected = GridSearchCV(make_pipeline(StandardScaler(), greedy), {}, cv=2).fit(X, Y)
    assert search.cv_results_["mean_test_score"][0] == expected.cv_results_["mean_test_score"][0]
