"""What stands around an estimator when it is evaluated: scaling before it, its joint behind it."""

from __future__ import annotations

from typing import Any, Literal

from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave.evaluation.metrics import SupportsLogProb

__all__ = ["Scale", "joint_of", "with_scaling"]

Scale = Literal["auto"] | bool


def with_scaling(estimator: Any, X: Any, scale: Scale = "auto") -> Any:
    """Put a standardisation learned from the training rows before an estimator.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a pipeline that ends in one.
    X : array, sparse matrix or data frame
        Features it will see; only their form matters.
    scale : {"auto", True, False}, default="auto"
        True: mean 0 and standard deviation 1 (sparse features are divided by their standard
        deviation only, so that zeros stay zeros). "auto": dense features are standardised, sparse
        ones left alone, and a pipeline is taken to prepare its features itself. False: nothing.

    Returns
    -------
    estimator
        A pipeline, or the estimator itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> with_scaling(DecisionTreeClassifier(), np.eye(3))
    Pipeline(steps=[('standardscaler', StandardScaler()),
                    ('decisiontreeclassifier', DecisionTreeClassifier())])
    >>> with_scaling(DecisionTreeClassifier(), sparse.eye_array(3))
    DecisionTreeClassifier()
    """
    if scale not in ("auto", True, False):
        raise ValueError(f'scale must be "auto", True or False, got {scale!r}')
    is_sparse = sparse.issparse(X)
    wanted = not (is_sparse or isinstance(estimator, Pipeline)) if scale == "auto" else scale
    if not wanted:
        return estimator
    return make_pipeline(StandardScaler(with_mean=not is_sparse), estimator)


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
