"""The one way to look through pipelines, searches, frozen models, stacks and pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import OneToOneFeatureMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from labelweave._common.arrays import Floats


@dataclass(frozen=True)
class Inside:
    """The estimator at the end of a model, and the rows X as it sees them, if any were given.

    For people, `shown` holds the rows before any transformers that change each feature by itself.
    Both have the column names `names`.
    """

    model: Any
    X: Any = None
    shown: Any = None
    names: Sequence[str] | None = None


def inside(
    model: Any, X: Any = None, *, names: Sequence[str] | None = None, delegates: bool = False
) -> Inside:
    """Return the estimator that predicts inside pipelines, searches and frozen models.

    A search counts as the model that it chose, or before it is fitted as its estimator. With
    `delegates`, a stack counts as its joint model, and a pool of one as its member.
    """
    *_, found = layers(model, X, names=names, delegates=delegates)
    return found


def layers(
    model: Any, X: Any = None, *, names: Sequence[str] | None = None, delegates: bool = False
) -> Iterator[Inside]:
    """Yield the model itself and, layer by layer, the models inside it."""
    found: Inside | None = Inside(model, X, X, names)
    while found is not None:
        yield found
        found = _further(found, delegates)


def _further(at: Inside, delegates: bool) -> Inside | None:
    model = at.model
    if isinstance(model, Pipeline):
        return _at_last_step(at)
    if isinstance(model, FrozenEstimator):
        return replace(at, model=model.estimator)
    if hasattr(model, "predict_joint"):  # of its own, even if it chooses among models
        return _delegated(at) if delegates and hasattr(model, "_delegate") else None
    if hasattr(model, "best_estimator_"):
        return replace(at, model=model.best_estimator_)
    # Searches of all libraries have the parameter `refit`.
    if hasattr(model, "estimator") and hasattr(model, "refit"):
        return replace(at, model=model.estimator)
    return None


def _at_last_step(at: Inside) -> Inside:
    steps = [step for _, step in at.model.steps]
    for step in steps[:-1] if at.X is not None else []:
        at = _transformed(at, step)
    return replace(at, model=steps[-1])


def _transformed(at: Inside, step: Any) -> Inside:
    if step is None or isinstance(step, str):  # "passthrough"
        return at
    X = step.transform(at.X)
    if at.names is None or isinstance(step, OneToOneFeatureMixin):
        return replace(at, X=X)
    known = hasattr(step, "feature_names_in_")
    names = step.get_feature_names_out(None if known else list(at.names))
    return replace(at, X=X, shown=X, names=[str(name) for name in names])


def _delegated(at: Inside) -> Inside | None:
    X = None if at.X is None else at.model._features(at.X, reset=False)
    found = at.model._delegate(X, at.names)
    if found is None:
        return None
    model, seen, names = found
    return Inside(model, seen, at.shown if seen is X else seen, names)


def last(model: Any) -> Any:
    """Return the classifier at the end of pipelines and fitted searches, to set its parameters.

    Unlike `inside` it stops at frozen models, which others share, and at unfitted searches.
    """
    if isinstance(model, Pipeline):
        return last(model.steps[-1][1])
    is_search = hasattr(model, "best_estimator_") and not hasattr(model, "predict_joint")
    return last(model.best_estimator_) if is_search else model


def first(model: Any) -> Any:
    """Return the step of pipelines that sees the features first."""
    if not isinstance(model, Pipeline):
        return model
    return first(next(step for _, step in model.steps if step not in (None, "passthrough")))


def copy_for_fold(fitted: Any) -> Any:
    """Return an unfitted copy for parts of the rows, with the choices that were made on all.

    These are penalties of "cv", the best parameters of a search and the best of several models.
    """
    if isinstance(fitted, FrozenEstimator):
        return fitted
    if isinstance(fitted, Pipeline):
        name, last = fitted.steps[-1]
        return clone(fitted).set_params(**{name: copy_for_fold(last)})
    if hasattr(fitted, "_fold_model"):
        return fitted._fold_model()
    if hasattr(fitted, "best_estimator_"):
        return copy_for_fold(fitted.best_estimator_)
    return clone(fitted)


def fit_arguments(model: Any, weight: Floats | None) -> dict[str, Floats]:
    """Return the arguments of `fit` that hand sample weights to all steps that take them."""
    if weight is None:
        return {}
    if not any(_weight_parameters(last(model))):
        raise ValueError(
            f"sample_weight was given, but estimator {last(model)!r} does not support it"
        )
    return dict.fromkeys(_weight_parameters(model), weight)


def _weight_parameters(model: Any) -> Iterator[str]:
    """Yield the names under which `fit` hands weights to every step that takes them."""
    if isinstance(model, Pipeline):
        for name, step in model.steps:
            yield from (f"{name}__{own}" for own in _weight_parameters(step))
    elif hasattr(model, "fit") and has_fit_parameter(model, "sample_weight"):
        yield "sample_weight"
