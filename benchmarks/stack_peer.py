"""Stacked binary relevance, its first layer out of fold, as a scikit-learn user would write it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from labelweave._common.arrays import Floats, Indicators, Indices
from labelweave._common.folds import assign_folds


class CrossFittedStack:
    """Two layers of a classifier; the folds are labelweave's, so that both sides deal alike."""

    def __init__(self, classifier: Any, *, n_folds: int = 5, n_jobs: int = 1) -> None:
        self.classifier, self.n_folds, self.n_jobs = classifier, n_folds, n_jobs

    def fit(self, X: Floats, Y: Indicators) -> Self:
        """Fit the first layer with each fold left out and with none, then the second."""
        fold, _ = assign_folds(X, np.ones(len(X)), self.n_folds, 0)
        first = delayed(_first_layer)
        layers = Parallel(self.n_jobs)(first(self.classifier, X, y, fold) for y in Y.T)
        self.first_ = [fitted for fitted, _ in layers]
        wide = np.column_stack([X, *(answers for _, answers in layers)])
        second = delayed(_fitted)
        self.second_ = Parallel(self.n_jobs)(second(self.classifier, wide, y) for y in Y.T)
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Probabilities of the second layer, (n, L)."""
        wide = np.column_stack([X, *(_positive(layer, X) for layer in self.first_)])
        return np.column_stack([_positive(layer, wide) for layer in self.second_])

    def predict(self, X: Floats) -> Indicators:
        """Labels more probable than not, (n, L)."""
        return (self.predict_proba(X) > 0.5).astype(np.int64)


def _fitted(classifier: Any, X: Floats, y: Indicators) -> Any:
    return clone(classifier).fit(X, y)


def _first_layer(classifier: Any, X: Floats, y: Indicators, fold: Indices) -> tuple[Any, Floats]:
    folds = PredefinedSplit(fold)
    answers = cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")
    return _fitted(classifier, X, y), answers[:, 1]


def _positive(classifier: Any, X: Floats) -> Floats:
    return np.asarray(classifier.predict_proba(X)[:, 1])
