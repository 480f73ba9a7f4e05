"""Thresholds tuned for F1 on held-out rows: one per label, or one for all labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice, check_number
from labelweave.decision.probabilities import (
    Scores,
    as_scores,
    check_probabilities,
    check_scores,
    like,
)
from labelweave.decision.rules import Draw, HeldOut, Need, ThresholdRule, cut_between, possible_cuts


class LabelledScores(NamedTuple):
    """Scores (n, L), true labels (n, L) and weights (n,) of rows a model was not trained on."""

    scores: Scores
    labels: npt.NDArray[Any]
    weight: Floats

    @classmethod
    def of(
        cls,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
    ) -> LabelledScores:
        """Check scores, labels and weights; rows have weight 1 by default."""
        values, truth = check_scores(scores), np.asarray(labels)
        if truth.shape != values.shape:
            raise ValueError(
                f"labels have shape {truth.shape}, scores {values.shape}: they must match"
            )
        if not np.isin(truth, (0, 1)).all():
            raise ValueError("labels must be 0 or 1")
        weight = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
        if weight.shape != (len(values),):
            raise ValueError(f"sample_weight must be one number for each of the {len(values)} rows")
        return cls(as_scores(scores), truth, weight)


@dataclass(frozen=True, eq=False)
class TunedThresholds(ThresholdRule):
    """The thresholds with the best F1 on held-out rows (SCut; math.md, section 6).

    For macro F1 each label has its own threshold. Micro F1 pools the decisions on all labels, which
    then share one threshold. With this ``decision``, `fit` of an estimator of P(y|x) holds out the
    rows itself, in five folds; there "macro_f1" stands for ``TunedThresholds(smoothing=30)`` and
    "micro_f1" for ``TunedThresholds(average="micro")``.

    Parameters
    ----------
    values : (L,) sequence of float or Probabilities, or one number for all labels, optional
        Thresholds that are already tuned. By default `informed` tunes them, on held-out rows and in
        the units of their scores: ``TunedThresholds().informed(rates, (scores, labels))``.
    fbr : float, default=0.0
        Labels whose best F1 on the held-out rows is lower than this get the `fallback`. With few
        positives, chance would determine a tuned threshold, and a threshold that is too low is
        costly. 0 tunes all labels.
    fallback : {"highest", "never"}, default="highest"
        The threshold of labels below `fbr`: the highest held-out score (the rule FBR.1) or infinity
        (FBR.0).
    smoothing : float, default=0.0
        Another remedy for few positives: the true labels are mixed with the scores, which get the
        weight of this many positives. Scores must then be calibrated probabilities. Labels without
        positives are predicted on no row.
    average : {"macro", "micro"}, default="macro"
        Whether to maximise the F1 of each label, or of all labels pooled; the latter takes neither
        `fbr` nor `smoothing`.

    Examples
    --------
    >>> scores, truth = [[0.9], [0.6], [0.4], [0.1]], [[1], [1], [1], [0]]
    >>> TunedThresholds().informed([0.75], (scores, truth)).thresholds([[0.5], [0.2]])
    array([0.25])
    """

    values: float | Sequence[float] | Scores | None = None
    fbr: float = 0.0
    fallback: Literal["highest", "never"] = "highest"
    smoothing: float = 0.0
    average: Literal["macro", "micro"] = "macro"

    def __post_init__(self) -> None:
        check_number(self.smoothing, "smoothing", minimum=0)
        check_choice(self.average, "average", ("macro", "micro"))
        if self.values is not None and np.ndim(self.values) == 0:
            check_number(
                np.asarray(self.values)[()], "values", finite=False, otherwise="thresholds"
            )
        if self.average == "micro" and (self.fbr or self.smoothing):
            raise ValueError("fbr and smoothing need one threshold per label, average='macro'")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TunedThresholds) or self._settings() != other._settings():
            return False
        if self.values is None or other.values is None:
            return self.values is other.values
        return np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash(self._settings())

    def _settings(self) -> tuple[float, str, float, str]:
        return self.fbr, self.fallback, self.smoothing, self.average

    @property
    def needs(self) -> frozenset[Need]:
        """Held-out rows until thresholds are tuned, and probabilities for smoothing."""
        held_out: set[Need] = {"held_out"} if self.values is None else set()
        probabilities: set[Need] = {"probabilities"} if self.smoothing > 0 else set()
        return frozenset(held_out | probabilities)

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
        known = LabelledScores.of(*held_out)
        tuned = self._common(known) if self.average == "micro" else self._by_label(known)
        return replace(self, values=like(known.scores, tuned))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the tuned thresholds, (L,)."""
        del draw
        n_labels = check_scores(scores).shape[1]
        if self.values is None:
            raise ValueError("TunedThresholds has no values yet: call informed with held-out rows")
        values = as_scores(self.values)
        if values.shape == ():
            return values[np.newaxis][np.zeros(n_labels, dtype=np.int64)]
        if values.shape != (n_labels,):
            raise ValueError(
                f"values must be one threshold for each of the {n_labels} labels; "
                f"got shape {values.shape}"
            )
        return values

    def _by_label(self, known: LabelledScores) -> Floats:
        """Return the threshold of each label with the best F1, (L,)."""
        check_choice(self.fallback, "fallback", ("highest", "never"))
        values = check_scores(known.scores)
        truth = _smoothed(known, self.smoothing) if self.smoothing else known.labels
        tuned = np.full(values.shape[1], np.inf)
        for label, (s, y) in enumerate(zip(values.T, truth.T, strict=True)):
            threshold, f1 = best_cut(s, y, known.weight)
            if f1 >= self.fbr:
                tuned[label] = threshold
            elif self.fallback == "highest" and len(s):
                tuned[label] = s.max()
        return tuned

    def _common(self, known: LabelledScores) -> Floats:
        """Return the common threshold with the best micro F1, the highest among equals."""
        weight = np.repeat(known.weight, known.labels.shape[1])
        values = check_scores(known.scores).ravel()
        return np.asarray(best_cut(values, known.labels.ravel(), weight)[0])


def _smoothed(known: LabelledScores, smoothing: float) -> Floats:
    """Mix labels with their probabilities, which have the weight of `smoothing` positives."""
    positives = known.weight @ known.labels
    share = np.where(positives > 0, smoothing / (smoothing + positives), 0.0)
    probabilities = check_probabilities(known.scores)
    return np.asarray((1.0 - share) * known.labels + share * probabilities)


def best_cut(scores: Floats, truth: npt.NDArray[Any], weight: Floats) -> tuple[float, float]:
    """Return the threshold with the best F1 and this F1, which is 1 if there are no positives."""
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    cuts = possible_cuts(descending)
    found = np.concatenate([[0.0], np.cumsum(truth[order] * weight[order])])
    both = np.concatenate([[0.0], np.cumsum(weight[order])])[cuts] + found[-1]
    f1 = np.where(both == 0, 1.0, 2.0 * found[cuts] / np.where(both == 0, 1.0, both))
    best = int(np.argmax(f1))
    return cut_between(descending, int(cuts[best])), float(f1[best])
