"""Thresholds tuned on held-out rows (SCut)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice
from labelweave.decision.threshold_rule import (
    Draw,
    ThresholdRule,
    check_scores,
    cut_between,
    possible_cuts,
)


@dataclass(frozen=True, eq=False)
class TunedThresholds(ThresholdRule):
    """For each label the threshold with the best F1 on held-out rows (SCut).

    Parameters
    ----------
    values : (L,) sequence of float, optional
        Thresholds that are already tuned. By default `informed` tunes them, on held-out rows:
        ``TunedThresholds().informed(rates, (scores, labels))``.
    fbr : float, default=0.0
        Labels whose best F1 on the held-out rows is lower than this get the `fallback`: with few
        positives a tuned threshold would be a matter of luck, and one that is too low is costly.
        0 tunes all labels.
    fallback : {"highest", "never"}, default="highest"
        The threshold of such labels: the highest held-out score (the rule FBR.1) or infinity
        (FBR.0).

    Examples
    --------
    >>> scores, truth = [[0.9], [0.6], [0.4], [0.1]], [[1], [1], [1], [0]]
    >>> TunedThresholds().informed([0.75], (scores, truth)).thresholds([[0.5], [0.2]])
    array([0.25])
    """

    values: Sequence[float] | Floats | None = None
    fbr: float = 0.0
    fallback: Literal["highest", "never"] = "highest"

    needs_held_out: ClassVar[bool] = True
    needs_rows: ClassVar[bool] = False

    def informed(
        self, rates: npt.ArrayLike, held_out: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> TunedThresholds:
        """Return the rule with tuned values, unless it has values already."""
        del rates
        if self.values is not None:
            return self
        if held_out is None:
            raise ValueError(
                "TunedThresholds needs values=, or held-out scores to tune them on; "
                "sklearn's cross_val_predict gives such scores"
            )
        tuned = tune_thresholds(*held_out, fbr=self.fbr, fallback=self.fallback)
        return replace(self, values=tuned)

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Floats:
        """Return the tuned thresholds, (L,)."""
        del draw
        n_labels = check_scores(scores).shape[1]
        if self.values is None:
            raise ValueError("TunedThresholds has no values yet: call informed with held-out rows")
        values = np.array(self.values, dtype=np.float64)
        if values.shape != (n_labels,):
            raise ValueError(
                f"values must be one threshold for each of the {n_labels} labels; "
                f"got shape {values.shape}"
            )
        return values


def tune_thresholds(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    fbr: float = 0.0,
    fallback: Literal["highest", "never"] = "highest",
    sample_weight: npt.ArrayLike | None = None,
) -> Floats:
    """Return the threshold of each label with the best F1 on rows whose labels are known, (L,).

    Parameters
    ----------
    scores : (n, L) array
        Scores of rows the model was not trained on.
    labels : (n, L) array of 0/1
        Their true labels.
    fbr : float, default=0.0
        The F1 below which a label gets the `fallback`.
    fallback : {"highest", "never"}, default="highest"
        The highest score of the label, or infinity.
    sample_weight : (n,) array, optional
        Weight of each row; 1 by default.

    Examples
    --------
    >>> tune_thresholds([[3.0, 1.0], [2.0, 0.0], [1.0, 2.0]], [[1, 0], [1, 0], [0, 0]])
    array([1.5, inf])
    """
    values = check_scores(scores)
    truth = np.asarray(labels)
    if truth.shape != values.shape:
        raise ValueError(f"labels have shape {truth.shape}, scores {values.shape}: they must match")
    if not np.isin(truth, (0, 1)).all():
        raise ValueError("labels must be 0 or 1")
    check_choice(fallback, "fallback", ("highest", "never"))
    weight = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
    if weight.shape != (len(values),):
        raise ValueError(f"sample_weight must be one number for each of the {len(values)} rows")
    tuned = np.full(values.shape[1], np.inf)
    for label, (s, y) in enumerate(zip(values.T, truth.T, strict=True)):
        order = np.argsort(-s, kind="stable")
        threshold, f1 = best_cut(s[order], y[order], weight[order])
        if f1 >= fbr:
            tuned[label] = threshold
        elif fallback == "highest" and len(s):
            tuned[label] = s.max()
    return tuned


def best_cut(
    descending: Floats, truth: npt.NDArray[np.integer], weight: Floats
) -> tuple[float, float]:
    """Return the threshold with the best F1, and that F1; scores are in descending order."""
    cuts = possible_cuts(descending)
    f1 = _f1_of_cuts(truth, weight, cuts)
    best = int(np.argmax(f1))
    return cut_between(descending, int(cuts[best])), float(f1[best])


def _f1_of_cuts(truth: npt.NDArray[np.integer], weight: Floats, cuts: Indices) -> Floats:
    """F1 if the first rows get the label; 1 where there are no positives, true or predicted."""
    found = np.concatenate([[0.0], np.cumsum(truth * weight)])
    both = np.concatenate([[0.0], np.cumsum(weight)])[cuts] + found[-1]
    return np.asarray(np.where(both == 0, 1.0, 2.0 * found[cuts] / np.where(both == 0, 1.0, both)))
