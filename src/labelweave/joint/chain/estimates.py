"""Quantities of long chains, from populations of weighted prefixes."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Indices
from labelweave.joint.chain.evidence import ConditionedChain
from labelweave.joint.chain.population import Populations, population_sizes
from labelweave.joint.enumeration import MAX_ENUMERATED, patterns
from labelweave.joint.estimate import (
    Quantity,
    mean_from_draws,
    mean_of_replicates,
    moment,
    normalised_weights,
)


class EstimatedChain(ConditionedChain):
    """A chain whose quantities are estimated from populations where it is too long to enumerate.

    A population holds all heavy vectors and no vector twice, so it says more than as many draws.
    """

    def _from_draws(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        if self.n_rows == 0:
            return super()._from_draws(quantity, k, seed)
        parts = []
        for rows, unknown in patterns(self._known):
            ancestors = self._ancestors(np.flatnonzero(~unknown))
            n_free = int(unknown[ancestors].sum())
            # Populations meet the evidence behind its ancestors. Where it may contradict all that
            # they hold, but few enough ancestors are unknown, those are drawn from their posterior.
            if population_sizes(k)[1] < 2**n_free <= 2**MAX_ENUMERATED:
                part = super(EstimatedChain, self[rows])._from_draws(quantity, k, seed)
            else:
                part = self[rows]._from_populations(quantity, k, seed, ancestors)
            parts.append((rows, *part))
        value = np.empty((self.n_rows, *parts[0][1].shape[1:]))
        error = np.empty_like(value)
        for rows, part_value, part_error in parts:
            value[rows], error[rows] = part_value, part_error
        return value, error

    def _from_populations(
        self, quantity: Quantity, k: int, seed: int, ancestors: Indices
    ) -> tuple[Floats, Floats]:
        """Estimate a quantity of rows that share which labels are known."""
        order = np.concatenate([ancestors, self.order[~np.isin(self.order, ancestors)]])
        free = ancestors[self._known[0, ancestors] < 0]
        vectors = quantity != "marginals" or len(free) > 0
        found = self._populate(self._known, order, population_sizes(k), seed, vectors=vectors)
        # An event that no drawn prefix stands for may have about the probability of one of them.
        least = found.quantum.mean(axis=1) / found.quantum.shape[1]
        if quantity == "marginals":
            values = self._population_marginals(found, free)
        else:
            # Few of many labels are present: most cardinalities are met by no vector.
            n_sizes = int(found.labels.sum(axis=3, dtype=np.int64).max()) + 1
            values = np.stack(
                [
                    self._of_population(quantity, found, i, n_sizes)
                    for i in range(found.labels.shape[1])
                ],
                axis=1,
            )
        value, error = mean_of_replicates(values, found.log_evidence)
        if quantity in ("cardinality", "cardinality_by_label"):
            value, error = (_padded(part, self.n_labels + 1) for part in (value, error))
        if quantity == "entropy":
            return value, np.hypot(error, self.log_prob_error())
        least = least.reshape((-1,) + (1,) * (value.ndim - 1))
        value = np.minimum(value, 1.0)
        if quantity == "marginals":
            # A conditional probability is never 0 for want of draws: its spread is that of a label.
            least = least * np.sqrt(value * (1 - value))
        return value, np.maximum(error, least)

    def _population_marginals(self, found: Populations, free: Indices) -> Floats:
        """Marginals (n, r, L) of each population; ``free`` are unknown ancestors of the evidence.

        These were met before the evidence: they are averaged over the vectors left at the end.
        """
        if len(free) == 0:
            return found.marginals
        marginals = found.marginals.copy()
        for i in range(found.labels.shape[1]):
            probability = self._full_conditionals(found.labels[:, i], free)
            weight = normalised_weights(found.log_weight[:, i])
            marginals[:, i, free] = np.einsum("nk,nkl->nl", weight, probability)
        return marginals

    def _of_population(
        self, quantity: Quantity, found: Populations, i: int, n_sizes: int
    ) -> Floats:
        """Return a quantity by the vectors left in one population."""
        labels, weight = found.labels[:, i], normalised_weights(found.log_weight[:, i])
        if quantity == "entropy":
            log_prob = np.where(weight > 0, self._log_prob_of_draws(labels), 0.0)
            return mean_from_draws(-log_prob, weight)[0]
        if quantity != "pairwise":
            return moment(quantity, labels, weight, n_sizes)
        # The later label of a pair by its probability given the earlier ones, as in marginals.
        probability = self._conditionals(labels)
        both = (labels * weight[:, :, None]).transpose(0, 2, 1) @ probability
        position = np.argsort(self.order)
        both = np.where(position[:, None] < position, both, both.transpose(0, 2, 1))
        diagonal = np.arange(self.n_labels)
        both[:, diagonal, diagonal] = np.einsum("nk,nkl->nl", weight, probability)
        known = self._known >= 0
        both[:, diagonal, diagonal] = np.where(known, self._known, both[:, diagonal, diagonal])
        return both


def _padded(values: Floats, n_sizes: int) -> Floats:
    """Return values by cardinality with zeros for larger ones."""
    missing = n_sizes - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
