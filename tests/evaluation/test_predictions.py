"""One form for the answers of every kind of classifier."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from labelweave import BinaryRelevance
from labelweave.joint import IndependentJoint
from labelweave.metrics import METRICS
from labelweave.models.predictions import (
    predict_labels,
    predict_marginals,
    predict_scores,
    score_model,
)

X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
FORMS = {
    "list of tables": MultiOutputClassifier(LogisticRegression()),
    "one table": OneVsRestClassifier(LogisticRegression()),
    "in a pipeline": make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())),
}


@pytest.mark.parametrize("model", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_labels_and_marginals_have_a_column_a_label(model, n_labels):
    one_column = n_labels == 1 and model is FORMS["one table"]
    model.fit(X, Y[:, 0] if one_column else Y[:, :n_labels])
    labels, marginals = predict_labels(model, X), predict_marginals(model, X)
    assert labels.shape == marginals.shape == (60, n_labels)
    np.testing.assert_array_equal(labels, marginals > 0.5)


def test_labels_that_were_constant():
    constant = np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int)])
    marginals = predict_marginals(DummyClassifier().fit(X, constant), X)
    np.testing.assert_allclose(marginals[0], [Y[:, 0].mean(), 0, 1])
    for value in (0, 1):
        single = DummyClassifier().fit(X, np.full((60, 1), value))
        np.testing.assert_array_equal(predict_marginals(single, X), np.full((60, 1), value))


def test_no_probabilities():
    assert predict_marginals(RidgeClassifier().fit(X, Y), X) is None


def test_ranking_metrics_see_what_rounded_probabilities_hide():
    """A model that is too sure of everything still ranks its rows."""
    rng = np.random.default_rng(0)
    z = np.sort(rng.uniform(40, 1e4, size=(60, 2)), axis=0)
    truth = (np.arange(60) >= 30)[:, None] * np.ones((1, 2), dtype=int)

    class TooSure(BinaryRelevance):
        def _joint(self, X, rows):
            return IndependentJoint(X)

    model = TooSure(C=1.0).fit(z, truth)
    assert (model.predict_proba(z) == 1).all()
    for each in (model, make_pipeline(FunctionTransformer(), model)):
        scores = predict_scores(each, z)
        np.testing.assert_array_equal(scores, z)
        assert score_model(each, z, truth, [METRICS["auc_macro"]])[0]["auc_macro"] == 1.0


def test_metrics_of_probabilities_see_probabilities():
    model = BinaryRelevance(C=1.0).fit(X, Y)
    marginals = model.predict_proba(X)
    for name in ("log_loss", "calibration_error"):
        for each in (model, make_pipeline(FunctionTransformer(), model)):
            measured = score_model(each, X, Y, [METRICS[name]])[0][name]
            assert measured == pytest.approx(METRICS[name](Y, marginals))
