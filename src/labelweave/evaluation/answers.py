"""What a fitted model says, whatever its kind: labels, probabilities, a joint distribution.

labelweave's models answer in one way; scikit-learn's have several, and pipelines hide some.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from labelweave._common.arrays import Floats, Indicators
from labelweave.evaluation.metrics import SupportsLogProb

__all__ = ["joint_of", "labels_of", "marginals_of", "scores_of"]


def labels_of(model: Any, X: Any) -> Indicators:
    """Return the predicted labels as an n×L array, also where the model gives another form.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> labels_of(DecisionTreeClassifier().fit([[0], [1]], [[1], [0]]), [[0], [1]])
    array([[1],
           [0]])
    """
    predicted = model.predict(X)
    if hasattr(predicted, "toarray"):
        predicted = predicted.toarray()
    labels = np.asarray(predicted).astype(np.int64)
    # scikit-learn's answer to a single label is one-dimensional.
    return labels if labels.ndim == 2 else labels.reshape(-1, 1)


def marginals_of(model: Any, X: Any) -> Floats | None:
    """Return P(y_j = 1 | x) as an n×L array; None when the model has no probabilities.

    scikit-learn's multi-output classifiers give a list of n×(number of classes) arrays, one a
    label; a label that was constant in training has one class only.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> prior = DummyClassifier().fit([[0], [1]], [[1, 0], [0, 0]])
    >>> marginals_of(prior, [[5]])
    array([[0.5, 0. ]])
    """
    if not hasattr(model, "predict_proba"):
        return None
    answer = model.predict_proba(X)
    if isinstance(answer, list):
        pairs = zip(answer, model.classes_, strict=True)
        return np.column_stack([_of_class_one(table, classes) for table, classes in pairs])
    marginals = np.asarray(answer, dtype=np.float64)
    is_ours = hasattr(_last_step(model), "predict_joint")
    if not is_ours and labels_of(model, X[:1]).shape[1] == 1:
        # scikit-learn's classifier of one label tells the probabilities of its classes.
        return _of_class_one(marginals, model.classes_).reshape(-1, 1)
    return marginals


def scores_of(model: Any, X: Any) -> Floats | None:
    """Return numbers by which labels can be ranked, n×L: probabilities, or decision values.

    None when the model has neither.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> scores_of(RidgeClassifier().fit([[0], [1]], [[1, 0], [0, 1]]), [[0.0], [1.0]]).shape
    (2, 2)
    """
    marginals = marginals_of(model, X)
    if marginals is not None or not hasattr(model, "decision_function"):
        return marginals
    values = np.asarray(model.decision_function(X), dtype=np.float64)
    return values if values.ndim == 2 else values.reshape(-1, 1)


def _last_step(model: Any) -> Any:
    return _last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def _of_class_one(table: Any, classes: Any) -> Floats:
    values = np.asarray(table, dtype=np.float64)
    seen = list(classes)
    return values[:, seen.index(1)] if 1 in seen else np.zeros(len(values))


def joint_of(model: Any, X: Any) -> SupportsLogProb | None:
    """Ask a fitted model for P(y|x), through pipelines and searches around it.

    Parameters
    ----------
    model : fitted estimator
        Anything; a pipeline's transformers are applied first.
    X : array, sparse matrix or data frame
        Features.

    Returns
    -------
    JointDistribution or None
        None when the model has no ``predict_joint``.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> joint_of(DummyClassifier().fit([[0]], [[1, 0]]), [[0]]) is None
    True
    """
    if hasattr(model, "predict_joint"):
        joint: SupportsLogProb = model.predict_joint(X)
        return joint
    if isinstance(model, Pipeline):
        last = model.steps[-1][1]
        prepared = model[:-1].transform(X) if len(model.steps) > 1 else X
        return joint_of(last, prepared)
    if hasattr(model, "best_estimator_"):
        return joint_of(model.best_estimator_, X)
    return None
