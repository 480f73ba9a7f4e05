"""One threshold per label, tuned for macro F1 on held-out rows (SCut)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice, check_number
from labelweave.decision.held_out import LabelledScores
from labelweave.decision.probabilities import (
    Scores,
    as_scores,
    check_probabilities,
    check_scores,
    like,
)
from labelweave.decision.threshold_rule import (
    Draw,
    HeldOut,
    ThresholdRule,
    cut_between,
    possible_cuts,
)


@dataclass(frozen=True, eq=False)
class TunedThresholds(ThresholdRule):
    """For each label the threshold with the best F1 on held-out rows (SCut): the best macro F1.

    As the ``decision`` of an estimator of P(y|x), `fit` holds the rows out by itself, in five
    folds; "macro_f1" stands for ``TunedThresholds(smoothing=30)`` there.

    Parameters
    ----------
    values : (L,) sequence of float or Probabilities, optional
        Thresholds that are already tuned. By default `informed` tunes them, on held-out rows and in
        the units of their scores: ``TunedThresholds().informed(rates, (scores, labels))``.
    fbr : float, default=0.0
        Labels whose best F1 on the held-out rows is lower than this get the `fallback`: with few
        positives a tuned threshold would be a matter of luck, and one that is too low is costly.
        0 tunes all labels.
    fallback : {"highest", "never"}, default="highest"
        The threshold of such labels: the highest held-out score (the rule FBR.1) or infinity
        (FBR.0).
    smoothing : float, default=0.0
        The other remedy where positives are few: F1 is computed as if each held-out row had the
        label to the extent of its own score, with the weight of so many positives against those
        that there are. Scores must then be probabilities, of whose calibration it makes use.
        Labels without positives are given to no row.

    Examples
    --------
    >>> scores, truth = [[0.9], [0.6], [0.4], [0.1]], [[1], [1], [1], [0]]
    >>> TunedThresholds().informed([0.75], (scores, truth)).thresholds([[0.5], [0.2]])
    array([0.25])
    """

    values: Sequence[float] | Scores | None = None
    fbr: float = 0.0
    fallback: Literal["highest", "never"] = "highest"
    smoothing: float = 0.0

    needs_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the smoothing."""
        check_number(self.smoothing, "smoothing", minimum=0)

    def __eq__(self, other: object) -> bool:
        """Whether settings and values are the same."""
        if not isinstance(other, TunedThresholds) or self._settings() != other._settings():
            return False
        if self.values is None or other.values is None:
            return self.values is other.values
        return np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        """Return a hash of the settings."""
        return hash(self._settings())

    def _settings(self) -> tuple[float, str, float]:
        return self.fbr, self.fallback, self.smoothing

    @property
    def needs_held_out(self) -> bool:
        """Whether thresholds are still to be tuned."""
        return self.values is None

    @property
    def needs_probabilities(self) -> bool:
        """Whether labels are smoothed by their scores."""
        return self.smoothing > 0

    def informed(self, rates: npt.ArrayLike, held_out: HeldOut | None = None) -> TunedThresholds:
        """Return the rule with tuned values, unless it has values already."""
        del rates
        if self.values is not None:
            return self
        if held_out is None:
            raise ValueError(
                "TunedThresholds needs values=, or held-out scores to tune them on; "
                "sklearn's cross_val_predict gives such scores"
            )
        scores, labels, *weight = held_out
        tuned = tune_thresholds(
            scores,
            labels,
            fbr=self.fbr,
            fallback=self.fallback,
            smoothing=self.smoothing,
            sample_weight=weight[0] if weight else None,
        )
        return replace(self, values=tuned)

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the tuned thresholds, (L,)."""
        del draw
        n_labels = check_scores(scores).shape[1]
        if self.values is None:
            raise ValueError("TunedThresholds has no values yet: call informed with held-out rows")
        values = as_scores(self.values)
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
    smoothing: float = 0.0,
    sample_weight: npt.ArrayLike | None = None,
) -> Scores:
    """Return the threshold of each label with the best F1 on rows whose labels are known, (L,).

    Parameters
    ----------
    scores : (n, L) array or Probabilities
        Scores of rows the model was not trained on.
    labels : (n, L) array of 0/1
        Their true labels.
    fbr : float, default=0.0
        The F1 below which a label gets the `fallback`.
    fallback : {"highest", "never"}, default="highest"
        The highest score of the label, or infinity.
    smoothing : float, default=0.0
        Number of positives whose weight the scores of a label, then probabilities, have beside its
        true labels.
    sample_weight : (n,) array, optional
        Weight of each row; 1 by default.

    Examples
    --------
    >>> tune_thresholds([[3.0, 1.0], [2.0, 0.0], [1.0, 2.0]], [[1, 0], [1, 0], [0, 0]])
    array([1.5, inf])
    """
    given, labelled, weight = LabelledScores.of(scores, labels, sample_weight)
    check_choice(fallback, "fallback", ("highest", "never"))
    values = check_scores(given)
    truth = _smoothed(given, labelled, weight, smoothing) if smoothing else labelled
    tuned = np.full(values.shape[1], np.inf)
    for label, (s, y) in enumerate(zip(values.T, truth.T, strict=True)):
        order = np.argsort(-s, kind="stable")
        threshold, f1 = best_cut(s[order], y[order], weight[order])
        if f1 >= fbr:
            tuned[label] = threshold
        elif fallback == "highest" and len(s):
            tuned[label] = s.max()
    return like(given, tuned)


def _smoothed(scores: Scores, labels: npt.NDArray[Any], weight: Floats, smoothing: float) -> Floats:
    """Mix labels with their probabilities, which have the weight of `smoothing` positives."""
    positives = weight @ labels
    share = np.where(positives > 0, smoothing / (smoothing + positives), 0.0)
    return np.asarray((1.0 - share) * labels + share * check_probabilities(scores))


def best_cut(descending: Floats, truth: npt.NDArray[Any], weight: Floats) -> tuple[float, float]:
    """Return the threshold with the best F1, and that F1; scores are in descending order."""
    cuts = possible_cuts(descending)
    f1 = _f1_of_cuts(truth, weight, cuts)
    best = int(np.argmax(f1))
    return cut_between(descending, int(cuts[best])), float(f1[best])


def _f1_of_cuts(truth: npt.NDArray[Any], weight: Floats, cuts: Indices) -> Floats:
    """F1 if the first rows get the label; 1 where there are no positives, true or predicted."""
    found = np.concatenate([[0.0], np.cumsum(truth * weight)])
    both = np.concatenate([[0.0], np.cumsum(weight)])[cuts] + found[-1]
    return np.asarray(np.where(both == 0, 1.0, 2.0 * found[cuts] / np.where(both == 0, 1.0, both)))
