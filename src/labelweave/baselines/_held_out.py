"""Scores of rows that were left out of training, and what they say about thresholds and C."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave.baselines._scorers import Floats, Scorer
from labelweave.decision import apply_thresholds, tune_thresholds
from labelweave.logistic.row_keys import assign_folds

#: From features, labels, weights of rows and C to scores of labels.
Train = Callable[[Any, NDArray[np.int8], Floats, float], Scorer]

# The values of the FBR rule that Lewis et al. (2004) try.
FBR_GRID = tuple(round(0.1 * k, 1) for k in range(9))


@dataclass(frozen=True)
class HeldOut:
    """Rows, each scored by a machine that was trained without its fold.

    Attributes
    ----------
    scores : (n, L) array
    labels : (n, L) array of 0/1
    weight : (n,) array
    fold : (n,) array of int
    """

    scores: Floats
    labels: NDArray[np.int8]
    weight: Floats
    fold: NDArray[np.intp]

    def judge(self) -> tuple[float, float]:
        """Return the best value of the FBR rule and the macro F1 it comes to.

        Thresholds are nested in the folds: those that label a fold are tuned on the scores of the
        other folds.
        """
        given = np.zeros((len(FBR_GRID), *self.labels.shape), dtype=np.int8)
        for fold in np.unique(self.fold):
            rest, here = self.fold != fold, self.fold == fold
            scores, labels, weight = self.scores[rest], self.labels[rest], self.weight[rest]
            tuned = tune_thresholds(scores, labels, sample_weight=weight)
            f1 = label_f1(labels, apply_thresholds(scores, tuned), weight)
            for k, fbr in enumerate(FBR_GRID):
                cut = np.where(f1 >= fbr, tuned, scores.max(axis=0))
                given[k][here] = apply_thresholds(self.scores[here], cut)
        macro = [float(label_f1(self.labels, labels, self.weight).mean()) for labels in given]
        best = int(np.argmax(macro))
        return FBR_GRID[best], macro[best]


def label_f1(truth: NDArray[np.int8], given: NDArray[np.int8], weight: Floats) -> Floats:
    """F1 of each label, (L,); 1 where neither truth nor labels have any."""
    found = weight @ (truth & given)
    both = weight @ truth + weight @ given
    return np.asarray(np.where(both == 0, 1.0, 2.0 * found / np.where(both == 0, 1.0, both)))


def hold_out(
    train: Train,
    X: Any,
    labels: NDArray[np.int8],
    weight: Floats,
    C: float,
    *,
    folds: int,
    seed: int,
    n_threads: int,
) -> HeldOut | None:
    """Score each row by a machine trained on the other folds; None if all rows are alike.

    Equal rows are in one fold, and the order of the rows does not matter.
    """
    fold, n_folds = assign_folds(X, weight, folds, seed)
    if n_folds < 2:
        return None
    scores = np.empty(labels.shape)
    for k in range(n_folds):
        rest, here = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        scorer = train(X[rest], labels[rest], weight[rest], C)
        scores[here] = scorer.scores(X[here], n_threads)
    return HeldOut(scores, labels, weight, fold)


def best_held_out(
    held_out_for: Callable[[float], HeldOut | None], candidates: Iterable[float]
) -> tuple[float, HeldOut | None]:
    """Return the C with the best macro F1 on held-out rows, and these; the first of equals."""
    chosen: tuple[float, HeldOut | None] | None = None
    highest = -1.0
    for C in candidates:
        held_out = held_out_for(C)
        macro = 0.0 if held_out is None else held_out.judge()[1]
        if chosen is None or macro > highest:
            chosen, highest = (C, held_out), macro
    if chosen is None:
        raise ValueError("there must be a candidate for C")
    return chosen


def mean_square(X: Any, weight: Floats) -> float:
    """Weighted mean of |x|² over the rows; 1 if all are zero."""
    squares = (X**2).sum(axis=1) if isinstance(X, np.ndarray) else X.multiply(X).sum(axis=1)
    mean = float(np.average(np.asarray(squares).ravel(), weights=weight))
    return mean if 0 < mean < np.inf else 1.0
