"""The labels of a test set with the highest expected F1, by samples of the model's posterior.

Section 4 of the BOMC paper. Every sample is one model, hence one labelling of the whole test set;
three counts per label, gathered in one pass over the rows, give the F1 of every candidate threshold
against every sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Counts, Floats, Indices
from labelweave._common.checks import check_number, check_whole_number
from labelweave.decision.probabilities import Scores, check_probabilities
from labelweave.decision.threshold_rule import Draw, ThresholdRule, ThresholdSurvey


@dataclass(frozen=True, eq=False)
class SampledF(ThresholdRule):
    """The threshold with the highest expected F_β over samples of the model.

    Unlike `ExpectedF`, it respects that all test rows are labelled by one and the same unknown
    model: their labels depend on each other. The test set can be a stream, see `F1Statistics`.

    Parameters
    ----------
    samples : int, default=5
        Number S of labellings drawn from the model.
    grid : int or sequence of float, default=20
        The candidate thresholds: their number G, evenly spread over (0, 1), or themselves.
    beta : float, default=1.0
        How many times as much recall counts as precision.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.array([[2.0], [1.0], [-1.0], [-4.0]]))
    >>> SampledF(samples=50)(joint).ravel()
    array([1, 1, 0, 0], dtype=int8)
    """

    needs_draws: ClassVar[bool] = True
    needs_probabilities: ClassVar[bool] = True

    samples: int = 5
    grid: int | Sequence[float] | Floats = 20
    beta: float = 1.0

    def statistics(self, n_labels: int) -> F1Statistics:
        """Return empty counts, to be filled batch by batch."""
        return F1Statistics(n_labels, self.samples, self.grid)

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Floats:
        """Return the candidates with the highest expected F, (L,)."""
        values = check_probabilities(scores)
        survey = _CountsSurvey(self, values.shape[1])
        return survey.summary(values, draw).thresholds(self.beta)

    def survey(self, n_labels: int, n_rows: int | None = None) -> ThresholdSurvey:
        """Return a survey that adds up the counts of all parts."""
        del n_rows
        return _CountsSurvey(self, n_labels)


@dataclass(frozen=True, eq=False)
class _CountsSurvey:
    """One pass that counts, as a `ThresholdSurvey`."""

    rule: SampledF
    n_labels: int
    counts: F1Statistics | None = None

    @property
    def passes(self) -> int:
        return int(self.counts is None)

    @property
    def finished(self) -> bool:
        return self.counts is not None

    def summary(self, scores: Scores, draw: Draw | None = None) -> F1Statistics:
        if draw is None:
            raise ValueError(
                "SampledF needs draw=, labellings of the test rows drawn from the model; "
                "ExpectedF does with the scores alone"
            )
        counts = self.rule.statistics(self.n_labels)
        labellings = [np.asarray(labels) for labels in draw(self.rule.samples)]
        counts.update(scores, np.stack(labellings))
        return counts

    def merge(self, summaries: Sequence[F1Statistics]) -> F1Statistics:
        counts = self.rule.statistics(self.n_labels)
        for summary in summaries:
            counts.add(summary)
        return counts

    def conclude(self, summary: F1Statistics) -> _CountsSurvey:
        return replace(self, counts=summary)

    def thresholds(self) -> Floats:
        counts = self.rule.statistics(self.n_labels) if self.counts is None else self.counts
        return counts.thresholds(self.rule.beta)


class F1Statistics:
    """The counts α, β, γ of sampled labellings against candidate thresholds, over a stream.

    For label c, sample s and candidate θ_g: α = rows with the label in the sample and a score above
    θ_g, β = rows with the label in the sample, γ = rows with a score above θ_g. They are whole
    numbers: neither the order of rows nor how they are batched matters.

    Parameters
    ----------
    n_labels : int
        Number L of labels.
    samples : int, default=5
        Number S of labellings.
    grid : int or sequence of float, default=20
        Number of candidates, evenly spread over (0, 1), or the candidates themselves.

    Attributes
    ----------
    grid : (G,) array
        The candidates, ascending.
    alpha : (L, S, G) array of int64
    beta : (L, S) array of int64
    gamma : (L, G) array of int64

    Examples
    --------
    >>> counts = F1Statistics(n_labels=1, samples=1, grid=[0.2, 0.5, 0.8])
    >>> counts.update([[0.9], [0.6]], [[[1], [1]]])  # sample 0 has the label on both rows
    >>> counts.update([[0.3]], [[[0]]])
    >>> counts.expected_f1()
    array([[0.8       , 1.        , 0.66666667]])
    >>> counts.thresholds()
    array([0.5])
    """

    def __init__(
        self, n_labels: int, samples: int = 5, grid: int | Sequence[float] | Floats = 20
    ) -> None:
        samples = check_whole_number(samples, "samples")
        self.grid = _candidates(grid)
        self.alpha = np.zeros((n_labels, samples, len(self.grid)), dtype=np.int64)
        self.beta = np.zeros((n_labels, samples), dtype=np.int64)
        self.gamma = np.zeros((n_labels, len(self.grid)), dtype=np.int64)

    def update(self, scores: npt.ArrayLike, sampled_labels: npt.ArrayLike) -> None:
        """Count a batch of rows.

        Parameters
        ----------
        scores : (n, L) array
            Probabilities of the rows.
        sampled_labels : (S, n, L) array of 0/1
            Their labels in each sample; sample s is the same model in every batch.
        """
        values = check_probabilities(scores)
        drawn = np.asarray(sampled_labels)
        n_labels, n_samples, _ = self.alpha.shape
        if values.shape[1] != n_labels or drawn.shape != (n_samples, *values.shape):
            raise ValueError(
                f"sampled_labels must have shape ({n_samples}, n, {n_labels}) and scores "
                f"(n, {n_labels}); got {drawn.shape} and {values.shape}"
            )
        if not np.isin(drawn, (0, 1)).all():
            raise ValueError("sampled_labels must be 0 or 1")
        # How many candidates are below a score; beside it, a place for each label.
        below = np.searchsorted(self.grid, values, side="left")
        place = below + np.arange(n_labels) * (len(self.grid) + 1)
        self.gamma += self._above(place.ravel())
        for s, labels in enumerate(drawn.astype(np.bool_)):
            self.alpha[:, s] += self._above(place[labels])
            self.beta[:, s] += labels.sum(axis=0)

    def add(self, other: F1Statistics) -> None:
        """Count the rows that another one of the same samples and candidates has counted."""
        self.alpha += other.alpha
        self.beta += other.beta
        self.gamma += other.gamma

    def _above(self, places: Indices) -> Counts:
        """Count the rows above each candidate, (L, G)."""
        n_labels, n_candidates = self.gamma.shape
        counts = np.bincount(places, minlength=n_labels * (n_candidates + 1))
        counts = counts.reshape(n_labels, n_candidates + 1)
        return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, -2::-1])

    def expected_f1(self, beta: float = 1.0) -> Floats:
        """Return the mean F_β over the samples, (L, G); no labels where there are none count 1."""
        check_number(beta, "beta", above=0, finite=False)
        both = beta**2 * self.beta[:, :, None] + self.gamma[:, None, :]
        found = (1 + beta**2) * self.alpha
        return np.asarray(np.where(both == 0, 1.0, found / np.where(both == 0, 1.0, both)).mean(1))

    def thresholds(self, beta: float = 1.0) -> Floats:
        """Return the best candidate of each label, (L,); among equals the highest."""
        expected = self.expected_f1(beta)
        best = expected.shape[1] - 1 - np.argmax(expected[:, ::-1], axis=1)
        return np.asarray(self.grid[best])


def _candidates(grid: int | Sequence[float] | Floats) -> Floats:
    if np.ndim(grid) == 0:
        size = check_whole_number(grid, "grid", otherwise="the candidates")
        return (np.arange(size) + 0.5) / size
    candidates = np.unique(np.asarray(grid, dtype=np.float64))
    if candidates.ndim != 1 or not len(candidates) or not np.isfinite(candidates).all():
        raise ValueError(f"grid must be a number of candidates or the candidates; got {grid!r}")
    return candidates
