"""A sliding window over a stream: the last rows, with their scores before they were learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from labelweave._common.arrays import Floats, Labels


@dataclass(frozen=True)
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
    ...     labels = np.zeros((1, 1), np.int8)
    ...     window = window.extended(np.array([[score]]), labels, np.ones(1), most=2)
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

    def extended(self, scores: Floats, labels: Labels, weight: Floats, most: int) -> Self:
        """Return a window with these rows appended, but no more than the last `most`."""
        return type(self)(
            np.concatenate([self.scores, scores])[-most:].copy(),
            np.concatenate([self.labels, labels])[-most:].copy(),
            np.concatenate([self.weight, weight])[-most:].copy(),
        )
