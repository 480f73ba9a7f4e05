"""What lies inside pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline


def last_step(model: Any) -> Any:
    """Return the classifier at the end of pipelines and searches.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> last_step(make_pipeline("passthrough", DummyClassifier()))
    DummyClassifier()
    """
    if isinstance(model, Pipeline):
        return last_step(model.steps[-1][1])
    return last_step(model.best_estimator_) if hasattr(model, "best_estimator_") else model
