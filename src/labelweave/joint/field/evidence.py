"""Fields with evidence: a posterior is a field again.

A known label moves into the scores of the labels coupled to it. The probability of the evidence e
is the ratio of two normalisers: log P(e) = energy(e) + log Z(given e) − log Z.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from labelweave._common.arrays import Labels
from labelweave.joint.base import JointDistribution
from labelweave.joint.estimate import Estimate
from labelweave.joint.field.form import FieldForm


class ConditionedField(FieldForm):
    """A field that can be conditioned."""

    def _clamped(self, known: Labels) -> Self:
        """Return the field of the other labels once ``known`` are known, its normaliser open."""
        posterior = self[:]
        fresh = (known >= 0) & (self._known < 0)
        scores = self.scores.copy()
        for label in range(self.n_labels):
            positive = fresh[:, label] & (known[:, label] == 1)
            scores += positive[:, None] * self.coupling[label]
        posterior.scores = scores
        posterior._known = np.where(self._known >= 0, self._known, known)
        posterior._normaliser = None
        return posterior

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        posterior = self._clamped(known).log_normaliser()
        prior = self.log_normaliser()
        given = self._energy(np.maximum(known, 0)[:, None, :])[:, 0]
        contradiction = ((self._known >= 0) & (known >= 0) & (known != self._known)).any(axis=1)
        nothing_new = ((known < 0) | (self._known >= 0)).all(axis=1)
        value = np.where(nothing_new, 0.0, given + posterior.value - prior.value)
        value = np.where(contradiction, -np.inf, np.minimum(value, 0.0))
        error = np.hypot(posterior.standard_error, prior.standard_error)
        return Estimate(
            value, np.where(nothing_new, 0.0, error), nothing_new | (posterior.exact & prior.exact)
        )

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        return self._clamped(known)
