"""Fits that several methods have in common, because these differ in how they predict only."""

from __future__ import annotations

from pickle import PicklingError
from typing import Any

import joblib
from sklearn.base import clone

from labelweave._common.pipelines import last

__all__ = ["fit_key", "predicting_as"]


def fit_key(estimator: Any) -> str | None:
    """Return a digest of what the fit of an unfitted estimator depends on.

    None if all its parameters matter or have no digest: it has a fit of its own.

    Examples
    --------
    >>> from labelweave import ClassifierChain
    >>> fit_key(ClassifierChain()) == fit_key(ClassifierChain(decision="f1"))
    True
    >>> fit_key(ClassifierChain()) == fit_key(ClassifierChain(C=1.0))
    False

    Thresholds are tuned by `fit`:

    >>> fit_key(ClassifierChain()) == fit_key(ClassifierChain(decision="macro_f1"))
    False
    """
    stripped = clone(estimator)
    classifier = last(stripped)
    try:
        names = _predicting(classifier)
    except ValueError:  # a decision that does not exist: let its own fit report that
        return None
    if not names:
        return None
    classifier.set_params(**dict.fromkeys(names))
    try:
        return str(joblib.hash(stripped))
    except PicklingError:  # a function of the user's own, say
        return None


def predicting_as(model: Any, estimator: Any) -> Any:
    """Let a fitted model predict as an estimator with the same `fit_key` would; return the model.

    Examples
    --------
    >>> from labelweave import BinaryRelevance
    >>> model = BinaryRelevance(C=1.0).fit([[0.0], [1.0]], [[0, 1], [1, 1]])
    >>> predicting_as(model, BinaryRelevance(C=1.0, decision="f1")).decision
    'f1'
    """
    wanted = last(estimator)
    last(model).set_params(**{name: getattr(wanted, name) for name in _predicting(wanted)})
    return model


def _predicting(classifier: Any) -> list[str]:
    """Return the parameters of a classifier that its fit does not depend on."""
    names = getattr(classifier, "prediction_parameters", ())
    return [name for name in names if name in classifier.get_params(deep=False)]
