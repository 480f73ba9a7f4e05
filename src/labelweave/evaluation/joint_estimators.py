"""Estimators of P(y|x) inside other estimators: which are accepted, and what they predict."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from labelweave._common.pipelines import innermost
from labelweave._common.row_keys import row_keys
from labelweave.evaluation.predictions import predict_joint
from labelweave.joint import JointDistribution
from labelweave.models import ClassifierChain, MultiLabelClassifier

__all__ = ["checked_joint_estimator", "fold_estimator", "joint_of"]


def checked_joint_estimator(estimator: Any) -> Any:
    """Return the estimator, a chain if it is None; ValueError if it does not learn P(y|x).

    Examples
    --------
    >>> checked_joint_estimator(None)
    ClassifierChain()
    """
    estimator = ClassifierChain() if estimator is None else estimator
    if isinstance(estimator, type) or not hasattr(innermost(estimator), "predict_joint"):
        raise ValueError(
            "estimator must be an estimator of P(y|x), such as ClassifierChain(), or a "
            f"pipeline that ends in one; got {estimator!r}. JointClassifierCV makes one of any "
            "classifier"
        )
    if getattr(estimator, "refit", True) is False:
        raise ValueError(
            f"estimator is a search that keeps no model: set refit=True in {estimator!r}"
        )
    return estimator


def joint_of(model: Any, X: Any) -> JointDistribution:
    """Return P(y|x) of a model or pipeline, with draws that belong to the features as given."""
    joint: Any = predict_joint(model, X)
    return joint.with_row_ids(row_keys(X))  # type: ignore[no-any-return]


def fold_estimator(fitted: Any) -> Any:
    """Return an unfitted copy for parts of the rows, with the choices that were made on all.

    These are penalties of "cv" and the best parameters of a search. What a pipeline learns from
    features is learned anew.

    Examples
    --------
    >>> from labelweave.models import BinaryRelevance
    >>> fitted = BinaryRelevance().fit([[0.0], [1.0], [2.0], [3.0]], [[0], [0], [1], [1]])
    >>> fold_estimator(fitted).C == fitted.C_
    True
    """
    if isinstance(fitted, Pipeline):
        name, last = fitted.steps[-1]
        return clone(fitted).set_params(**{name: fold_estimator(last)})
    if hasattr(fitted, "best_estimator_"):
        return fold_estimator(fitted.best_estimator_)
    return fitted._fold_model() if isinstance(fitted, MultiLabelClassifier) else clone(fitted)
