"""Check that an estimator is a classifier before it is used."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags

__all__ = ["check_classifier", "similar_classifiers"]


def check_classifier(estimator: Any, name: str) -> None:
    """Raise ValueError if `estimator` is not a classifier; `name` is what the user called it.

    An estimator without scikit-learn's tags, as in older libraries, is assumed to be a classifier.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> check_classifier(Ridge(), "ridge")
    Traceback (most recent call last):
    ...
    ValueError: ridge is a regressor, not a classifier; did you mean RidgeClassifier...?
    """
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise ValueError(f"{name} is not a classifier: it lacks fit or predict")
    has_tags = hasattr(estimator, "__sklearn_tags__")
    kind = get_tags(estimator).estimator_type if has_tags else None
    if kind in (None, "classifier"):
        return
    near = similar_classifiers(_package_of(estimator), type(estimator).__name__)
    hint = f"; did you mean {near[0]}?" if near else "; choose a classifier instead"
    raise ValueError(f"{name} is a {kind.replace('_', ' ')}, not a classifier{hint}")


def similar_classifiers(module: ModuleType, name: str) -> list[str]:
    """Return the classifiers of a module whose names are most similar to `name`, the closest first.

    Examples
    --------
    >>> import sklearn.ensemble
    >>> similar_classifiers(sklearn.ensemble, "RandomForest")[0]
    'RandomForestClassifier'
    """
    known = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, ClassifierMixin)
    ]
    return get_close_matches(name.replace("Regressor", "Classifier"), known, cutoff=0.5)


def _package_of(estimator: Any) -> ModuleType:
    """Return the public package of an estimator's class, without private modules."""
    path = type(estimator).__module__.split(".")
    public = [part for part in path if not part.startswith("_")]
    return import_module(".".join(public) or path[0])
