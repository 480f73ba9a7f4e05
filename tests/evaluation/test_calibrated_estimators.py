"""What may be calibrated: pipelines, searches and frozen models, but nothing twice."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave.evaluation import CalibratedJointCV, ConformalClassifier
from labelweave.models import BinaryRelevance
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
