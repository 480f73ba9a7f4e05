"""What the nearest-neighbour classifiers share."""

from __future__ import annotations

from typing import Any, Self

from labelweave._common.archives import check_shape
from labelweave._common.arrays import Counts, Labels
from labelweave._common.checks import are_binary
from labelweave.baselines.neighbours import count_labels, nearest_rows
from labelweave.models import MultiLabelClassifier


class NeighbourClassifier(MultiLabelClassifier):
    """Base of the classifiers that count labels among the nearest training rows.

    Like scikit-learn's nearest-neighbour classifiers, they do not support sample weights.

    Attributes set by `fit`
    -----------------------
    n_neighbors_ : int
        Number of neighbours used: `n_neighbors`, or all other rows if there are fewer.
    """

    n_neighbors: int

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn from the labels of every row's neighbours.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
            The label matrix. A one-dimensional array of two classes is a single label.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def _remember(self, X: Any, labels: Labels) -> Counts:
        """Store the training rows; return how many neighbours of each have each label, (n, L).

        A row is not its own neighbour, as new rows will not be.
        """
        self.n_neighbors_ = min(self._count("n_neighbors"), len(labels) - 1)
        # A copy: the caller may change the array later.
        self._train, self._train_labels = X.copy(), labels
        rows = nearest_rows(X, None, self.n_neighbors_, n_threads=self._n_threads())
        return count_labels(labels, rows)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "_train"):
            n_rows = len(self._train_labels)
            check_shape(self._train, (n_rows, self.n_features_in_), "_train")
            check_shape(self._train_labels, (n_rows, self.n_labels_), "_train_labels")
            if not (are_binary(self._train_labels) and 0 <= self.n_neighbors_ <= n_rows):
                raise ValueError("_train_labels or n_neighbors_ is out of range")

    def _neighbour_counts(self, X: Any) -> Counts:
        """Return how many neighbours of each new row have each label, (n, L)."""
        rows = nearest_rows(self._train, X, self.n_neighbors_, n_threads=self._n_threads())
        return count_labels(self._train_labels, rows)
