"""Prepend to an estimator the preprocessing that its features need."""

from __future__ import annotations

from typing import Any, Literal

from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave.datasets.preprocessing import make_preprocessor, needs_preprocessing
from labelweave.evaluation.calibration.calibrated_joint import CalibratedJointCV
from labelweave.evaluation.conformal.conformal_classifier import ConformalClassifier
from labelweave.features import KernelFeatures

__all__ = ["Scale", "with_preprocessing"]

Scale = Literal["auto"] | bool


def with_preprocessing(estimator: Any, X: Any, scale: Scale = "auto") -> Any:
    """Return a pipeline of preprocessing, fitted to the training rows, and an estimator.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a pipeline that ends in one.
    X : array, sparse matrix or data frame
        The features. A data frame with categories or missing values is converted to numbers by
        :func:`labelweave.datasets.make_preprocessor`; otherwise only the type of X matters.
    scale : {"auto", True, False}, default="auto"
        True: standardise to mean 0 and standard deviation 1 (sparse features are only divided by
        their standard deviation, so that zeros stay zeros). "auto": standardise dense features and
        leave sparse ones unchanged; a pipeline is assumed to do its own preprocessing, unless it
        begins with `KernelFeatures`. False: only convert the features to numbers.

    Returns
    -------
    estimator
        A pipeline, or the estimator itself if no preprocessing is needed. That of a
        `ConformalClassifier` or `CalibratedJointCV` is put in front of the estimator inside, unless
        X has categories or missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> with_preprocessing(DecisionTreeClassifier(), np.eye(3))
    Pipeline(steps=[('standardscaler', StandardScaler()),
                    ('decisiontreeclassifier', DecisionTreeClassifier())])
    >>> with_preprocessing(DecisionTreeClassifier(), sparse.eye_array(3))
    DecisionTreeClassifier()
    """
    if scale not in ("auto", True, False):
        raise ValueError(f'scale must be "auto", True or False, got {scale!r}')
    holds_out = isinstance(estimator, ConformalClassifier | CalibratedJointCV)
    if holds_out and not needs_preprocessing(X):
        # Inside, so that nothing is learned from the rows that are held out.
        inner = with_preprocessing(estimator.base_estimator(), X, scale)
        return clone(estimator).set_params(estimator=inner)
    is_sparse = sparse.issparse(X)
    is_prepared = isinstance(estimator, Pipeline) and not isinstance(estimator[0], KernelFeatures)
    wanted = not (is_sparse or is_prepared) if scale == "auto" else scale
    if needs_preprocessing(X) and not (is_prepared and scale == "auto"):
        return make_pipeline(make_preprocessor(X, scale=wanted), estimator)
    if not wanted:
        return estimator
    return make_pipeline(StandardScaler(with_mean=not is_sparse), estimator)
