"""Class mass normalisation: predict each label as often as it occurred in training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number
from labelweave._common.presets import Preset, Presets, published
from labelweave.decision.probabilities import Scores, as_scores, check_scores, ranked_like
from labelweave.decision.rank_search import RankSearch, TiedRows, passes_over
from labelweave.decision.threshold_rule import Draw, HeldOut, ThresholdRule, ThresholdSurvey


@dataclass(frozen=True, eq=False)
class ClassMassNormalization(ThresholdRule):
    """Predict each label on the same share of test rows as had it in training (CMN).

    The rows with the highest scores get the label, as many as come closest to its training
    frequency; rows with equal scores get it together or not at all. Scores need not be calibrated:
    only their order matters. As published, with ``ClassMassNormalization.preset("published")``,
    the rule matches the frequency of every label: one that is expected on less than half a row is
    predicted on none.

    Parameters
    ----------
    rates : (L,) sequence of float, optional
        Share of the training rows that have each label. By default, the estimator that uses the
        rule provides it.
    fallback : float or None, default=0.5
        The threshold of labels that are expected on too few rows, see `least_rows`, in the units of
        the scores: 0.5 suits probabilities (also those that are held as log-odds, as in the
        estimators of P(y|x)), 0 decision values. If None, their frequency is matched all the same.
    least_rows : float, default=2.0
        A label expected on m test rows is on none of them with probability exp(-m), and then any
        row that gets it is wrong. A label that was not constant in training and is expected on
        fewer rows than this (or on all but fewer) has the `fallback` as its threshold.

    Examples
    --------
    >>> rule = ClassMassNormalization(rates=[0.5])
    >>> rule.label([[0.1], [0.4], [0.2], [0.3]]).ravel()
    array([0, 1, 0, 1], dtype=int8)

    One row cannot show a frequency:

    >>> ClassMassNormalization(rates=[0.01]).thresholds([[0.7]])
    array([0.5])
    """

    preset = Preset()
    presets: ClassVar[Presets] = published(fallback=None)

    rates: Sequence[float] | Floats | None = None
    fallback: float | None = 0.5
    least_rows: float = 2.0

    def __post_init__(self) -> None:
        """Check what can be checked before there are scores."""
        check_number(self.least_rows, "least_rows", minimum=0, finite=False)
        if self.fallback is not None:
            check_number(self.fallback, "fallback", finite=False, otherwise="None")

    def informed(
        self, rates: npt.ArrayLike, held_out: HeldOut | None = None
    ) -> ClassMassNormalization:
        """Return the rule with the training frequencies, unless it was given its own."""
        del held_out
        return self if self.rates is not None else replace(self, rates=np.asarray(rates))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the thresholds that match the training frequencies, (L,)."""
        del draw
        rates = self._rates(check_scores(scores).shape[1])
        search = RankSearch.of(rates, self._cut, passes=1)
        return search.conclude(search.summary(as_scores(scores))).thresholds()

    def survey(self, n_labels: int, n_rows: int | None = None) -> ThresholdSurvey:
        """Return a search for the ranks of the training frequencies."""
        return RankSearch.of(self._rates(n_labels), self._cut, passes_over(n_rows, n_labels))

    def _rates(self, n_labels: int) -> Floats:
        if self.rates is None:
            raise ValueError(
                "ClassMassNormalization needs rates=, the share of training rows with each label"
            )
        rates = np.asarray(self.rates, dtype=np.float64)
        if rates.shape != (n_labels,):
            raise ValueError(
                f"rates must be one number for each of the {n_labels} labels; "
                f"got shape {rates.shape}"
            )
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"rates must lie between 0 and 1; got {rates}")
        return rates

    def _cut(self, rate: float, n_rows: int, tied: TiedRows, kind: Scores) -> float:
        """Return the threshold of a label; the rank its frequency calls for is among `tied`."""
        expected = rate * n_rows
        # Rates are quotients: exactly two rows may come out as a little less.
        too_few = min(expected, n_rows - expected) < self.least_rows * (1 - 1e-9)
        if too_few and 0 < rate < 1 and self.fallback is not None:
            return float(ranked_like(kind, self.fallback))
        if rate == 1:  # an empty test set has no cut that tells all from none
            return -np.inf
        return tied.nearest_cut(expected, n_rows)
