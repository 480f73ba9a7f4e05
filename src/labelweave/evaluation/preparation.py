"""What stands before an estimator: features on one scale."""

from __future__ import annotations

from typing import Any, Literal

from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["Scale", "with_scaling"]

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
