"""ECC as published, against scikit-learn's regressions, votes counted and all thresholds tried."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from labelweave import BayesianOnlineClassifier, ChainEnsemble
from labelweave.data import load
from labelweave.decision import CardinalityThreshold, MajorityVote
from labelweave.models.ensembles import bootstrap_counts
from labelweave.models.methods import make_method

C = 0.03


@pytest.fixture(scope="module")
def emotions():
    data = load("emotions")
    X, Y = scale(data.X), np.asarray(data.Y)
    return X[:300], Y[:300], X[300:420]


@pytest.fixture(scope="module")
def model(emotions):
    return make_method(f"ecc(preset='published', C={C})").fit(*emotions[:2])


def plain_votes(order, X, Y, rows):
    """Fit a chain, and let each label of new rows follow from those predicted before it."""
    predicted = np.zeros((len(rows), Y.shape[1]), dtype=int)
    for position, label in enumerate(order):
        before = list(order[:position])
        regression = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)
        regression.fit(np.hstack([X, Y[:, before]]), Y[:, label])
        predicted[:, label] = regression.predict(np.hstack([rows, predicted[:, before]]))
    return predicted


def plain_ecc(orders, samples, X, Y, rows):
    """Return the labels at the number of votes whose label cardinality is nearest to training."""
    votes = sum(
        plain_votes(order, X[sample], Y[sample], rows)
        for order, sample in zip(orders, samples, strict=True)
    )
    cardinality = Y.sum() / len(Y)
    labelings = [(votes >= least).astype(int) for least in range(len(orders) + 1, -1, -1)]
    return votes, min(labelings, key=lambda y: abs(y.sum() / len(rows) - cardinality))


def test_it_is_the_plain_algorithm(emotions, model):
    X, Y, rows = emotions
    counts = bootstrap_counts(X, 10, model._seed()).astype(int)
    samples = [np.repeat(np.arange(len(X)), c) for c in counts.T]
    votes, labels = plain_ecc(model.orders_, samples, X, Y, rows)
    assert len(model.orders_) == 10
    np.testing.assert_allclose(model.scored(rows).scores, votes / 10)
    np.testing.assert_array_equal(model.predict(rows), labels)
    # Not what a majority would do.
    assert (labels != (votes > 5)).any()


def test_rows_have_as_many_labels_as_in_training(emotions, model):
    _, Y, rows = emotions
    shares, cardinality = model.scored(rows).scores, Y.sum() / len(Y)
    reached = abs(model.predict(rows).sum() / len(rows) - cardinality)
    at_any = [abs((shares > t).sum() / len(rows) - cardinality) for t in np.linspace(0, 1, 101)]
    assert reached == pytest.approx(min(at_any))


def test_marginals_have_a_threshold_of_their_own(emotions):
    X, Y, rows = emotions
    epcc = ChainEnsemble.preset("published", C=C, decision="lcard").fit(X, Y)
    rule = CardinalityThreshold(Y.sum() / len(Y))
    np.testing.assert_array_equal(epcc.predict(rows), rule.label(epcc.predict_proba(rows)))


def test_an_online_learner_counts_votes_too(emotions):
    X, Y, rows = emotions
    vote = MajorityVote.preset("published")
    learner = BayesianOnlineClassifier(decision=vote).fit(X, Y)
    joint = learner.predict_joint(rows)
    np.testing.assert_array_equal(learner.scored(rows).scores, vote.shares(joint))
    np.testing.assert_array_equal(learner.predict(rows), vote.informed(Y.mean(axis=0))(joint))
