"""Estimators of P(y|x) inside other estimators: which are accepted, and what they predict."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from labelweave._common.pipelines import innermost, is_fitted_search
from labelweave._common.row_keys import row_keys
from labelweave.joint import JointDistribution
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.chains import ClassifierChain
from labelweave.models.predictions import predict_joint


def checked_joint_estimator(estimator: Any, *, refused: tuple[type, ...] = ()) -> Any:
    """Return the estimator, a chain if it is None; ValueError if it does not learn P(y|x)."""
    estimator = ClassifierChain() if estimator is None else estimator
    if isinstance(estimator, type) or not hasattr(innermost(estimator), "predict_joint"):
        raise ValueError(
            "estimator must be an estimator of P(y|x), such as ClassifierChain(), or a "
            f"pipeline that ends in one; got {estimator!r}. JointClassifierCV makes one of any "
            "classifier (on the command line: weave)"
        )
    if isinstance(innermost(estimator), refused):
        raise ValueError(
            f"estimator is calibrated already, as {type(innermost(estimator)).__name__}: calibrate "
            "the estimator inside it instead. To have sets of label vectors from calibrated "
            "probabilities, write ConformalClassifier(estimator=CalibratedJointCV())"
        )
    if getattr(estimator, "refit", True) is False:
        raise ValueError(
            f"estimator is a search that keeps no model: set refit=True in {estimator!r}"
        )
    return estimator


def joint_of(model: Any, X: Any) -> JointDistribution:
    """Return P(y|x) of a model or pipeline, with draws that belong to the features as given."""
    joint: Any = predict_joint(model, _as_fitted(model, X))
    return joint.with_row_ids(row_keys(X))  # type: ignore[no-any-return]


def _as_fitted(model: Any, X: Any) -> Any:
    """Return validated rows with the names that a frozen model was fitted with, if it has any."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or not isinstance(model, FrozenEstimator) or not isinstance(X, np.ndarray):
        return X
    import pandas as pd

    return pd.DataFrame(X, columns=names)


def check_frozen(model: FrozenEstimator, owner: MultiLabelClassifier) -> None:
    """Refuse a frozen model whose features and labels are not those that its owner is fitted to."""
    n_labels, inner = owner.n_labels_, innermost(model)
    if inner.n_labels_ != n_labels:
        raise ValueError(f"y has {n_labels} labels, but estimator was fitted to {inner.n_labels_}")
    ours, its = owner.label_encoding, inner.label_encoding
    if None not in (ours.names, its.names) and ours.names != its.names:
        raise ValueError(
            f"y has the labels {list(ours.names or ())}, but estimator was fitted to "
            f"{list(its.names or ())}: give them in that order, as in y[estimator.label_names_in_]"
        )
    if ours.single and its.single and not np.array_equal(ours.classes, its.classes):
        raise ValueError(
            f"y has the classes {ours.classes.tolist()}, but estimator was fitted to "
            f"{its.classes.tolist()}: rows of both are needed"
        )
    _check_features(model, owner)


def _check_features(model: FrozenEstimator, owner: MultiLabelClassifier) -> None:
    its = getattr(model, "feature_names_in_", None)
    if its is None:
        return
    ours = getattr(owner, "feature_names_in_", None)
    if len(its) != owner.n_features_in_ or (ours is not None and list(ours) != list(its)):
        raise ValueError(
            f"X must have the {len(its)} features that estimator was fitted to, in their order, "
            "as in X[estimator.feature_names_in_]"
        )
    if ours is None:
        warnings.warn(
            "X has no feature names, but estimator was fitted with them: its columns are taken to "
            "be in the same order",
            UserWarning,
            stacklevel=2,
        )


def fold_estimator(fitted: Any) -> Any:
    """Return an unfitted copy for parts of the rows, with the choices that were made on all.

    These are penalties of "cv", the best parameters of a search and the best of several models; the
    weights of a pool are chosen anew. What a pipeline learns from
    features is learned anew.
    """
    if isinstance(fitted, Pipeline):
        name, last = fitted.steps[-1]
        return clone(fitted).set_params(**{name: fold_estimator(last)})
    if is_fitted_search(fitted) or len(getattr(fitted, "members_", ())) == 1:
        return fold_estimator(fitted.best_estimator_)
    return fitted._fold_model() if isinstance(fitted, MultiLabelClassifier) else clone(fitted)
