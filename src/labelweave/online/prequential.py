"""Prequential F1: each batch is predicted before it is learned from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Counts, Labels
from labelweave.decision import ClassMassNormalization
from labelweave.decision.probabilities import Probabilities
from labelweave.online.state import OnlineState


class PrequentialF1:
    """Macro and micro F1 over all rows counted so far; labels may join on the way.

    Examples
    --------
    >>> quality = PrequentialF1()
    >>> quality.add(truth=np.array([[1], [0]]), predicted=np.array([[1], [1]]))
    >>> quality.add(truth=np.array([[1, 1]]), predicted=np.array([[1, 1]]))
    >>> quality.macro(), quality.micro()
    (0.9, 0.8571428571428571)
    """

    def __init__(self) -> None:
        #: For each label: true positives, rows that have it, rows predicted to have it.
        self.found, self.true, self.given = (np.zeros(0, dtype=np.int64) for _ in range(3))

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count a batch: (n, L) arrays of 0/1."""
        missing = truth.shape[1] - len(self.found)
        if missing > 0:
            self.found, self.true, self.given = (
                np.pad(counts, (0, missing)) for counts in (self.found, self.true, self.given)
            )
        self.found += np.count_nonzero(truth.astype(bool) & predicted.astype(bool), axis=0)
        self.true += np.count_nonzero(truth, axis=0)
        self.given += np.count_nonzero(predicted, axis=0)

    @classmethod
    def sum(cls, parts: Iterable[tuple[Sequence[int], PrequentialF1]]) -> PrequentialF1:
        """Return the counts of several streams, each with the numbers of its labels.

        Examples
        --------
        >>> one = PrequentialF1()
        >>> one.add(truth=np.array([[1]]), predicted=np.array([[1]]))
        >>> PrequentialF1.sum([([3], one), ([7], one)]).true
        array([1, 1])
        """
        parts, total = list(parts), cls()
        numbers = dict.fromkeys(number for labels, _ in parts for number in labels)
        column = {number: place for place, number in enumerate(numbers)}
        for name in total.to_arrays():
            counts = np.zeros(len(column), dtype=np.int64)
            for labels, quality in parts:
                known = getattr(quality, name)  # labels may have joined after the last batch
                np.add.at(counts, [column[number] for number in labels[: len(known)]], known)
            setattr(total, name, counts)
        return total

    def macro(self) -> float:
        """Mean F1 of the labels that occurred or were predicted; nan before any did."""
        both = self.true + self.given
        f1 = 2 * self.found[both > 0] / both[both > 0]
        return float(f1.mean()) if len(f1) else float("nan")

    def micro(self) -> float:
        """F1 over all labels together; nan before any occurred."""
        both = int(self.true.sum() + self.given.sum())
        return 2 * int(self.found.sum()) / both if both else float("nan")

    def to_arrays(self) -> dict[str, Counts]:
        """Return the counts by name."""
        return {"found": self.found, "true": self.true, "given": self.given}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Counts]) -> PrequentialF1:
        """Return the counts that `to_arrays` gave."""
        quality = cls()
        found, true, given = (arrays[name] for name in ("found", "true", "given"))
        if any(counts.dtype != np.int64 or counts.ndim != 1 for counts in (found, true, given)):
            raise ValueError("the counts of prequential F1 are not int64 arrays")
        if not len(found) == len(true) == len(given) or (found > np.minimum(true, given)).any():
            raise ValueError("the counts of prequential F1 contradict each other")
        quality.found, quality.true, quality.given = found.copy(), true.copy(), given.copy()
        return quality


def predict_by_frequency(state: OnlineState, X: Any, n_threads: int = 1) -> Labels:
    """Predict a batch as a test set of its own, each label as often as it was seen so far."""
    rates = state.positives / np.maximum(state.observed, 1)
    scores = Probabilities(state.log_odds(X, n_threads))
    return ClassMassNormalization(rates).label(scores)
