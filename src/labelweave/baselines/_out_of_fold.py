"""Out-of-fold scores, and the FBR rule and C that they choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels, Positions
from labelweave._common.row_keys import assign_folds
from labelweave.baselines._decision_functions import Scorer
from labelweave.decision.tuned import best_cut

#: Trains on features, labels, row weights and C; returns the scorer of the labels.
Train = Callable[[Any, Labels, Floats, float], Scorer]

# The values of the FBR rule that Lewis et al. (2004) tried.
FBR_GRID = np.round(0.1 * np.arange(9), 1)


@dataclass(frozen=True)
class HeldOut:
    """Out-of-fold scores: each row is scored by machines trained without its fold.

    Attributes
    ----------
    scores : (n, L) array
    labels : (n, L) array of 0/1
    weight : (n,) array
    fold : (n,) array of int
    """

    scores: Floats
    labels: Labels
    weight: Floats
    fold: Positions

    @cached_property
    def verdict(self) -> tuple[float, float]:
        """The best value of the FBR rule and its macro F1.

        Thresholds are cross-validated in turn: those that label a fold are tuned on the scores of
        the other folds.
        """
        per_label = [
            _macro_terms(scores, labels, self.weight, self.fold)
            for scores, labels in zip(
                np.ascontiguousarray(self.scores.T),
                np.ascontiguousarray(self.labels.T),
                strict=True,
            )
        ]
        macro = np.mean(per_label, axis=0)
        best = int(np.argmax(macro))
        return float(FBR_GRID[best]), float(macro[best])


def _macro_terms(scores: Floats, labels: Labels, weight: Floats, fold: Positions) -> Floats:
    """Return F1 of one label for every value of the FBR rule; 1 if nothing is true or predicted."""
    order = np.argsort(-scores)  # once for all folds; thresholds do not separate equal scores
    s, y, w, of = scores[order], labels[order], weight[order], fold[order]
    falling, positive = -s, w * y
    found, given = np.zeros(len(FBR_GRID)), np.zeros(len(FBR_GRID))
    for k in range(int(fold.max()) + 1):
        rest = np.flatnonzero(of != k)
        tuned, f1 = best_cut(s[rest], y[rest], w[rest])
        highest = s[rest[0]]
        for cut, chosen in ((tuned, f1 >= FBR_GRID), (highest, f1 < FBR_GRID)):
            above = np.flatnonzero(of[: np.searchsorted(falling, -cut)] == k)
            found[chosen] += positive[above].sum()
            given[chosen] += w[above].sum()
    both = positive.sum() + given
    return np.asarray(np.where(both == 0, 1.0, 2.0 * found / np.where(both == 0, 1.0, both)))


def hold_out(
    train: Train,
    X: Any,
    labels: Labels,
    weight: Floats,
    C: float,
    *,
    folds: int,
    seed: int,
    n_threads: int,
) -> HeldOut | None:
    """Score each row by machines trained on the other folds; None if all rows are equal.

    Equal rows share a fold, and the order of the rows does not matter.
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
    """Return the C of best out-of-fold macro F1 and its scores; ties go to the first."""
    chosen: tuple[float, HeldOut | None] | None = None
    highest = -1.0
    for C in candidates:
        held_out = held_out_for(C)
        macro = 0.0 if held_out is None else held_out.verdict[1]
        if chosen is None or macro > highest:
            chosen, highest = (C, held_out), macro
    if chosen is None:
        raise ValueError("there must be a candidate for C")
    return chosen


def mean_square(X: Any, weight: Floats) -> float:
    """Return the weighted mean of |x|² over the rows; 1 if all are zero."""
    mean = float(np.average(row_squares(X), weights=weight))
    return mean if 0 < mean < np.inf else 1.0


def row_squares(X: Any) -> Floats:
    """Return |x|² of every row, infinite if it overflows."""
    with np.errstate(over="ignore"):
        squares = (X**2).sum(axis=1) if isinstance(X, np.ndarray) else X.multiply(X).sum(axis=1)
    return np.asarray(squares).ravel()
