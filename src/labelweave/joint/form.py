"""What a form of joint distribution has to provide, and what it may."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint import quantities
from labelweave.joint.batch import Batch
from labelweave.joint.enumeration import MAX_ENUMERATED
from labelweave.joint.estimate import Estimate, Quantity

if TYPE_CHECKING:
    from labelweave.joint.base import JointDistribution


class JointForm(Batch, ABC):
    """The side of a joint distribution that a form implements; users see `JointDistribution`.

    A new form derives from `JointDistribution` and **must** implement

    - ``_take(index)``: call super, then select the rows of its own arrays;
    - ``_log_prob(Y)``, ``_sample(k, seed)`` and ``_log_table(free)``: the distribution itself;
    - ``_evidence_log_prob(known)``, ``_condition(known, log_prob)`` and the property ``known``: its
      posterior.

    That is enough for every query, and for every strategy while few labels are unknown. To be fast,
    or exact where enumeration is out of reach, it **may** override

    - ``_is_exact`` and ``_exact``: quantities by a formula; ``_marginal_log_odds`` beside them;
    - `log_prob_error`, if its normaliser is estimated;
    - ``_log_prob_of_draws``, ``_weighted_sample``, ``_conditionals``, ``_full_log_odds`` and
      ``_from_draws`` (with ``_cells_per_row``): better estimates;
    - ``greedy_mode``, ``exhaustive_mode``, ``greedy_path`` and ``_top`` of `JointDistribution`.

    And it **may** provide any of the capabilities in `labelweave.joint.capabilities`: by these,
    never by the class, strategies decide what they run.
    """

    # ------------------------------------------------------------------ what a form must provide

    @abstractmethod
    def _log_prob(self, Y: Labels) -> Floats:
        """Log-probability of the checked (n, L) label vectors."""

    @abstractmethod
    def _sample(self, k: int, seed: int) -> Labels:
        """(n, k, L) draws."""

    @abstractmethod
    def _evidence_log_prob(self, known: Labels) -> Estimate:
        """Log-probability that the labels take the values in ``known`` (-1: any)."""

    @abstractmethod
    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        """Return the posterior given ``known``, whose log-probability is ``log_prob``.

        Rows whose evidence is impossible may become anything valid: the caller refuses or ignores
        them.
        """

    @abstractmethod
    def _log_table(self, free: Indices) -> Floats:
        """(n, 2^f) log-probabilities of the values of ``free``; all other labels are known."""

    # ------------------------------------------------------------------ what a form may provide

    def log_prob_error(self) -> Floats:
        """Return the standard error of `log_prob` itself, (n,).

        Zero unless the normaliser had to be estimated, as in chains conditioned on late labels and
        in fields with many labels.
        """
        return np.zeros(self.n_rows)

    def _is_exact(self, quantity: Quantity) -> Mask:
        """Rows whose quantity `_exact` can compute."""
        return np.asarray(self.n_unknown <= MAX_ENUMERATED)

    def _exact(self, quantity: Quantity) -> Floats:
        """Return the exact quantity of every row, by enumeration unless a form knows better."""
        return quantities.by_enumeration(self, quantity)

    def _marginal_log_odds(self) -> Floats:
        """Return the log-odds (n, L) of rows whose marginals `_exact` computes, by enumeration.

        A form that knows better subtracts log P(y_j = 0) from log P(y_j = 1): a marginal near 1 is
        rounded, and its logit with it.
        """
        return quantities.log_odds_by_enumeration(self)

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        """Draws and their (n, k) log-weights, for forms that cannot draw from themselves."""
        return self._sample(k, seed), np.zeros((self.n_rows, k))

    def _from_draws(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        """Estimate a quantity from about k draws per row; return it with its standard error."""
        return quantities.from_weighted_draws(self, quantity, k, seed)

    def _cells_per_row(self, quantity: Quantity, k: int) -> int:
        """Return about how many numbers `_from_draws` holds per row: blocks of rows are cut by it.

        A conditional probability takes eight times the room of the label it stands for.
        """
        drawn = k * self.n_labels * (9 if quantity == "marginals" else 1)
        return drawn + quantities.result_cells(quantity, self.n_labels)

    def _conditionals(self, labels: Labels) -> Floats:
        """Probabilities of the labels of (n, k, L) draws, each given some of the draw's others.

        Of a form whose conditionals are not known, the draws themselves: given all of its labels.
        """
        return labels.astype(np.float64)

    def _full_log_odds(self, labels: Labels, which: Indices) -> Floats:
        """Log-odds (n, k, w) of some labels, each given all other labels of the draws."""
        out = np.zeros((*labels.shape[:2], len(which)))
        present = self._log_prob_of_draws(labels)
        for i, label in enumerate(which):
            flipped = labels.copy()
            flipped[:, :, label] ^= 1
            other = self._log_prob_of_draws(flipped)
            # A draw that is impossible either way has no weight: any finite number will do.
            possible = np.isfinite(present) | np.isfinite(other)
            np.subtract(present, other, out=out[:, :, i], where=possible)
        return np.where(labels[:, :, which] == 1, out, -out)

    def _log_prob_of_draws(self, labels: Labels) -> Floats:
        """Log-probabilities (n, k) of checked (n, k, L) label vectors."""
        n, k, n_labels = labels.shape
        repeated = self[np.repeat(np.arange(n), k)]
        return repeated._log_prob(labels.reshape(n * k, n_labels)).reshape(n, k)
