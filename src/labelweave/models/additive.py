"""Classifiers whose log-odds are a sum over features, as linear conditionals.

Logistic regression (maximum entropy) and naive Bayes for sets and counts all give log-odds
``w·x + b``. A chain of them is a linear chain, and takes the compiled path.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, MultinomialNB

from labelweave.logistic import LinearConditionals
from labelweave.models.base_classifier import ConstantConditional

Floats = NDArray[np.float64]


def additive_log_odds(estimator: Any) -> tuple[Floats, float] | None:
    """Weights and intercept of a fitted binary classifier's log-odds; None if they are not linear.

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
    # Subclasses may do anything in predict_proba: only the classes themselves are known.
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
    return None


def _prior_log_odds(estimator: Any) -> float:
    return float(estimator.class_log_prior_[1] - estimator.class_log_prior_[0])


def additive_conditionals(
    estimators: list[Any], parents: list[NDArray[np.int64]], n_features: int
) -> LinearConditionals | None:
    """Conditionals of a chain of fitted classifiers; None unless all have additive log-odds."""
    n_labels = len(estimators)
    weights, intercept = np.zeros((n_labels, n_features)), np.zeros(n_labels)
    coupling = np.zeros((n_labels, n_labels))
    for label, estimator in enumerate(estimators):
        terms = additive_log_odds(estimator)
        if terms is None or not np.isfinite(terms[0]).all():
            return None
        if len(terms[0]):
            weights[label] = terms[0][:n_features]
            coupling[label, parents[label]] = terms[0][n_features:]
        intercept[label] = terms[1]
    return LinearConditionals(weights, intercept, coupling, C=np.nan, label_penalty=np.nan)


def as_seen_by(estimators: list[Any], X: Any) -> Any:
    """X as classifiers see it: naive Bayes for sets looks only at which features are positive."""
    if not any(type(e) is BernoulliNB and e.binarize is not None for e in estimators):
        return X
    if isinstance(X, np.ndarray):
        return (X > 0).astype(np.float64)
    seen = X.copy()
    seen.data = (seen.data > 0).astype(np.float64)
    return seen
