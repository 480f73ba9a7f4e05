"""One threshold for all labels, tuned for micro F1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelweave._common.checks import check_number
from labelweave.decision.held_out import LabelledScores
from labelweave.decision.probabilities import (
    Probabilities,
    Scores,
    check_scores,
    like,
    ranked_like,
)
from labelweave.decision.threshold_rule import Draw, HeldOut, ThresholdRule
from labelweave.decision.tuned_thresholds import best_cut


@dataclass(frozen=True)
class MicroF1Threshold(ThresholdRule):
    """One threshold for all labels, the best for micro F1 on held-out rows.

    Micro F1 pools the decisions on all labels. Where probabilities are calibrated, those above a
    common threshold are the best to say yes to: half the largest micro F1 that is within reach.

    As the ``decision`` of an estimator of P(y|x), `fit` holds the rows out by itself, in five
    folds.

    Parameters
    ----------
    value : float or Probabilities, optional
        A threshold that is already tuned. By default `informed` tunes it, on held-out rows, in the
        units of their scores.

    Examples
    --------
    >>> scores, truth = [[0.9, 0.6], [0.4, 0.1]], [[1, 1], [1, 0]]
    >>> MicroF1Threshold().informed([1.0, 0.5], (scores, truth))
    MicroF1Threshold(value=0.25)
    """

    needs_rows: ClassVar[bool] = False

    value: float | Probabilities | None = None

    def __post_init__(self) -> None:
        """Check the threshold; an infinite one gives all labels or none."""
        if self.value is None or isinstance(self.value, Probabilities):
            return
        if self.value not in (-np.inf, np.inf):
            check_number(self.value, "value", otherwise="None")

    @property
    def needs_held_out(self) -> bool:
        """Whether the threshold is still to be tuned."""
        return self.value is None

    def informed(self, rates: npt.ArrayLike, held_out: HeldOut | None = None) -> MicroF1Threshold:
        """Return the rule with a tuned threshold, unless it has one already."""
        del rates
        if self.value is not None:
            return self
        if held_out is None:
            raise ValueError("MicroF1Threshold needs value=, or held-out scores to tune it on")
        return replace(self, value=tune_common_threshold(*held_out))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the threshold for each label, (L,)."""
        del draw
        if self.value is None:
            raise ValueError("MicroF1Threshold has no value yet: call informed with held-out rows")
        n_labels = check_scores(scores).shape[1]
        return like(scores, np.full(n_labels, ranked_like(scores, self.value)))


def tune_common_threshold(
    scores: npt.ArrayLike, labels: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> float | Probabilities:
    """Return the threshold for all labels with the best micro F1 on rows whose labels are known.

    All cuts between scores are tried; of several that are best, the highest is returned.

    Parameters
    ----------
    scores : (n, L) array or Probabilities
        Scores of rows the model was not trained on.
    labels : (n, L) array of 0/1
        Their true labels.
    sample_weight : (n,) array, optional
        Weight of each row; 1 by default.

    Examples
    --------
    >>> tune_common_threshold([[0.9, 0.2], [0.6, 0.1]], [[1, 0], [1, 0]])
    0.4
    """
    known = LabelledScores.of(scores, labels, sample_weight)
    pooled = check_scores(known.scores).ravel()
    order = np.argsort(-pooled, kind="stable")
    weight = np.repeat(known.weight, known.scores.shape[1])
    threshold = best_cut(pooled[order], known.labels.ravel()[order], weight[order])[0]
    return Probabilities(threshold) if isinstance(scores, Probabilities) else threshold
