"""The same predictions as scikit-multilearn-ng, where that is installed.

It counts every training row as its own neighbour; where a published method does not, it is told so.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from labelweave import InstanceBasedLogistic, MLkNN, StackedBinaryRelevance
from labelweave.data import load

pytest.importorskip("skmultilearn", reason="scikit-multilearn-ng is not installed")
from tests.reference.multilearn import FreshNeighbours, Stacked, mlknn

pytestmark = pytest.mark.filterwarnings("default")
# Solved to the optimum, so that what differs is not the solver.
LOGISTIC = LogisticRegression(solver="newton-cholesky", tol=1e-10)


@pytest.fixture(params=["emotions", "yeast"])
def split(request):
    data = load(request.param)
    X, Y = np.asarray(data.X)[:600], np.asarray(data.Y)[:600, :5]
    n = len(X) * 2 // 3
    scaler = StandardScaler().fit(X[:n])
    return scaler.transform(X[:n]), Y[:n], scaler.transform(X[n:]), Y[n:]


def probabilities(model, X, Y, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the peer, about labels' sparse format
        model.fit(X, Y)
        return model.predict(rows).toarray(), model.predict_proba(rows).toarray()


def test_mlknn(split):
    X, Y, rows, _ = split
    labels, expected = probabilities(mlknn(), X, Y, rows)
    model = MLkNN().fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-10)
    tied = np.isclose(expected, 0.5, atol=1e-12)
    np.testing.assert_array_equal(model.predict(rows)[~tied], labels[~tied])


def test_instance_based_logistic_with_features(split):
    X, Y, rows, _ = split
    _, expected = probabilities(FreshNeighbours(LOGISTIC), X, Y, rows)
    model = InstanceBasedLogistic(passthrough=True, C=1.0, label_penalty=1.0).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-5)


def test_stacked_binary_relevance(split):
    """The peer lets its second layer learn from rows that the first has seen."""
    X, Y, rows, _ = split
    _, expected = probabilities(Stacked(LOGISTIC), X, Y, rows)
    model = StackedBinaryRelevance(cv=1, C=1.0, label_penalty=1.0).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-5)
