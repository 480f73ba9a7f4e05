"""The library's own engine and scikit-learn learn the same models from real data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain as ScikitChain
from sklearn.preprocessing import StandardScaler

from labelweave import BinaryRelevance, ClassifierChain
from labelweave.data import load
from labelweave.inference import Greedy

# Newton's method to the end: the optimum itself is compared, not two ways of stopping early.


class Unknown(LogisticRegression):
    """A classifier the library does not know to be additive: it takes the general path."""


EXACT = Unknown(C=1.0, solver="newton-cholesky", tol=1e-10, max_iter=1000)


@pytest.fixture(scope="module")
def emotions():
    data = load("emotions")
    X = StandardScaler().fit_transform(data.X)
    return X[:400], np.asarray(data.Y)[:400], X[400:], np.asarray(data.Y)[400:]


def logistic(C=1.0):
    return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1000)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_binary_relevance_is_one_logistic_regression_a_label(emotions, C):
    X, Y, rows, _ = emotions
    model = BinaryRelevance(C=C).fit(X, Y)
    for label in range(Y.shape[1]):
        other = logistic(C).fit(X, Y[:, label])
        np.testing.assert_allclose(
            model.predict_proba(rows)[:, label], other.predict_proba(rows)[:, 1], atol=1e-5
        )
        np.testing.assert_allclose(model.conditionals_.weights[label], other.coef_[0], atol=1e-5)
        np.testing.assert_allclose(
            model.conditionals_.intercept[label], other.intercept_, atol=1e-5
        )
    assert model.C_ == C


def test_a_chain_is_a_logistic_regression_on_features_and_earlier_true_labels(emotions):
    X, Y, _, _ = emotions
    order = [3, 0, 5, 1, 4, 2]
    learned = ClassifierChain(C=1.0, label_penalty=1.0, order=order).fit(X, Y).conditionals_
    for position, label in enumerate(order):
        before = order[:position]
        other = logistic().fit(np.hstack([X, Y[:, before]]), Y[:, label])
        np.testing.assert_allclose(learned.weights[label], other.coef_[0, : X.shape[1]], atol=1e-5)
        np.testing.assert_allclose(
            learned.coupling[label, before], other.coef_[0, X.shape[1] :], atol=1e-5
        )
        assert np.count_nonzero(learned.coupling[label]) == position


def test_label_penalty_scales_the_label_columns(emotions):
    """A penalty κ on label columns is a penalty of one on columns multiplied by 1/√κ."""
    X, Y, _, _ = emotions
    kappa = 0.04
    learned = ClassifierChain(C=0.1, label_penalty=kappa).fit(X, Y).conditionals_
    other = logistic(0.1).fit(np.hstack([X, Y[:, :5] / np.sqrt(kappa)]), Y[:, 5])
    np.testing.assert_allclose(
        learned.coupling[5, :5], other.coef_[0, X.shape[1] :] / np.sqrt(kappa), atol=1e-4
    )


@pytest.mark.parametrize("order", [None, [5, 4, 3, 2, 1, 0]])
def test_greedy_inference_predicts_as_scikit_learns_chain(emotions, order):
    X, Y, rows, _ = emotions
    ours = ClassifierChain(C=1.0, label_penalty=1.0, inference=Greedy(), order=order).fit(X, Y)
    theirs = ScikitChain(logistic(), order=order).fit(X, Y)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(rows))


def test_weights_reach_every_label(emotions):
    X, Y, rows, _ = emotions
    weight = np.random.default_rng(0).exponential(size=len(X))
    model = BinaryRelevance(C=1.0).fit(X, Y, sample_weight=weight)
    for label in range(Y.shape[1]):
        other = logistic().fit(X, Y[:, label], sample_weight=weight)
        np.testing.assert_allclose(
            model.predict_proba(rows)[:, label], other.predict_proba(rows)[:, 1], atol=1e-5
        )
    chain = ClassifierChain(C=1.0, label_penalty=1.0).fit(X, Y, sample_weight=weight)
    other = logistic().fit(np.hstack([X, Y[:, :5]]), Y[:, 5], sample_weight=weight)
    np.testing.assert_allclose(
        chain.conditionals_.coupling[5, :5], other.coef_[0, X.shape[1] :], atol=1e-5
    )


def test_sparse_features_give_the_same_model(emotions):
    X, Y, rows, _ = emotions
    thin, thin_rows = np.where(np.abs(X) < 1, 0, X), np.where(np.abs(rows) < 1, 0, rows)
    dense = ClassifierChain(C=1.0, label_penalty=0.1).fit(thin, Y)
    sparse = ClassifierChain(C=1.0, label_penalty=0.1).fit(sp.csr_array(thin), Y)
    np.testing.assert_allclose(
        sparse.predict_joint(sp.csr_array(thin_rows)).log_prob(emotions[3]),
        dense.predict_joint(thin_rows).log_prob(emotions[3]),
        atol=1e-6,
    )


@pytest.mark.parametrize("order", [None, [2, 4, 0, 5, 3, 1]])
def test_the_fast_path_equals_the_general_path(emotions, order):
    X, Y, rows, truth = emotions
    fast = ClassifierChain(C=1.0, label_penalty=1.0, order=order).fit(X, Y).predict_joint(rows)
    slow = ClassifierChain(estimator=EXACT, order=order).fit(X, Y).predict_joint(rows)
    assert fast.conditionals.linear is not None
    assert slow.conditionals.linear is None
    np.testing.assert_allclose(slow.log_prob(truth), fast.log_prob(truth), atol=1e-4)
    np.testing.assert_array_equal(slow.mode().labels, fast.mode().labels)
    np.testing.assert_array_equal(Greedy()(slow).labels, Greedy()(fast).labels)
    np.testing.assert_allclose(slow.marginals(), fast.marginals(), atol=1e-5)
    np.testing.assert_allclose(slow.entropy(), fast.entropy(), atol=1e-4)
    given = {0: 1, 4: 0}
    np.testing.assert_allclose(
        slow.condition(given).marginals(), fast.condition(given).marginals(), atol=1e-5
    )


def test_binary_relevance_with_a_base_equals_the_fast_path(emotions):
    X, Y, rows, _ = emotions
    fast = BinaryRelevance(C=1.0).fit(X, Y)
    slow = BinaryRelevance(estimator=EXACT).fit(X, Y)
    np.testing.assert_allclose(slow.predict_proba(rows), fast.predict_proba(rows), atol=1e-5)
    np.testing.assert_array_equal(slow.predict(rows), fast.predict(rows))


def test_exact_inference_equals_a_plain_enumeration(emotions):
    """All 64 vectors, each label's probability from scikit-learn, maximum taken by hand."""
    X, Y, rows, _ = emotions
    model = ClassifierChain(C=1.0, label_penalty=1.0).fit(X, Y)
    bases = [logistic().fit(np.hstack([X, Y[:, :j]]), Y[:, j]) for j in range(6)]
    vectors = (np.arange(64)[:, None] >> np.arange(6)) & 1
    log_prob = np.zeros((len(rows), 64))
    for column, vector in enumerate(vectors):
        for label, base in enumerate(bases):
            prefix = np.tile(vector[:label], (len(rows), 1))
            probability = base.predict_log_proba(np.hstack([rows, prefix]))
            log_prob[:, column] += probability[:, vector[label]]
    np.testing.assert_array_equal(model.predict(rows), vectors[log_prob.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(rows), np.exp(log_prob) @ vectors, atol=1e-5)
