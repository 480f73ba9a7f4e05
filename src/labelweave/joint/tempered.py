"""TemperedJoint: P(y)^(1/T), normalised, of forms whose powers have another form."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_number, check_whole_number, derive_seed
from labelweave.joint.capabilities import near_power
from labelweave.joint.distribution import JointDistribution
from labelweave.joint.enumeration import MAX_ENUMERATED, log_sums, row_blocks, tables
from labelweave.joint.quantities import (
    Estimate,
    full_log_odds,
    mean_from_draws,
    normalised_weights,
    resample,
)
from labelweave.joint.results import Found


class TemperedJoint(JointDistribution):
    """P_T(y) ∝ P(y)^(1/T): flatter than P if T > 1, sharper if T < 1, and in the same order.

    `JointDistribution.tempered` returns it for chains and mixtures; other forms stay what they are.
    The mode and the most probable vectors are those of the base P, found by its searches. While at
    most 16 labels are unknown, all else is exact. Beyond that, the normaliser is estimated by
    ``samples`` weighted draws for each row (docs/design/math.md, section 14).
    """

    exact_powers: ClassVar[bool] = True

    def __init__(self, base: JointDistribution, temperature: float, *, samples: int = 1024) -> None:
        self.base = base
        self.temperature = check_number(temperature, "temperature", above=0)
        self.samples = check_whole_number(samples, "samples", 2)
        super().__init__(base.n_rows, base.n_labels, **base._rows())
        self._normaliser: Estimate | None = None

    @property
    def exponent(self) -> float:
        """1/T."""
        return 1.0 / self.temperature

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.base = self.base[index]
        if self._normaliser is not None:
            part._normaliser = self._normaliser[index]
        return part

    def with_row_ids(self, row_ids: npt.ArrayLike | None) -> Self:
        """Return the same distributions with other row ids, also in the base."""
        joint = super().with_row_ids(row_ids)
        joint.base = self.base.with_row_ids(row_ids)
        joint._normaliser = None
        return joint

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self.base.known

    def power(self, exponent: float) -> JointDistribution:
        """Return the base at another temperature."""
        return self.base.tempered(self.temperature / exponent, samples=self.samples)

    # ------------------------------------------------------------------ normaliser

    def log_normaliser(self) -> Estimate:
        """Log of Σ_y P(y)^(1/T), with its standard error; zero where it is exact."""
        if self._normaliser is None:
            self._normaliser = self._log_normaliser()
        return self._normaliser

    def _log_normaliser(self) -> Estimate:
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = self.n_unknown <= MAX_ENUMERATED
        few = np.flatnonzero(exact)
        for rows, table in tables(self.base[few]):
            value[few[rows]] = log_sums(self.exponent * table.log_table)[:, 0]
        for rows in self._blocks_of_many(self.samples):
            value[rows], error[rows] = self[rows]._estimated_normaliser()
        return Estimate(value, error, exact)

    def _estimated_normaliser(self) -> tuple[Floats, Floats]:
        """Return the mean of P(y)^(1/T) / q(y) over draws from q, in logarithms."""
        proposal = near_power(self.base, self.exponent)
        labels, log_weight = proposal._weighted_sample(self.samples, derive_seed(0, 1))
        log_ratio = self._log_ratio(proposal, labels)
        peak = log_ratio.max(axis=1)
        possible = np.isfinite(peak)
        peak = np.where(possible, peak, 0.0)
        ratio = np.exp(log_ratio - peak[:, None])
        mean, error = mean_from_draws(ratio, normalised_weights(log_weight))
        # Where every draw contradicts what is known, nothing is learned about the normaliser.
        mean, error = np.where(possible, mean, 1.0), np.where(possible, error, np.inf)
        return peak + np.log(mean), np.hypot(error / mean, proposal.log_prob_error())

    def _log_ratio(self, proposal: JointDistribution, labels: Labels) -> Floats:
        """Return log P(y)^(1/T) − log q(y) of (n, k, L) draws from q."""
        target = self.exponent * self.base._log_prob(labels)
        drawn = proposal._log_prob(labels)
        return np.where(np.isfinite(drawn), target, -np.inf) - np.where(
            np.isfinite(drawn), drawn, 0.0
        )

    def _blocks_of_many(self, k: int) -> list[Indices]:
        """Return the rows that have too many unknown labels for a table, in blocks for k draws."""
        many = np.flatnonzero(self.n_unknown > MAX_ENUMERATED)
        # Probabilities of draws are computed for rows that are repeated, with their scores.
        return [many[block] for block in row_blocks(len(many), 8 * k * self.n_labels)]

    # ------------------------------------------------------------------ probabilities

    def _tempered(self, log_prob: Floats) -> Floats:
        """Log-probabilities (n, ...) of the base as those of this distribution."""
        normaliser = self.log_normaliser().value
        return self.exponent * log_prob - normaliser.reshape((-1,) + (1,) * (log_prob.ndim - 1))

    def _log_prob(self, vectors: Labels) -> Floats:
        return self._tempered(self.base._log_prob(vectors))

    def _table(self, free: Indices) -> Floats:
        table = self.exponent * self.base._table(free)
        table -= log_sums(table)
        return table

    def log_prob_error(self) -> Floats:
        """Return the standard error of the normaliser, and of the base's where it has one, (n,)."""
        of_base = self.exponent * self.base.log_prob_error()
        return np.asarray(np.hypot(of_base, self.log_normaliser().standard_error))

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        draws = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        few = np.flatnonzero(self.n_unknown <= MAX_ENUMERATED)
        uniform = self._uniform(seed, k, 0)
        for rows, table in tables(self[few]):
            draws[few[rows]] = table.draw(uniform[few[rows]])
        for rows in self._blocks_of_many(self.samples):
            pool, log_weight = self[rows]._pool(self.samples, seed)
            draws[rows] = resample(pool, normalised_weights(log_weight), uniform[rows])
        return draws

    def _pool(self, k: int, seed: int) -> tuple[Labels, Floats]:
        """Weighted draws of rows that have too many unknown labels for a table."""
        proposal = near_power(self.base, self.exponent)
        labels, log_weight = proposal._weighted_sample(k, derive_seed(seed, 1))
        return labels, log_weight + self._log_ratio(proposal, labels)

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        log_weight = np.zeros((self.n_rows, k))
        few = self.n_unknown <= MAX_ENUMERATED
        labels[few] = self[few]._sample(k, seed)
        for rows in self._blocks_of_many(k):
            labels[rows], log_weight[rows] = self[rows]._pool(k, seed)
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given all other labels of the draw."""
        every = np.arange(self.n_labels, dtype=np.int64)
        return np.asarray(expit(self.exponent * full_log_odds(self.base, labels, every)))

    # ------------------------------------------------------------------ search

    @property
    def ranks_like(self) -> JointDistribution:
        """The base: all powers of a distribution have the same order of vectors."""
        return self.base.ranks_like

    def restated(self, found: Found) -> Found:
        """Return what the base found with probabilities of this distribution."""
        found = self.base.restated(found)
        return replace(
            found,
            log_prob=self._tempered(found.log_prob),
            upper_bound=self._tempered(found.upper_bound),
        )

    # ------------------------------------------------------------------ Bayes' rule

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        """Return the power of the base's posterior, and log P(e) / T + log Z(given e) − log Z.

        What is not exact about P(e) cancels: the posterior is divided by the same number.
        """
        posterior = self._copy()
        posterior.base, of_base = self.base._clamp(known)
        posterior._normaliser = None
        possible = np.isfinite(of_base.value)
        nothing_new = ((known < 0) | (known == self.known)).all(axis=1)
        before, after = self.log_normaliser(), posterior.log_normaliser()
        evidence = np.where(possible, self.exponent * of_base.value, -np.inf)
        value = np.where(nothing_new, 0.0, np.minimum(evidence + after.value - before.value, 0.0))
        error = np.where(nothing_new, 0.0, np.hypot(before.standard_error, after.standard_error))
        exact = nothing_new | (before.exact & after.exact) | ~possible
        return posterior, Estimate(value, error, exact)
