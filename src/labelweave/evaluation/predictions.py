"""Predictions of any fitted model in one format: labels, probabilities, a joint distribution.

labelweave's models have one output format; scikit-learn's have several, and pipelines hide some
methods of the models they contain.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from labelweave._common.arrays import Floats, Indicators
from labelweave._common.pipelines import is_fitted_search, last_step
from labelweave.decision import Decision, Probabilities, resolve_decision
from labelweave.decision.probabilities import Scores, check_scores
from labelweave.evaluation.metrics.likelihood import SupportsLogProb
from labelweave.evaluation.metrics.registry import Metric

__all__ = [
    "marginals_or_scores",
    "predict_decided",
    "predict_joint",
    "predict_labels",
    "predict_marginals",
    "predict_scores",
    "score_model",
]


def predict_labels(model: Any, X: Any) -> Indicators:
    """Return the predicted labels as an n×L array, whatever the format of the model's output.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> predict_labels(DecisionTreeClassifier().fit([[0], [1]], [[1], [0]]), [[0], [1]])
    array([[1],
           [0]])
    """
    predicted = model.predict(X)
    if hasattr(predicted, "toarray"):
        predicted = predicted.toarray()
    labels = np.asarray(predicted).astype(np.int64)
    # For a single label, scikit-learn returns a one-dimensional array.
    return labels if labels.ndim == 2 else labels.reshape(-1, 1)


def predict_marginals(model: Any, X: Any) -> Floats | None:
    """Return P(y_j = 1 | x) as an n×L array; None if the model has no probabilities.

    scikit-learn's multi-output classifiers return a list of arrays of shape (n, number of classes),
    one per label; a label that was constant in training has only one class.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> prior = DummyClassifier().fit([[0], [1]], [[1, 0], [0, 0]])
    >>> predict_marginals(prior, [[5]])
    array([[0.5, 0. ]])
    """
    if not hasattr(model, "predict_proba"):
        return None
    probabilities = model.predict_proba(X)
    if isinstance(probabilities, list):
        pairs = zip(probabilities, model.classes_, strict=True)
        return np.column_stack([_of_class_one(table, classes) for table, classes in pairs])
    marginals = np.asarray(probabilities, dtype=np.float64)
    is_ours = hasattr(last_step(model), "predict_joint")
    if not is_ours and predict_labels(model, X[:1]).shape[1] == 1:
        # For a single label, scikit-learn returns one column per class.
        return _of_class_one(marginals, model.classes_).reshape(-1, 1)
    return marginals


def predict_scores(model: Any, X: Any) -> Floats | None:
    """Return n×L scores that rank the labels: probabilities or else decision values.

    Probabilities of labelweave's models are log-odds here, which keep the order of those that are
    rounded to 1. None if the model has neither.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> predict_scores(RidgeClassifier().fit([[0], [1]], [[1, 0], [0, 1]]), [[0.0], [1.0]]).shape
    (2, 2)
    """
    scores = marginals_or_scores(model, X)
    return check_scores(scores) if isinstance(scores, Probabilities) else scores


def marginals_or_scores(model: Any, X: Any) -> Scores | None:
    """Return what metrics of scores take: marginals, held as log-odds if these are known.

    They are decision values if the model has no probabilities, and None if it has neither.

    Examples
    --------
    >>> from labelweave.models import BinaryRelevance
    >>> model = BinaryRelevance(C=1.0).fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 0], [1, 0]])
    >>> type(marginals_or_scores(model, [[1.0]])).__name__
    'Probabilities'
    """
    last, prepared = _innermost(model, X)
    if hasattr(last, "predict_log_odds"):
        return Probabilities(last.predict_log_odds(prepared))
    marginals = predict_marginals(model, X)
    if marginals is not None or not hasattr(model, "decision_function"):
        return marginals
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    return values if values.ndim == 2 else values.reshape(-1, 1)


def _of_class_one(table: Any, classes: Any) -> Floats:
    values = np.asarray(table, dtype=np.float64)
    seen = list(classes)
    return values[:, seen.index(1)] if 1 in seen else np.zeros(len(values))


def predict_joint(model: Any, X: Any) -> SupportsLogProb | None:
    """Return P(y|x) from a fitted model, also from inside a pipeline or a search.

    Parameters
    ----------
    model : fitted estimator
        Any estimator; the transformers of a pipeline are applied first.
    X : array, sparse matrix or data frame
        Features.

    Returns
    -------
    JointDistribution or None
        None if the model has no ``predict_joint``.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> predict_joint(DummyClassifier().fit([[0]], [[1, 0]]), [[0]]) is None
    True
    """
    last, prepared = _innermost(model, X)
    return last.predict_joint(prepared) if hasattr(last, "predict_joint") else None


def predict_decided(
    model: Any, X: Any, decision: str | Decision
) -> tuple[Indicators, Floats | None] | None:
    """Return labels decided anew, without another fit, and the expected score of each row.

    Parameters
    ----------
    model : fitted estimator
        Any estimator; the transformers of a pipeline are applied first.
    X : array, sparse matrix or data frame
        Features.
    decision : str or Decision
        As the models' parameter `decision`.

    Returns
    -------
    (n, L) labels, (n,) scores
        Labels are 0 or 1, or -1 where they stay open. Rules for whole test sets have None instead
        of scores. None altogether if the model has no ``predict_joint``.

    Examples
    --------
    >>> from labelweave.models import BinaryRelevance
    >>> model = BinaryRelevance(C=1.0).fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 0], [1, 0]])
    >>> predict_decided(model, [[1.0]], "f1")[0]
    array([[1, 0]], dtype=int8)
    """
    last, prepared = _innermost(model, X)
    if not hasattr(last, "predict_joint"):
        return None
    if hasattr(resolve_decision(decision), "risk"):
        decided = last.decide(prepared, decision)
        return decided.labels, decided.score
    anew = copy(last).set_params(decision=decision)
    return predict_labels(anew, prepared), None


def _innermost(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier inside pipelines and searches, and the features as it sees them."""
    if hasattr(model, "predict_joint"):
        return model, X
    if isinstance(model, Pipeline):
        prepared = model[:-1].transform(X) if len(model.steps) > 1 else X
        return _innermost(model.steps[-1][1], prepared)
    if isinstance(model, FrozenEstimator):
        return _innermost(model.estimator, X)
    if is_fitted_search(model):
        return _innermost(model.best_estimator_, X)
    return model, X


def score_model(
    model: Any, X: Any, Y: Any, metrics: Iterable[Metric]
) -> tuple[dict[str, float], float]:
    """Score a fitted model on test data.

    Metrics that need a joint distribution or scores are left out if the model has none. The second
    value is the number of seconds that ``predict`` took.
    """
    start = time.perf_counter()
    prediction = predict_labels(model, X)
    seconds = time.perf_counter() - start
    wanted = list(metrics)
    joint = predict_joint(model, X) if any(metric.needs_joint for metric in wanted) else None
    need_scores = any(metric.needs_scores for metric in wanted)
    scores = marginals_or_scores(model, X) if need_scores else None
    inputs = {
        metric: joint if metric.needs_joint else scores if metric.needs_scores else prediction
        for metric in wanted
    }
    truth = np.asarray(Y)
    results = {m.name: m(truth, values) for m, values in inputs.items() if values is not None}
    return results, seconds
