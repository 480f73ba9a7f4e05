"""Chains with evidence.

Evidence clamps labels: the conditionals of clamped labels become weights, and only their
*ancestors*, the labels they depend on, have to be summed over to normalise. All other labels are
still drawn one after the other. So conditioning is exact while at most 16 unknown labels are
ancestors of the evidence, and uses populations of weighted prefixes beyond.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import expit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.seeds import derive_seed
from labelweave.joint.base import JointDistribution
from labelweave.joint.chain.form import ChainForm
from labelweave.joint.chain.population import population_sizes
from labelweave.joint.enumeration import MAX_ENUMERATED, Enumeration, patterns, row_blocks
from labelweave.joint.estimate import Estimate, log_mean, normalised_weights, resample

# Weighted vectors that stand for the ancestors of the evidence when these are too many for a table.
POOL_SIZE = 1024


class ConditionedChain(ChainForm):
    """A chain that can be conditioned, and drawn from whatever is known."""

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        merged = np.where(known >= 0, known, self._known)
        contradiction = ((self._known >= 0) & (merged != self._known)).any(axis=1)
        joint = self._log_evidence(merged)
        value = np.where(contradiction, -np.inf, joint.value - self._normaliser.value)
        error = np.hypot(joint.standard_error, self._normaliser.standard_error)
        return Estimate(value, error, joint.exact & self._normaliser.exact)

    def _log_evidence(self, known: Labels) -> Estimate:
        """Log-probability of clamped labels before conditioning."""
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for rows, unknown in patterns(known):
            order = self._ancestors(np.flatnonzero(~unknown))
            free = np.sort(order[unknown[order]])
            exact[rows] = len(free) <= MAX_ENUMERATED
            for block in row_blocks(len(rows), self._ancestor_cells(len(free))):
                at = rows[block]
                part = self[at]
                if exact[at].all():
                    value[at] = logsumexp(part._log_joint_table(known[at], free, order), axis=1)
                else:
                    found = part._populate(
                        known[at], order, population_sizes(POOL_SIZE), seed=0, vectors=False
                    )
                    value[at], error[at] = log_mean(found.log_evidence)
        return Estimate(value, error, exact)

    def _ancestor_cells(self, n_free: int) -> int:
        """Numbers a row needs to deal with the unknown ancestors of its evidence."""
        return 2**n_free if n_free <= MAX_ENUMERATED else POOL_SIZE * self.n_labels

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        posterior = self[:]
        posterior._known = np.where(known >= 0, known, self._known)
        value = np.where(np.isfinite(log_prob.value), log_prob.value, 0.0) + self._normaliser.value
        posterior._normaliser = Estimate(value, log_prob.standard_error, log_prob.exact)
        return posterior

    def near_power(self, exponent: float) -> Self:
        """Return the chain of powers of the conditionals, each normalised on its own.

        P(y)^e is that chain times the product of the conditionals' normalisers, which depend on the
        labels only a little.
        """
        chain = self._scaled(exponent)
        chain._normaliser = chain._log_evidence(self._known)
        return chain

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        labels = np.repeat(self._known[:, None, :], k, axis=1)
        for rows, unknown in patterns(self._known):
            order = self._ancestors(np.flatnonzero(~unknown))
            free = np.sort(order[unknown[order]])
            if len(free):
                labels[rows] = self._draw_ancestors(rows, free, order, k, seed)
        self._complete(labels, seed)
        return labels

    def _draw_ancestors(
        self, rows: Indices, free: Indices, order: Indices, k: int, seed: int
    ) -> Labels:
        """Posterior draws of the unknown ancestors of the evidence; -1 for the other labels."""
        draws = np.empty((len(rows), k, self.n_labels), dtype=np.int8)
        enumerable = len(free) <= MAX_ENUMERATED
        for block in row_blocks(len(rows), max(self._ancestor_cells(len(free)), k)):
            part = self[rows[block]]
            # The ancestral step never draws these labels, so the number of one of them is free.
            uniform = part._uniform(seed, k, int(free[0]))
            if enumerable:
                table = part._log_joint_table(part._known, free, order)
                table -= logsumexp(table, axis=1, keepdims=True)
                draws[block] = Enumeration(table, free, part._known).draw(uniform)
            else:
                found = part._populate(
                    part._known, order, population_sizes(POOL_SIZE), derive_seed(seed, 1)
                )
                pool, log_weight = found.pooled()
                draws[block] = resample(pool, normalised_weights(log_weight), uniform)
        outside = np.setdiff1d(np.arange(self.n_labels), order)
        draws[:, :, outside] = -1
        return draws

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        log_weight = np.zeros((self.n_rows, k))
        if self._normaliser.exact.all():
            return self._sample(k, seed), log_weight
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        exact, rest = self[self._normaliser.exact], self[~self._normaliser.exact]
        labels[self._normaliser.exact] = exact._sample(k, seed)
        weighted = np.repeat(rest._known[:, None, :], k, axis=1)
        log_weight[~self._normaliser.exact] = rest._complete(weighted, seed)
        labels[~self._normaliser.exact] = weighted
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given the earlier labels, or where evidence depends on the label, given all others."""
        probability = np.asarray(expit(self._prefix_log_odds(labels)))
        for rows, unknown in patterns(self._known):
            ancestors = self._ancestors(np.flatnonzero(~unknown))
            free = ancestors[unknown[ancestors]]
            if len(free):
                full = self[rows]._full_conditionals(labels[rows], free)
                probability[np.ix_(rows, np.arange(labels.shape[1]), free)] = full
        return probability

    def _full_conditionals(self, labels: Labels, which: Indices) -> Floats:
        """Probabilities (n, k, w) of some labels, each given all other labels of the draws."""
        return np.asarray(expit(self._full_log_odds(labels, which)))
