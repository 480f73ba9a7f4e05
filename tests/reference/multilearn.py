"""scikit-multilearn-ng's neighbour methods and its stack, made to do what the papers say.

It counts a training row among its own neighbours. ML-kNN can be told to skip the first neighbour,
but would then skip it for new rows too; IBLR cannot be told, but scikit-learn's neighbours can.
"""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("skmultilearn", reason="scikit-multilearn-ng is not installed")
from skmultilearn.adapt import MLkNN
from skmultilearn.problem_transform import (
    ClassificationHeterogeneousFeature,
    InstanceBasedLogisticRegression,
)


class _SkipsOnlyItself(MLkNN):
    """ML-kNN whose training rows, and only those, skip their first neighbour: themselves."""

    def fit(self, X: Any, y: Any) -> Any:
        self.ignore_first_neighbours = 1
        super().fit(X, y)
        self.ignore_first_neighbours = 0
        return self


def mlknn(k: int = 10) -> Any:
    """Return ML-kNN as published, without neighbours in common with itself."""
    return _SkipsOnlyItself(k=k)


class _Unseen:
    """A fitted neighbour classifier that answers for its own training rows without them."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def predict_proba(self, X: Any) -> Any:
        return self.classifier.predict_proba(None)


class FreshNeighbours(InstanceBasedLogisticRegression):
    """IBLR+ whose training rows are not their own neighbours."""

    def _get_class_membership(self, classifiers: Any, X: Any) -> Any:
        if not self.classifiers_:  # still fitting: X are the training rows
            classifiers = [_Unseen(classifier) for classifier in classifiers]
        return super()._get_class_membership(classifiers, X)


Stacked = ClassificationHeterogeneousFeature
