"""What may be calibrated: pipelines, searches and frozen models, but nothing twice."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import (
    BinaryRelevance,
    CalibratedJointCV,
    ConformalClassifier,
    explain_label,
    explain_set,
)
from labelweave.models.explanations import can_explain
from labelweave.models.methods import make_method
from tests.contract.samples import sample

BR = BinaryRelevance(C=1.0)
X, Y = sample(n=120, n_features=4, n_labels=3, seed=3)
OLD, NEW = slice(60), slice(60, None)
WRAPPERS = pytest.mark.parametrize("wrapper", [CalibratedJointCV, ConformalClassifier])


# ---------------------------------------------------------------------- pipelines and searches


@WRAPPERS
def test_a_frozen_pipeline_or_search_is_what_it_contains(wrapper):
    pipeline = make_pipeline(StandardScaler(), BinaryRelevance(C=1.0)).fit(10 * X[OLD], Y[OLD])
    search = GridSearchCV(pipeline, {"binaryrelevance__C": [1.0]}, cv=2).fit(10 * X[OLD], Y[OLD])
    scaled = pipeline[:-1].transform(10 * X)
    expected = wrapper(estimator=FrozenEstimator(pipeline[-1])).fit(scaled[NEW], Y[NEW])
    for frozen in (FrozenEstimator(pipeline), FrozenEstimator(search)):
        model = wrapper(estimator=frozen).fit(10 * X[NEW], Y[NEW])
        np.testing.assert_array_equal(model.predict(10 * X), expected.predict(scaled))
        np.testing.assert_allclose(model.predict_proba(10 * X), expected.predict_proba(scaled))


@WRAPPERS
def test_a_search_is_fitted_and_then_calibrated(wrapper):
    search = GridSearchCV(BinaryRelevance(), {"C": [1.0]}, cv=2)
    model, plain = wrapper(estimator=search).fit(X, Y), wrapper(estimator=BR).fit(X, Y)
    assert not hasattr(search, "best_estimator_")
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X))


# ---------------------------------------------------------------------- frozen models and frames

FRAME, LABELS = pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(Y, columns=list("uvw"))


@WRAPPERS
def test_frozen_models_get_the_frames_that_they_know(wrapper):
    named = FrozenEstimator(BinaryRelevance(C=1.0).fit(FRAME[OLD], LABELS[OLD]))
    model = wrapper(estimator=named).fit(FRAME[NEW], LABELS[NEW])  # warnings are errors
    plain = FrozenEstimator(BinaryRelevance(C=1.0).fit(X[OLD], Y[OLD]))
    expected = wrapper(estimator=plain).fit(X[NEW], Y[NEW]).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(FRAME), expected)
    with pytest.warns(UserWarning, match="X has no feature names"):
        wrapper(estimator=named).fit(X[NEW], LABELS[NEW])


@WRAPPERS
def test_frozen_models_refuse_columns_that_they_do_not_know(wrapper):
    named = FrozenEstimator(BinaryRelevance(C=1.0).fit(FRAME[OLD], LABELS[OLD]))
    model = wrapper(estimator=named)
    for labels in (LABELS[["v", "u", "w"]], LABELS.rename(columns={"u": "t"})):
        with pytest.raises(ValueError, match=r"y has the labels .*fitted to .*'u', 'v', 'w'"):
            model.fit(FRAME, labels)
    with pytest.raises(ValueError, match="y has 2 labels, but estimator was fitted to 3"):
        model.fit(FRAME, LABELS[["u", "v"]])
    for features in (FRAME[list("dcba")], FRAME[list("abc")]):
        with pytest.raises(ValueError, match="X must have the 4 features"):
            model.fit(features, LABELS)
    single = FrozenEstimator(BinaryRelevance(C=1.0).fit(X, np.where(Y[:, 0], "yes", "no")))
    with pytest.raises(ValueError, match="y has the classes"):
        wrapper(estimator=single).fit(X, np.full(len(X), "yes"))


# ---------------------------------------------------------------------- once only


@pytest.mark.parametrize("inner", [CalibratedJointCV(estimator=BR), ConformalClassifier()])
def test_nothing_is_calibrated_twice(inner):
    name = type(inner).__name__
    for estimator in (inner, make_pipeline(StandardScaler(), inner)):
        with pytest.raises(ValueError, match=f"estimator is calibrated already, as {name}"):
            CalibratedJointCV(estimator=estimator).fit(X, Y)
    for method in ("calibrated(calibrated())", "calibrated(conformal())"):
        with pytest.raises(ValueError, match="estimator is calibrated already"):
            make_method(method)
    with pytest.raises(ValueError, match="JointClassifierCV makes one of any"):
        make_method("calibrated(svm())")


def test_explanations_are_those_of_the_model_before_calibration():
    model = CalibratedJointCV(estimator=BR).fit(X, Y)
    for explain in (lambda m: explain_set(m, X[:1]), lambda m: explain_label(m, X[:1], 0)):
        with pytest.raises(ValueError, match=r"explain model.estimator_"):
            explain(model)
        assert explain(model.estimator_).values.shape[0] == 1
    assert not can_explain(model)
