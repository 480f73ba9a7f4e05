"""Mixtures with evidence: components are weighed by how well they predicted it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Labels
from labelweave.joint.base import JointDistribution
from labelweave.joint.capabilities import HasClosedMode, near_power
from labelweave.joint.estimate import Estimate
from labelweave.joint.mixture.form import MixtureForm


class ConditionedMixture(MixtureForm):
    """A mixture that can be conditioned."""

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        parts = [component._evidence_log_prob(known) for component in self.components]
        value = self._mixed([part.value for part in parts])
        responsibility = np.exp(self._log_responsibilities([part.value for part in parts]))
        error = np.stack([part.standard_error for part in parts], axis=1)
        exact = np.asarray(np.stack([part.exact for part in parts]).all(axis=0))
        return Estimate(value, np.sqrt(((responsibility * error) ** 2).sum(axis=1)), exact)

    def _log_responsibilities(self, log_probs: Sequence[Floats]) -> Floats:
        """Posterior log-weights (n, K) after evidence of these log-probabilities."""
        log_joint = self._log_weights() + np.stack(log_probs, axis=1)
        total = logsumexp(log_joint, axis=1, keepdims=True)
        return np.where(np.isfinite(total), log_joint - np.where(np.isfinite(total), total, 0.0), 0)

    def near_power(self, exponent: float) -> Self:
        """Return the mixture of the components' powers, each with its part of Σ_k Σ_y (λ_k P_k)^e.

        It differs from P(y)^e, for K components, by a factor of at most K^|1−e|: for e < 1,
        K^(e−1) Σ_k a_k^e ≤ (Σ_k a_k)^e ≤ Σ_k a_k^e, and the other way round for e > 1.
        """
        mixture = self[:]
        mixture.components = tuple(near_power(part, exponent) for part in self.components)
        parts = zip(self.components, mixture.components, strict=True)
        log_parts = [_log_power_sum(part, power, exponent) for part, power in parts]
        log_weights = exponent * self._log_weights() + np.stack(log_parts, axis=1)
        mixture.weights = np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True))
        mixture._log_weight_error = np.zeros_like(mixture.weights)
        return mixture

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        parts = [component._evidence_log_prob(known) for component in self.components]
        posterior = self[:]
        weights = np.exp(self._log_responsibilities([part.value for part in parts]))
        posterior.weights = weights / weights.sum(axis=1, keepdims=True)
        errors = np.stack([part.standard_error for part in parts], axis=1)
        posterior._log_weight_error = np.hypot(self._log_weight_error, errors)
        posterior.components = tuple(
            component._condition(known, part)
            for component, part in zip(self.components, parts, strict=True)
        )
        return posterior


def _log_power_sum(part: JointDistribution, power: JointDistribution, exponent: float) -> Floats:
    """Return log Σ_y P(y)^e by a probable vector: exact if ``power`` is P^e, else about right."""
    mode = part.closed_mode() if isinstance(part, HasClosedMode) else part.greedy_mode()
    return exponent * part._log_prob(mode.labels) - power._log_prob(mode.labels)
