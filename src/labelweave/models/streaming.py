"""Estimators that learn from a stream: one `partial_fit`, all or nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from labelweave._common.arrays import Floats, Labels
from labelweave.models.batch_labels import read_batch_labels
from labelweave.models.label_classifier import LabelClassifier


def _can_stream(model: StreamingClassifier) -> bool:
    model._check_can_stream()
    return True


class StreamingClassifier(LabelClassifier):
    """Base of estimators that can also learn batch by batch.

    A subclass implements ``_begin(n_features)``, which makes a model that has learned nothing, and
    ``_learn_batch(X, labels, sample_weight)``. What arrives there is validated as for ``_fit``, and
    the attributes of `LabelClassifier` are those of all labels and features so far.

    A batch is a transaction: whatever fails, the attributes are those from before the batch.
    ``_learn_batch`` therefore replaces attributes, and changes an object in place only after
    everything that can be wrong with a batch was checked.

    Examples
    --------
    An estimator that counts how often each label occurs, over a stream in which labels may join:

    >>> import numpy as np
    >>> from labelweave.models import StreamingClassifier
    >>> class Frequencies(StreamingClassifier):
    ...     n_jobs, random_state, verbose = None, None, 0
    ...     _labels_may_join = True
    ...     def _begin(self, n_features):
    ...         self.counts_ = np.zeros(self.n_labels_)
    ...     def _learn_batch(self, X, labels, sample_weight):
    ...         joined = self.n_labels_ - len(self.counts_)
    ...         self.counts_ = np.pad(self.counts_, (0, joined)) + labels.sum(axis=0)
    ...     def _fit(self, X, labels, sample_weight):
    ...         self._begin(X.shape[1])
    ...         self._learn_batch(X, labels, sample_weight)
    ...     def predict(self, X):
    ...         return np.tile(self.counts_ > len(X) / 2, (len(X), 1))
    >>> model = Frequencies().partial_fit([[0.0], [1.0]], [[1, 0], [1, 1]])
    >>> model.partial_fit([[2.0]], [[1, 1, 1]]).counts_
    array([3., 2., 1.])
    """

    #: Whether later batches may have more columns of X than earlier ones, on the right.
    _features_may_join: ClassVar[bool] = False
    #: Whether later batches may have more labels than earlier ones, on the right.
    _labels_may_join: ClassVar[bool] = False

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning, from rows in the order given; after `fit`, or from nothing.

        Batches of any size give the same model as their rows one by one. The first batch fixes the
        parameters of the model. A batch that fails leaves the model as it was.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
            Or a one-dimensional array of two classes.
        classes : (2,) array, optional
            The classes of a one-dimensional y; needed if the first batch has only one of them.
        sample_weight : (n,) array, optional
            Weight of each row; 1 by default.
        """
        with self._transaction():
            first = not hasattr(self, "_is_fitted")
            if first:
                self._reset()
            X = self._batch_features(X)
            known = None if first else self._encoding
            labels, encoding = read_batch_labels(
                y, X.shape[0], known, classes, may_grow=self._labels_may_join
            )
            X, labels, sample_weight = self._weighted(X, labels, sample_weight)
            self._adopt(encoding)
            if first:
                self._rates = np.average(labels, axis=0, weights=sample_weight)
            self._check_parameters()
            if first:
                self._begin(X.shape[1])
            self._learn_batch(X, labels, sample_weight)
            self._is_fitted = True
        return self

    @abstractmethod
    def _begin(self, n_features: int) -> None:
        """Make a model of `n_labels_` labels that has learned nothing."""

    @abstractmethod
    def _learn_batch(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        """Learn from the validated rows of a batch, in turn."""

    def _check_can_stream(self) -> None:
        """Raise AttributeError if the parameters need all rows at once."""

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self._roll_back(before)
            raise

    def _roll_back(self, before: dict[str, Any]) -> None:
        """Return to the attributes from before a batch that failed or was interrupted."""
        self.__dict__.clear()
        self.__dict__.update(before)

    def _batch_features(self, X: Any) -> Any:
        """Return X validated; if features may join, a wider X is what the model expects from now.

        Names of features, if there are any, must begin with those of the batches before.
        """
        width = getattr(self, "n_features_in_", None)
        wider = width is not None and np.ndim(X) == 2 and np.shape(X)[1] > width
        if width is None or not (wider and self._features_may_join):
            return self._features(X, reset=width is None)
        known = getattr(self, "feature_names_in_", None)
        rows = self._features(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        if known is not None and (names is None or list(names[:width]) != list(known)):
            raise ValueError(
                "X has new features, but its feature names do not begin with those seen before: "
                "append new columns on the right"
            )
        return rows
