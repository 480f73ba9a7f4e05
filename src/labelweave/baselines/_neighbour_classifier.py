"""What the classifiers that look at neighbours share."""

from __future__ import annotations

from typing import Any, Self

from labelweave._common.arrays import Counts, Labels
from labelweave.baselines.neighbours import count_labels, nearest_rows
from labelweave.models import MultiLabelClassifier


class NeighbourClassifier(MultiLabelClassifier):
    """Base of the classifiers that count labels among the k nearest training rows.

    As scikit-learn's neighbour classifiers, they take no sample weights: how near a row is cannot
    be weighted.

    Attributes set by `fit`
    -----------------------
    n_neighbors_ : int
        How many neighbours are looked at: k, or all other rows where there are fewer.
    """

    n_neighbors: int

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn from the labels of every row's neighbours.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
            The label matrix. A one-dimensional array of two classes counts as a single label.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def _remember(self, X: Any, labels: Labels) -> Counts:
        """Keep the training rows; return the labels among each one's neighbours, (n, L).

        A row is not its own neighbour: new rows will not be either.
        """
        self.n_neighbors_ = min(self._count("n_neighbors"), len(labels) - 1)
        # What the caller does to the array later must not move the neighbours.
        self._train, self._train_labels = X.copy(), labels
        rows = nearest_rows(X, None, self.n_neighbors_, n_threads=self._n_threads())
        return count_labels(labels, rows)

    def _neighbour_counts(self, X: Any) -> Counts:
        """How many of the k neighbours of each new row carry each label, (n, L)."""
        rows = nearest_rows(self._train, X, self.n_neighbors_, n_threads=self._n_threads())
        return count_labels(self._train_labels, rows)
