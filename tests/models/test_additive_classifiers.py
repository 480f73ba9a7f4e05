"""Additive classifiers take the compiled path and answer exactly as the general one."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier

from labelweave import ClassifierChain, TreeNetwork
from labelweave.inference import Exhaustive, Greedy

BASES = [
    LogisticRegression(C=2.0),
    LogisticRegression(class_weight="balanced"),
    BernoulliNB(alpha=0.5),
    BernoulliNB(fit_prior=False),
    MultinomialNB(),
]


class Opaque(LogisticRegression):
    """The same classifier in a class nobody knows, which takes the general path."""


@pytest.fixture(params=["dense", "sparse"])
def counts(request):
    random = np.random.default_rng(3)
    X = random.poisson(0.6, size=(120, 9)).astype(float)
    drift = X[:, :4] @ random.normal(size=(4, 5))
    Y = (drift + random.normal(size=(120, 5)) > np.median(drift, axis=0)).astype(int)
    Y[:, 4] |= Y[:, 0]
    return (sp.csr_array(X) if request.param == "sparse" else X), Y


def general(model, X):
    """Return the joint of a fitted chain by the general path, and its modes."""
    conditionals, model.conditionals_ = model.conditionals_, None
    try:
        joint = model.predict_joint(X)
        assert joint.conditionals.linear is None
        return joint, joint.mode(Exhaustive()), joint.mode(Greedy())
    finally:
        model.conditionals_ = conditionals


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("order", [None, "random"])
def test_the_fast_path_equals_the_general_path(base, order, counts):
    X, Y = counts
    model = ClassifierChain(estimator=base, order=order).fit(X[:80], Y[:80])
    fast = model.predict_joint(X[80:])
    assert fast.conditionals.linear is not None
    slow, mode, greedy = general(model, X[80:])
    np.testing.assert_allclose(fast.log_prob(Y[80:]), slow.log_prob(Y[80:]), atol=1e-8)
    np.testing.assert_allclose(fast.marginals(), slow.marginals(), atol=1e-8)
    np.testing.assert_array_equal(fast.mode(Exhaustive()).labels, mode.labels)
    np.testing.assert_array_equal(fast.mode(Greedy()).labels, greedy.labels)


@pytest.mark.parametrize(
    "base",
    [DecisionTreeClassifier(max_depth=2), BernoulliNB(binarize=1.5), Opaque()],
    ids=str,
)
def test_other_classifiers_keep_the_general_path(base, counts):
    X, Y = counts
    if sp.issparse(X):
        X = X.toarray()
    model = ClassifierChain(estimator=base).fit(X, Y)
    assert model.conditionals_ is None
    assert model.predict_joint(X).conditionals.linear is None


def test_a_constant_label_is_additive_too(counts):
    X, Y = counts
    Y = Y.copy()
    Y[:, 2] = 0
    model = ClassifierChain(estimator=MultinomialNB()).fit(X, Y)
    assert model.predict_joint(X).conditionals.linear is not None
    marginals = model.predict_proba(X)[:, 2]
    np.testing.assert_allclose(marginals, 1 / (len(Y) + 2))


def measurements():
    random = np.random.default_rng(1)
    X = random.normal(size=(120, 6)) * [1, 5, 0.1, 1, 1, 1] + [0, 1e4, 3, 0, 0, 0]
    Y = (random.normal(size=(120, 4)) + X[:, [0, 3, 4, 5]] > 0).astype(int)
    X[:, 3] *= 1 + Y[:, 1]  # classes that differ by their variance
    return X, Y


@pytest.mark.parametrize("order", [None, "random"])
@pytest.mark.parametrize("priors", [None, [0.2, 0.8]])
def test_gaussian_naive_bayes_is_linear_in_features_and_squares(order, priors):
    X, Y = measurements()
    model = ClassifierChain(estimator=GaussianNB(priors=priors), order=order).fit(X[:80], Y[:80])
    fast = model.predict_joint(X[80:])
    assert fast.conditionals.linear is not None
    slow, mode, greedy = general(model, X[80:])
    np.testing.assert_allclose(fast.log_prob(Y[80:]), slow.log_prob(Y[80:]), atol=1e-6)
    np.testing.assert_allclose(fast.marginals(), slow.marginals(), atol=1e-7)
    np.testing.assert_array_equal(fast.mode(Exhaustive()).labels, mode.labels)
    np.testing.assert_array_equal(fast.mode(Greedy()).labels, greedy.labels)


def test_trees_of_gaussian_naive_bayes():
    X, Y = measurements()
    model = TreeNetwork(estimator=GaussianNB(), structure=[None, 0, 0, 1]).fit(X[:80], Y[:80])
    fast = model.predict_joint(X[80:]).log_prob(Y[80:])
    model.conditionals_ = None
    np.testing.assert_allclose(fast, model.predict_joint(X[80:]).log_prob(Y[80:]), atol=1e-6)


def test_gaussian_naive_bayes_without_variance_keeps_the_general_path():
    X, Y = np.ones((40, 3)), np.tile([[0, 1], [1, 0]], (20, 1))
    with np.errstate(all="ignore"):
        model = ClassifierChain(estimator=GaussianNB(var_smoothing=0.0)).fit(X, Y)
    assert model.conditionals_ is None


def test_negative_features_are_absent_for_naive_bayes():
    X = np.array([[-1.0, 1.0], [2.0, -3.0], [-1.0, 0.0], [1.0, 1.0]] * 5)
    Y = np.array([[0, 1], [1, 0], [0, 0], [1, 1]] * 5)
    model = ClassifierChain(estimator=BernoulliNB()).fit(X, Y)
    fast = model.predict_joint(X).log_prob(Y)
    np.testing.assert_allclose(fast, general(model, X)[0].log_prob(Y), atol=1e-8)
