"""Classifiers with additive log-odds, as linear conditionals.

Logistic regression and naive Bayes for binary features and counts have log-odds ``w·x + b``; those
of Gaussian naive Bayes are linear in the features and their squares. A label of 0/1 equals its
square, so labels enter all of them linearly: a chain of such classifiers is a linear chain, which
the compiled kernels search.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from labelweave._common.arrays import Floats
from labelweave._common.label_graph import LabelGraph
from labelweave.logistic import LinearConditionals
from labelweave.models.base_classifier import ConstantConditional


def additive_log_odds(estimator: Any, centre: Floats | None = None) -> tuple[Floats, float] | None:
    """Return weights and intercept of a fitted classifier's log-odds; None if they are not linear.

    The weights belong to the features as `as_seen_by` transforms them, followed by the labels.
    `centre` is what it subtracts from the features before they are squared.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> X, y = np.array([[2, 0], [0, 1], [1, 1]]), [0, 1, 1]
    >>> model = MultinomialNB().fit(X, y)
    >>> weights, intercept = additive_log_odds(model)
    >>> bool(np.allclose(X @ weights + intercept, -np.diff(model.predict_log_proba(X)[:, ::-1]).T))
    True
    """
    # A subclass may override predict_proba: only these very classes are known to be additive.
    kind = type(estimator)
    if kind is ConstantConditional:
        return np.zeros(0), estimator.log_odds
    if kind is LogisticRegression:
        return estimator.coef_[0], float(np.ravel(estimator.intercept_)[0])
    if kind is MultinomialNB:
        absent, present = estimator.feature_log_prob_
        return present - absent, _prior_log_odds(estimator)
    if kind is BernoulliNB and estimator.binarize in (None, 0.0):
        present = estimator.feature_log_prob_
        absent = np.log(-np.expm1(present))
        weights = (present - absent)[1] - (present - absent)[0]
        return weights, _prior_log_odds(estimator) + float((absent[1] - absent[0]).sum())
    if kind is GaussianNB and centre is not None:
        return _gaussian_log_odds(estimator, centre)
    return None


def _gaussian_log_odds(estimator: GaussianNB, centre: Floats) -> tuple[Floats, float]:
    """Return Σ_d log N(x_d; μ₁, v₁) - log N(x_d; μ₀, v₀) as a polynomial.

    Features are expanded around their centre, labels by their two values.
    """
    origin = np.zeros(estimator.theta_.shape[1])
    origin[: len(centre)] = centre
    means, variances = estimator.theta_ - origin, estimator.var_
    square = 0.5 * (1 / variances[0] - 1 / variances[1])
    slope = means[1] / variances[1] - means[0] / variances[0]
    heights = -0.5 * (means**2 / variances + np.log(variances))
    intercept = np.log(estimator.class_prior_[1] / estimator.class_prior_[0])
    intercept += (heights[1] - heights[0]).sum()
    of_labels = (square + slope)[len(centre) :]
    weights = np.concatenate([slope[: len(centre)], square[: len(centre)], of_labels])
    return weights, float(intercept)


def _centre(estimators: list[Any], n_features: int) -> Floats | None:
    """Return the mean of the class means: squares of features centred there lose no digits."""
    means = [e.theta_[:, :n_features] for e in estimators if type(e) is GaussianNB]
    return np.concatenate(means).mean(axis=0) if means else None


def _prior_log_odds(estimator: Any) -> float:
    return float(estimator.class_log_prior_[1] - estimator.class_log_prior_[0])


def additive_conditionals(
    estimators: list[Any], graph: LabelGraph, n_features: int
) -> LinearConditionals | None:
    """Return the conditionals of fitted classifiers; None unless all have additive log-odds."""
    n_labels = len(estimators)
    centre = _centre(estimators, n_features)
    n_seen = n_features if centre is None else 2 * n_features
    weights, intercept = np.zeros((n_labels, n_seen)), np.zeros(n_labels)
    coupling = np.zeros((n_labels, n_labels))
    for label, estimator in enumerate(estimators):
        with np.errstate(divide="ignore", invalid="ignore"):  # zero variance: not finite
            terms = additive_log_odds(estimator, centre)
        if terms is None or not np.isfinite([*terms[0], terms[1]]).all():
            return None
        if len(terms[0]):
            weights[label] = terms[0][:n_seen]
            coupling[label, graph.parents[label]] = terms[0][n_seen:]
        intercept[label] = terms[1]
    return LinearConditionals(weights, intercept, coupling, C=np.nan, label_penalty=np.nan)


def as_seen_by(estimators: list[Any], X: Any) -> Any:
    """Return X as the classifiers see it.

    Bernoulli naive Bayes sees which features are positive, Gaussian naive Bayes the features and
    their squares.
    """
    centre = _centre(estimators, X.shape[1])
    if centre is not None:
        around = X - centre
        return np.hstack([around, around**2])
    if not any(type(e) is BernoulliNB and e.binarize is not None for e in estimators):
        return X
    if isinstance(X, np.ndarray):
        return (X > 0).astype(np.float64)
    seen = X.copy()
    seen.data = (seen.data > 0).astype(np.float64)
    return seen
