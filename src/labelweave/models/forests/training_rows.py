"""Training rows together with which of the label vectors each has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels


@dataclass(frozen=True)
class TrainingRows:
    """Training rows, whose labels are given in full and as a place in the list of vectors.

    Attributes
    ----------
    X : (n, D) array or CSR
    labels : (n, L) int8 array
    vectors : (V, L) int8 array
        The distinct label vectors of these rows and of those they were taken from.
    place : (n,) int64 array
        ``labels`` is ``vectors[place]``.
    weight : (n,) array
    weighted : bool
        Whether the weights were given by the user.
    """

    X: Any
    labels: Labels
    vectors: Labels
    place: Indices
    weight: Floats
    weighted: bool

    @classmethod
    def of(cls, X: Any, labels: Labels, sample_weight: Floats | None) -> TrainingRows:
        """Find the distinct label vectors."""
        vectors, place = np.unique(labels, axis=0, return_inverse=True)
        weighted = sample_weight is not None
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        return cls(X, labels, vectors, place.ravel().astype(np.int64), weight, weighted)

    def taken(self, at: Indices) -> TrainingRows:
        """Return some of the rows, with the same list of vectors."""
        return TrainingRows(
            self.X[at],
            self.labels[at],
            self.vectors,
            self.place[at],
            self.weight[at],
            self.weighted,
        )

    def without(self, left_out: Indices) -> TrainingRows:
        """Return all rows but some."""
        return self.taken(np.delete(np.arange(len(self.labels)), left_out))

    def weights(self) -> dict[str, Any]:
        """Return the argument of `fit` that passes the weights on, if there are any."""
        return {"sample_weight": self.weight} if self.weighted else {}
