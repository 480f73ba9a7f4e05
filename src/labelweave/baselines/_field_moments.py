"""Moments of up to three labels, from the probabilities of all label vectors."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Indices
from labelweave.joint.enumeration import label_vectors


class LabelMoments:
    """Probabilities that all labels of a set are positive, for every set of one to three labels.

    A set is a number whose bit j says whether label j belongs to it, as the columns of a table of
    all label vectors are numbered.

    Attributes
    ----------
    sets : (K,) array
        The sets, increasing.

    Examples
    --------
    >>> import numpy as np
    >>> moments = LabelMoments(2)
    >>> moments.sets
    array([1, 2, 3])
    >>> moments.of(np.array([[0.4, 0.3, 0.2, 0.1]]))
    array([[0.4, 0.3, 0.1]])
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        vectors = np.arange(2**n_labels, dtype=np.int64)
        size = label_vectors(n_labels).sum(axis=1)
        self.sets: Indices = vectors[(size > 0) & (size <= 3)]
        # A set is its largest label and at most two smaller ones: which vectors contain those.
        half = vectors[: 2 ** (n_labels - 1)]
        smaller = half[size[: len(half)] <= 2]
        self._contains = ((half[:, None] & smaller) == smaller).astype(np.float64)

    def of(self, probability: Floats) -> Floats:
        """Return the moments of every row of a table of probabilities, (n, 2^L), as (n, K)."""
        moments = np.empty((len(probability), len(self.sets)))
        table = probability
        # Summing a label out folds the table in half, so all sets cost little more than the pairs
        # of labels in the whole table.
        for label in reversed(range(self.n_labels)):
            n_vectors = 2**label
            negative, positive = table[:, :n_vectors], table[:, n_vectors:]
            first, last = self.sets.searchsorted([n_vectors, 2 * n_vectors])
            moments[:, first:last] = positive @ self._contains[:n_vectors, : last - first]
            table = negative + positive
        return moments

    def positions(self, sets: Indices) -> Indices:
        """Return where the sets are in `sets`."""
        return self.sets.searchsorted(sets)
