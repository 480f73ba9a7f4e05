"""Thresholds from what is known of the training labels: their frequency, or held-out scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice, check_number
from labelweave._common.presets import HasPresets, Presets, published
from labelweave.decision.labelling import Draw, Labelling, check_scores, cut_between, possible_cuts


@dataclass(frozen=True, eq=False)
class CardinalityMatching(Labelling, HasPresets):
    """Give each label to the share of test rows that had it in training (CMN).

    The rows with the highest scores get the label, as many as come closest to its training
    frequency; rows with equal scores get it together or not at all. Scores need not be calibrated:
    only their order counts. Known as class mass normalisation; as published, with
    ``CardinalityMatching.preset("published")``, it matches the frequency of rare labels too.

    Parameters
    ----------
    rates : (L,) sequence of float, optional
        Share of the training rows that have each label. Left out, the estimator that uses the rule
        says it.
    fallback : float or None, default=0.5
        The threshold of labels the frequency says too little about: see `least_rows`. None matches
        the frequency all the same. 0.5 suits probabilities, 0 decision values.
    least_rows : float, default=2.0
        A label expected on m test rows is on none of them with probability exp(-m), and then any
        row that gets it is wrong. Labels of both kinds in training that are expected on fewer rows
        than this (or on all but fewer) have the `fallback` as threshold.

    Examples
    --------
    >>> rule = CardinalityMatching(rates=[0.5])
    >>> rule.label([[0.1], [0.4], [0.2], [0.3]]).ravel()
    array([0, 1, 0, 1], dtype=int8)

    One row cannot show a frequency:

    >>> CardinalityMatching(rates=[0.01]).thresholds([[0.7]])
    array([0.5])
    """

    presets: ClassVar[Presets] = published(least_rows=0.5)

    rates: Sequence[float] | Floats | None = None
    fallback: float | None = 0.5
    least_rows: float = 2.0

    def __post_init__(self) -> None:
        """Check what can be checked before there are scores."""
        check_number(self.least_rows, "least_rows", minimum=0, finite=False)
        if self.fallback is not None:
            check_number(self.fallback, "fallback", finite=False, otherwise="None")

    def informed(
        self, rates: npt.ArrayLike, held_out: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> CardinalityMatching:
        """Return the rule with the training frequencies, unless it was given its own."""
        del held_out
        return self if self.rates is not None else replace(self, rates=np.asarray(rates))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Floats:
        """Return the thresholds that match the training frequencies, (L,)."""
        del draw
        values = check_scores(scores)
        rates = self._rates(values.shape[1])
        descending = -np.sort(-values, axis=0)
        return np.array([self._match(s, r) for s, r in zip(descending.T, rates, strict=True)])

    def _rates(self, n_labels: int) -> Floats:
        if self.rates is None:
            raise ValueError("CardinalityMatching needs rates=, the share of training rows a label")
        rates = np.asarray(self.rates, dtype=np.float64)
        if rates.shape != (n_labels,):
            raise ValueError(
                f"rates must be one number for each of the {n_labels} labels; "
                f"got shape {rates.shape}"
            )
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"rates must lie between 0 and 1; got {rates}")
        return rates

    def _match(self, descending: Floats, rate: float) -> float:
        expected = rate * len(descending)
        # Rates are quotients: exactly two rows may come out as a little less.
        too_few = min(expected, len(descending) - expected) < self.least_rows * (1 - 1e-9)
        if too_few and 0 < rate < 1 and self.fallback is not None:
            return float(self.fallback)
        if rate == 1:  # an empty test set has no cut that tells all from none
            return -np.inf
        cuts = possible_cuts(descending)
        return cut_between(descending, int(cuts[np.argmin(np.abs(cuts - expected))]))


@dataclass(frozen=True, eq=False)
class TunedThresholds(Labelling):
    """For each label the threshold with the best F1 on held-out rows (SCut).

    Parameters
    ----------
    values : (L,) sequence of float, optional
        Thresholds tuned before. Left out, `informed` tunes them: with held-out rows at hand call
        ``TunedThresholds().informed(rates, (scores, labels))``.
    fbr : float, default=0.0
        Labels whose best F1 on the held-out rows is lower get no tuned threshold: on few positives
        it would be a matter of luck, and one that is too low costs much. 0 tunes all labels.
    fallback : {"highest", "never"}, default="highest"
        The threshold such labels get: the highest held-out score (the rule FBR.1) or infinity
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

    def informed(
        self, rates: npt.ArrayLike, held_out: tuple[npt.ArrayLike, npt.ArrayLike] | None = None
    ) -> TunedThresholds:
        """Return the rule with tuned values, unless it was given its own."""
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
        How often each row counts; by default once.

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
    """Return the threshold of the best F1, and that F1; the scores are sorted."""
    cuts = possible_cuts(descending)
    f1 = _f1_of_cuts(truth, weight, cuts)
    best = int(np.argmax(f1))
    return cut_between(descending, int(cuts[best])), float(f1[best])


def _f1_of_cuts(truth: npt.NDArray[np.integer], weight: Floats, cuts: Indices) -> Floats:
    """F1 when the first rows get the label; 1 where neither truth nor labels have any."""
    found = np.concatenate([[0.0], np.cumsum(truth * weight)])
    both = np.concatenate([[0.0], np.cumsum(weight)])[cuts] + found[-1]
    return np.asarray(np.where(both == 0, 1.0, 2.0 * found[cuts] / np.where(both == 0, 1.0, both)))
