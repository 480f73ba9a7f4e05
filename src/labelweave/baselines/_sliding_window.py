"""A sliding window over a stream: the last rows, with their scores before they were learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from labelweave._common.arrays import Floats, Labels


@dataclass
class Window:
    """Scores, labels and weights of the last rows.

    Attributes
    ----------
    scores, labels : (n, L) arrays
    weight : (n,) array

    Examples
    --------
    >>> window = Window.empty(1)
    >>> for score in (0.1, 0.2, 0.3):
    ...     window.add(np.array([[score]]), np.zeros((1, 1), np.int8), np.ones(1), most=2)
    >>> window.scores.ravel()
    array([0.2, 0.3])
    """

    scores: Floats
    labels: Labels
    weight: Floats

    @classmethod
    def empty(cls, n_labels: int) -> Self:
        """Return a window without rows."""
        return cls(np.zeros((0, n_labels)), np.zeros((0, n_labels), dtype=np.int8), np.zeros(0))

    def add(self, scores: Floats, labels: Labels, weight: Floats, most: int) -> None:
        """Append rows, and keep only the last `most`."""
        self.scores = np.concatenate([self.scores, scores])[-most:].copy()
        self.labels = np.concatenate([self.labels, labels])[-most:].copy()
        self.weight = np.concatenate([self.weight, weight])[-most:].copy()
