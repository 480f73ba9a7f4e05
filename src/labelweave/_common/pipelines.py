"""What lies inside pipelines, searches and frozen models."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


def last_step(model: Any) -> Any:
    """Return the classifier at the end of pipelines and searches."""
    if isinstance(model, Pipeline):
        return last_step(model.steps[-1][1])
    return last_step(model.best_estimator_) if is_fitted_search(model) else model


def first_step(model: Any) -> Any:
    """Return what sees the features first in pipelines."""
    if not isinstance(model, Pipeline):
        return model
    return first_step(next(step for _, step in model.steps if step not in (None, "passthrough")))


def is_fitted_search(model: Any) -> bool:
    """Whether a fitted search predicts by its best estimator, as those of scikit-learn do.

    What chooses among models and predicts a joint distribution of its own is none.
    """
    return hasattr(model, "best_estimator_") and not hasattr(model, "predict_joint")


def core_model(model: Any) -> Any:
    """Return the model inside that predicts: behind a stack, or as the only member of a pool."""
    inner = last_step(model)
    if hasattr(inner, "joint_"):
        return core_model(inner.joint_)
    members = list(getattr(inner, "members_", {}).values())
    return core_model(members[0]) if len(members) == 1 else inner


def innermost(model: Any) -> Any:
    """Return the classifier at the end of pipelines and searches, frozen or not yet fitted.

    Unlike what `last_step` returns, it may be shared with others, or a search may replace it: it is
    for looking, not for changing.
    """
    inner = last_step(model)
    # Searches, those of other libraries too, can be told not to refit.
    is_search = hasattr(inner, "estimator") and hasattr(inner, "refit")
    if isinstance(inner, FrozenEstimator) or is_search:
        return innermost(inner.estimator)
    return inner
