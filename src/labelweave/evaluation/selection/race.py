"""Candidates tried one after the other on the same folds, the hopeless ones on one only."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from labelweave._common.arrays import Floats, Mask
from labelweave.decision import ThresholdRule
from labelweave.evaluation.metrics.registry import Metric
from labelweave.evaluation.selection.pooling import pool_weights
from labelweave.evaluation.selection.trials import (
    HeldOutFold,
    TrainingData,
    Trial,
    by_row,
    judge_fold,
)

# A candidate is given up if it is behind by this many standard errors of the paired differences of
# the rows of the first fold, or in a pool if its weight there is below the least one that counts.
_STANDARD_ERRORS = 4.0
LEAST_WEIGHT = 0.02


class Race:
    """What each candidate makes of held-out rows.

    Parameters
    ----------
    data : TrainingData
    held_out : list of (n,) arrays of bool
        The rows of each fold.
    metric : Metric or None
        What candidates are judged by; None for the log-likelihood, which is known row by row, so
        that those far behind are not tried on all folds.
    rule : ThresholdRule or None
        A rule that is to be tuned on the held-out rows.
    pooled : bool
        Whether candidates share the rows, as members of a mixture.
    n_jobs : int or None
        Number of folds at a time.

    Attributes
    ----------
    trials : list of Trial
    folds : dict
        What the candidates that went through all folds make of each, by their position.
    """

    def __init__(
        self,
        data: TrainingData,
        held_out: list[Mask],
        *,
        metric: Metric | None,
        rule: ThresholdRule | None,
        pooled: bool,
        n_jobs: int | None,
    ) -> None:
        self.data = data
        self.held_out = held_out
        self.metric = metric
        self.rule = rule
        self.pooled = pooled
        self.n_jobs = n_jobs
        self.trials: list[Trial] = []
        self.folds: dict[int, list[HeldOutFold]] = {}

    def skip(self, name: str, problem: str) -> None:
        """Enter a candidate that is not tried."""
        self.trials.append(Trial(name, (), problem=problem))

    def run(self, name: str, estimator: Any) -> None:
        """Try a candidate on the folds."""
        begin = time.monotonic()
        folds: list[HeldOutFold] = []
        problem = ""
        try:
            folds = self._judged(estimator, self.held_out[:1])
            if folds and self._is_hopeless(folds[0]):
                problem = f"far behind after one of {len(self.held_out)} folds"
            else:
                folds += self._judged(estimator, self.held_out[1:])
                self.folds[len(self.trials)] = folds
        except ValueError as error:  # a method that has too many labels, say
            folds, problem = [], str(error)
        scores = tuple(fold.score for fold in folds)
        self.trials.append(Trial(name, scores, time.monotonic() - begin, problem))

    def _judged(self, estimator: Any, held_out: list[Mask]) -> list[HeldOutFold]:
        return list(
            Parallel(n_jobs=self.n_jobs)(
                delayed(judge_fold)(estimator, self.data, outside, self.metric, self.rule)
                for outside in held_out
            )
        )

    def _is_hopeless(self, first: HeldOutFold) -> bool:
        if first.log_prob is None or not self.folds or len(self.held_out) < 2:
            return False
        others = [folds[0].log_prob for folds in self.folds.values()]
        known = np.column_stack([each for each in others if each is not None])
        weight = self.data.taken(self.held_out[0]).weight
        if self.pooled:
            together = np.column_stack([known, first.log_prob])
            return bool(pool_weights(together, weight)[-1] < LEAST_WEIGHT)
        leader = known[:, np.average(known, axis=0, weights=weight).argmax()]
        return _is_far_behind(first.log_prob - leader, weight)

    def best(self) -> int | None:
        """Return the position of the best candidate; None if none went through all folds."""
        return max(self.folds, key=lambda k: self.trials[k].score, default=None)

    def log_probs(self, members: list[int]) -> Floats:
        """Return the log-probability of each row by each of some candidates, (n, K)."""
        return np.column_stack([self._by_row(member, "log_prob") for member in members])

    def evidence(self, members: list[int], weights: Floats) -> Floats:
        """Return what the rule sees of each row in a mixture of some candidates, (n, L)."""
        parts = (self._by_row(member, "evidence") for member in members)
        pooled: Floats = sum(
            (weight * part for weight, part in zip(weights, parts, strict=True)), start=np.zeros(1)
        )
        return pooled

    def _by_row(self, member: int, what: str) -> Floats:
        return by_row([getattr(fold, what) for fold in self.folds[member]], self.held_out)


def _is_far_behind(differences: Floats, weight: Floats | None) -> bool:
    """Whether rows are less probable by several standard errors; impossible rows settle it."""
    if len(differences) < 2 or not np.isfinite(differences).all():
        return bool(np.isneginf(differences).any())
    mean = np.average(differences, weights=weight)
    variance = np.average((differences - mean) ** 2, weights=weight)
    return bool(mean < -_STANDARD_ERRORS * np.sqrt(variance / len(differences)))
