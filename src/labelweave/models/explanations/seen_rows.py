"""Rows as the model inside pipelines, searches and stacking sees them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline

from labelweave._common.pipelines import is_fitted_search
from labelweave.models.base import MultiLabelClassifier


@dataclass(frozen=True)
class SeenRows:
    """Rows on their way through a model.

    Attributes
    ----------
    model : estimator
        The part of the model that the rows have come to.
    X : array, sparse matrix or data frame
        The rows as that part sees them.
    shown : array, sparse matrix or data frame
        The rows as they are shown: before transformers that change each feature by itself.
    names : sequence of str
        One for each column of both.
    """

    model: Any
    X: Any
    shown: Any
    names: Sequence[str]

    def innermost(self) -> SeenRows:
        """Return the rows as the innermost model sees them."""
        *_, last = self._inwards()
        return last

    def _inwards(self) -> Iterator[SeenRows]:
        rows: SeenRows | None = self
        while rows is not None:
            yield rows
            rows = rows._within()

    def _within(self) -> SeenRows | None:
        """Return the rows one step further inside; None at the end."""
        if isinstance(self.model, Pipeline):
            rows = self
            for _, step in self.model.steps[:-1]:
                rows = rows._transformed(step)
            return replace(rows, model=self.model.steps[-1][1])
        if isinstance(self.model, MultiLabelClassifier):
            return self._delegated(self.model)
        if is_fitted_search(self.model):
            return replace(self, model=self.model.best_estimator_)
        return None

    def _transformed(self, step: Any) -> SeenRows:
        if step is None or isinstance(step, str):  # "passthrough"
            return self
        X = step.transform(self.X)
        if isinstance(step, OneToOneFeatureMixin):
            return replace(self, X=X)
        known = hasattr(step, "feature_names_in_")
        names = step.get_feature_names_out(None if known else list(self.names))
        return replace(self, X=X, shown=X, names=[str(name) for name in names])

    def _delegated(self, model: MultiLabelClassifier) -> SeenRows | None:
        X = model._features(self.X, reset=False)
        found = model._delegate(X, self.names)
        if found is None:
            return None
        inner, seen, names = found
        return SeenRows(inner, seen, self.shown if seen is X else seen, names)


def seen_rows(model: Any, X: Any, feature_names: Sequence[str] | None) -> SeenRows:
    """Return rows of X as the innermost model sees them, with the names of their features."""
    if feature_names is None:
        columns = getattr(X, "columns", None)
        feature_names = columns if columns is not None else [f"x{d}" for d in range(X.shape[1])]
    if len(feature_names) != X.shape[1]:
        raise ValueError(
            f"feature_names must name the {X.shape[1]} features of X; it has {len(feature_names)}"
        )
    return SeenRows(model, X, X, [str(name) for name in feature_names]).innermost()
