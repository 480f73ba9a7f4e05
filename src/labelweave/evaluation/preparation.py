"""What stands before an estimator: features as numbers, on one scale."""

from __future__ import annotations

from typing import Any, Literal

from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave.datasets.preparation import make_preparation, needs_preparation

__all__ = ["Scale", "with_preparation"]

Scale = Literal["auto"] | bool


def with_preparation(estimator: Any, X: Any, scale: Scale = "auto") -> Any:
    """Put before an estimator what its features need, learned from the training rows.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a pipeline that ends in one.
    X : array, sparse matrix or data frame
        Features it will see. Those of a data frame with categories or missing values are turned
        into numbers by :func:`labelweave.datasets.make_preparation`; of others only the form
        matters.
    scale : {"auto", True, False}, default="auto"
        True: mean 0 and standard deviation 1 (sparse features are divided by their standard
        deviation only, so that zeros stay zeros). "auto": dense features are standardised, sparse
        ones left alone, and a pipeline is taken to prepare its features itself. False: nothing
        beyond what makes them numbers.

    Returns
    -------
    estimator
        A pipeline, or the estimator itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> with_preparation(DecisionTreeClassifier(), np.eye(3))
    Pipeline(steps=[('standardscaler', StandardScaler()),
                    ('decisiontreeclassifier', DecisionTreeClassifier())])
    >>> with_preparation(DecisionTreeClassifier(), sparse.eye_array(3))
    DecisionTreeClassifier()
    """
    if scale not in ("auto", True, False):
        raise ValueError(f'scale must be "auto", True or False, got {scale!r}')
    is_sparse = sparse.issparse(X)
    is_pipeline = isinstance(estimator, Pipeline)
    wanted = not (is_sparse or is_pipeline) if scale == "auto" else scale
    if needs_preparation(X) and not (is_pipeline and scale == "auto"):
        return make_pipeline(make_preparation(X, scale=wanted), estimator)
    if not wanted:
        return estimator
    return make_pipeline(StandardScaler(with_mean=not is_sparse), estimator)
