"""Candidates tried one after the other on the same folds, the hopeless ones on one only."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.exceptions import FitFailedWarning

from labelweave._common.arrays import Floats, Mask
from labelweave._common.engine import processes
from labelweave._common.paired_gain import in_standard_errors
from labelweave.decision.probabilities import Probabilities, Scores, check_scores
from labelweave.decision.rules import ThresholdRule
from labelweave.evaluation.selection.pooling import pool_weights
from labelweave.evaluation.selection.trials import (
    HeldOutFold,
    TrainingData,
    Trial,
    by_row,
    judge_fold,
)
from labelweave.joint import IndependentJoint, MixtureJoint
from labelweave.metrics import Metric

# A candidate is given up if it is behind by this many standard errors of the paired differences of
# the rows of the first fold, or in a pool if its weight there is below the least one that counts;
# but not by fewer rows than this.
_STANDARD_ERRORS = 4.0
LEAST_WEIGHT = 0.02
_FEWEST_ROWS = 20


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
    error : Exception or None
        Why the last of those that failed did.
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
        self.error: Exception | None = None

    def skip(self, name: str, problem: str) -> None:
        """Enter a candidate that is not tried."""
        self.trials.append(Trial(name, (), problem=problem))

    def run(self, name: str, estimator: Any) -> None:
        """Try a candidate on the folds."""
        begin = time.monotonic()
        folds: list[HeldOutFold] = []
        problem = ""
        # Where nobody can be given up, all folds are tried at once.
        at_first = 1 if self._can_give_up() else len(self.held_out)
        try:
            folds = self._judged(estimator, self.held_out[:at_first])
            if at_first == 1:
                problem = self._reason_to_give_up(folds[0])
            if not problem:
                folds += self._judged(estimator, self.held_out[at_first:])
                self.folds[len(self.trials)] = folds
        except Warning:  # one that the user wants as an error
            raise
        except Exception as error:  # whatever fails, a base classifier of the user's, say
            folds, problem = [], _described(error)
            self.error = error
            if not isinstance(error, ValueError):
                warnings.warn(f"candidate {name} failed: {problem}", FitFailedWarning, stacklevel=2)
        scores = tuple(fold.score for fold in folds)
        self.trials.append(Trial(name, scores, time.monotonic() - begin, problem))

    def _judged(self, estimator: Any, held_out: list[Mask]) -> list[HeldOutFold]:
        return list(
            processes(self.n_jobs)(
                delayed(judge_fold)(estimator, self.data, outside, self.metric, self.rule)
                for outside in held_out
            )
        )

    def _can_give_up(self) -> bool:
        several = self.metric is None and bool(self.folds) and len(self.held_out) > 1
        return several and self._first_weight().sum() >= _FEWEST_ROWS

    def _first_weight(self) -> Floats:
        """Return the weights of the rows of the first fold."""
        first = self.held_out[0]
        return np.ones(first.sum()) if self.data.weight is None else self.data.weight[first]

    def _reason_to_give_up(self, first: HeldOutFold) -> str:
        """Return why a candidate is not worth further folds; empty if it is."""
        known = np.column_stack([folds[0].log_prob for folds in self.folds.values()])
        weight = self._first_weight()
        if self.pooled:
            together = np.column_stack([known, first.log_prob])
            is_idle = pool_weights(together, weight)[-1] < LEAST_WEIGHT
            reason = f"weight below {LEAST_WEIGHT}"
        else:
            leader = known[:, np.average(known, axis=0, weights=weight).argmax()]
            is_idle = _is_far_behind(first.log_prob, leader, weight)
            reason = "far behind"
        return f"{reason} after one of {len(self.held_out)} folds" if is_idle else ""

    def best(self) -> int | None:
        """Return the position of the best candidate; None if none went through all folds."""
        return max(self.folds, key=lambda k: self.trials[k].score, default=None)

    def log_probs(self, members: list[int]) -> Floats:
        """Return the log-probability of each row by each of some candidates, (n, K)."""
        columns = (by_row([f.log_prob for f in self.folds[k]], self.held_out) for k in members)
        return np.column_stack([np.asarray(column) for column in columns])

    def evidence(self, members: list[int], weights: Floats) -> Scores:
        """Return what the rule sees of each row in a mixture of some candidates, (n, L)."""
        parts = [by_row([f.evidence for f in self.folds[k]], self.held_out) for k in members]
        if len(parts) == 1:
            return parts[0]
        # Several candidates are mixed by their marginals, which are held as log-odds.
        mixture = MixtureJoint(weights, [IndependentJoint(check_scores(part)) for part in parts])
        return Probabilities(mixture.marginal_log_odds())


def _described(error: Exception) -> str:
    """Return the message of an error, with its type unless it is about a value."""
    is_plain = isinstance(error, ValueError) and str(error)
    return str(error) if is_plain else f"{type(error).__name__}: {error}"


def _is_far_behind(log_prob: Floats, leader: Floats, weight: Floats) -> bool:
    """Whether rows are less probable by several standard errors; impossible ones settle it."""
    if np.isneginf(leader).any():
        return False
    if np.isneginf(log_prob).any():
        return True
    return in_standard_errors(log_prob - leader, weight) < -_STANDARD_ERRORS
