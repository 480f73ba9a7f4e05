"""Choose the width of a kernel and the number of features by held-out log-likelihood.

A candidate's loss is that of binary relevance: logistic regressions of all labels on its features,
fitted without one fold and scored on it, along a path of penalties (math.md, 1.6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds
from labelweave.features.feature_maps import FeatureMap
from labelweave.logistic import LogisticProblems, solve_problems

# Candidates for C, from strong to weak: those of features with a mean square of one.
_C_PATH: Floats = 10.0 ** np.arange(-3.5, 2.1, 0.5)
# Losses must be accurate enough to be compared, and those of weak penalties, after two rises, are
# not asked for.
_TOLERANCE, _PATIENCE = 1e-4, 2
_N_FOLDS = 3
# Steps of log2 γ: first where the search starts, then its step and its last one, and its bounds.
_START, _STEP, _LAST_STEP, _BOUND = (-2, 0), 2, 1, 6


@dataclass(frozen=True)
class HeldOutLoss:
    """The held-out loss of labels given features of the same rows, by fold.

    Folds belong to the rows, so the losses of all candidates are of the same rows.

    Attributes
    ----------
    labels : (n, L) int8 array
    weight : (n,) array
    fold : (n,) array
    n_folds : int
    n_threads : int
    """

    labels: Labels
    weight: Floats
    fold: Positions
    n_folds: int
    n_threads: int

    @classmethod
    def of(cls, X: Any, labels: Labels, weight: Floats, seed: int, n_threads: int) -> HeldOutLoss:
        """Deal the rows of X into folds."""
        fold, n_folds = assign_folds(X, weight, _N_FOLDS, seed)
        return cls(labels, weight, fold, n_folds, n_threads)

    def __call__(self, features: Floats) -> Floats:
        """Return the loss of each fold at the best penalty, (n_folds,)."""
        inside: Mask = self.fold[:, None] != np.arange(self.n_folds)
        n_labels = self.labels.shape[1]
        problems = LogisticProblems(
            X=features,
            targets=self.labels,
            target_of=np.tile(np.arange(n_labels, dtype=np.int32), self.n_folds),
            C=np.tile(_C_PATH, (self.n_folds * n_labels, 1)),
            weights=np.where(inside, self.weight[:, None], 0.0),
            weight_of=np.repeat(np.arange(self.n_folds, dtype=np.int32), n_labels),
            total_weight=self.weight,
        )
        solutions = solve_problems(
            problems,
            tol=_TOLERANCE,
            patience=_PATIENCE,
            n_threads=self.n_threads,
            keep_coef=False,
        )
        losses = _after_rises(solutions.held_out)
        by_fold: Floats = losses.reshape(self.n_folds, n_labels, -1).sum(axis=1)
        best = int(by_fold.sum(axis=0).argmin())
        return by_fold[:, best].copy()


def _after_rises(losses: Floats) -> Floats:
    """Let a loss stay where its path was left: it would only have gone on rising."""
    filled = losses.copy()
    for place in range(1, losses.shape[1]):
        missing = np.isnan(filled[:, place])
        filled[missing, place] = filled[missing, place - 1]
    return filled


def choose_width(
    loss: Callable[[Floats], Floats], X: Any, map_of: Callable[[float], FeatureMap], gamma: float
) -> FeatureMap:
    """Return the map of the width with the least held-out loss.

    Widths are tried in steps of a factor of four, from `gamma` and a quarter of it downhill, and
    finally at a factor of two on both sides of the best.
    """
    found: dict[int, tuple[float, FeatureMap]] = {}

    def best(candidates: Sequence[int]) -> int:
        for exponent in candidates:
            if exponent not in found and abs(exponent) <= _BOUND:
                candidate = map_of(gamma * 2.0**exponent)
                found[exponent] = float(loss(candidate(X)).sum()), candidate
                advance()
        return min(found, key=lambda exponent: found[exponent][0])

    with stage("choosing the width") as advance:
        center = best(_START)
        while (moved := best((center - _STEP, center + _STEP))) != center:
            center = moved
        center = best((center - _LAST_STEP, center + _LAST_STEP))
    return found[center][1]


def choose_number(
    loss: Callable[[Floats], Floats], X: Any, largest: FeatureMap, numbers: Sequence[int]
) -> FeatureMap:
    """Return the smallest map whose loss is within one standard error of the least.

    The error is that of the paired difference between folds.
    """
    maps = [largest.first(number) for number in numbers if number < largest.n_features]
    maps.append(largest)
    losses = []
    with stage("choosing the number of features", len(maps)) as advance:
        for candidate in maps:
            losses.append(loss(candidate(X)))
            advance()
    difference = np.array(losses) - losses[int(np.sum(losses, axis=1).argmin())]
    error = difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
    return maps[int(np.argmax(difference.mean(axis=1) <= error))]
