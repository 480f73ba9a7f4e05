"""Predictions of any fitted model in one format: labels, probabilities, a joint distribution.

labelweave's models have one output format; scikit-learn's have several, and pipelines hide some
methods of the models they contain.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from labelweave._common.arrays import Floats, Indicators
from labelweave._common.pipelines import inside
from labelweave.decision.decide import resolve_decision
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Probabilities, Scores, check_scores
from labelweave.joint import JointDistribution
from labelweave.metrics import (
    DEFAULT_METRICS,
    Metric,
    check_indicators,
    resolve_metrics,
    scores_by_label,
)

if TYPE_CHECKING:
    import pandas as pd


def predict_labels(model: Any, X: Any) -> Indicators:
    """Return the predicted labels as an n×L array, whatever the format of the model's output."""
    predicted = model.predict(X)
    if hasattr(predicted, "toarray"):
        predicted = predicted.toarray()
    labels = np.asarray(predicted).astype(np.int64)
    # For a single label, scikit-learn returns a one-dimensional array.
    return labels if labels.ndim == 2 else labels.reshape(-1, 1)


def predict_marginals(model: Any, X: Any) -> Floats | None:
    """Return P(y_j = 1 | x) as an n×L array; None if the model has no probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    probabilities = model.predict_proba(X)
    if isinstance(probabilities, list):  # scikit-learn's, one matrix of class probabilities a label
        pairs = zip(probabilities, model.classes_, strict=True)
        return np.column_stack([_of_class_one(table, classes) for table, classes in pairs])
    marginals = np.asarray(probabilities, dtype=np.float64)
    is_ours = hasattr(inside(model).model, "predict_joint")
    if not is_ours and predict_labels(model, X[:1]).shape[1] == 1:
        # For a single label, scikit-learn returns one column per class.
        return _of_class_one(marginals, model.classes_).reshape(-1, 1)
    return marginals


def predict_scores(model: Any, X: Any) -> Floats | None:
    """Return n×L scores that rank the labels; None if the model has none.

    They are log-odds if the model is labelweave's, else probabilities or decision values.
    """
    scores = marginals_or_scores(model, X)
    return check_scores(scores) if isinstance(scores, Probabilities) else scores


def marginals_or_scores(model: Any, X: Any) -> Scores | None:
    """Return the scores that metrics take: marginals (as log-odds if known), or decision values.

    None if the model has neither.
    """
    found = inside(model, X)
    if hasattr(found.model, "predict_log_odds"):
        return Probabilities(found.model.predict_log_odds(found.X))
    marginals = predict_marginals(model, X)
    if marginals is not None or not hasattr(model, "decision_function"):
        return marginals
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    return values if values.ndim == 2 else values.reshape(-1, 1)


def _of_class_one(table: Any, classes: Any) -> Floats:
    # A label that was constant in training has only one class.
    values = np.asarray(table, dtype=np.float64)
    seen = list(classes)
    return values[:, seen.index(1)] if 1 in seen else np.zeros(len(values))


def predict_joint(model: Any, X: Any) -> JointDistribution | None:
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
    found = inside(model, X)
    return found.model.predict_joint(found.X) if hasattr(found.model, "predict_joint") else None


def predict_decided(
    model: Any, X: Any, decision: str | Decision
) -> tuple[Indicators, Floats | None] | None:
    """Return labels decided anew, without another fit, and the expected score of each row."""
    found = inside(model, X)
    if not hasattr(found.model, "predict_joint"):
        return None
    if hasattr(resolve_decision(decision), "risk"):
        decided = found.model.decide(found.X, decision)
        return decided.labels, decided.score
    anew = copy(found.model).set_params(decision=decision)
    return predict_labels(anew, found.X), None


@overload
def score(
    model: Any,
    X: Any,
    Y: Any,
    metrics: Iterable[str] = ...,
    *,
    per_label: Literal[False] = ...,
) -> dict[str, float]: ...


@overload
def score(
    model: Any, X: Any, Y: Any, metrics: Iterable[str] = ..., *, per_label: Literal[True]
) -> pd.DataFrame: ...


def score(
    model: Any,
    X: Any,
    Y: Any,
    metrics: Iterable[str] = DEFAULT_METRICS,
    *,
    per_label: bool = False,
) -> dict[str, float] | pd.DataFrame:
    """Score a fitted model on test data.

    Parameters
    ----------
    model : fitted estimator
        A multi-label classifier, or a pipeline or search that ends in one.
    X : array, sparse matrix or data frame
        Features.
    Y : (n, L) array or data frame of 0/1
        True labels.
    metrics : iterable of str
        Names in `METRICS`. Metrics that need a joint distribution or scores are left out if the
        model has none.
    per_label : bool, default=False
        Whether to evaluate each label on its own instead: its support, number of predictions,
        precision, recall and F1, and its AUC and average precision if the model has scores.

    Returns
    -------
    dict or pandas.DataFrame
        The scores by metric, or one row for each label.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = np.eye(4), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> score(DecisionTreeClassifier(random_state=0).fit(X, Y), X, Y, ["exact_match"])
    {'exact_match': 1.0}
    """
    if per_label:
        names = getattr(Y, "columns", getattr(inside(model).model, "label_names_in_", None))
        predicted = predict_labels(model, X)
        return scores_by_label(Y, predicted, predict_scores(model, X), label_names=names)
    return score_model(model, X, Y, resolve_metrics(metrics).values())[0]


def score_model(
    model: Any, X: Any, Y: Any, metrics: Iterable[Metric]
) -> tuple[dict[str, float], float]:
    """Return the scores of a fitted model, and the seconds that ``predict`` took.

    Metrics that need a joint distribution or scores are left out if the model has none.
    """
    truth = check_indicators(Y, "Y")
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
    results = {m.name: m(truth, values) for m, values in inputs.items() if values is not None}
    return results, seconds
