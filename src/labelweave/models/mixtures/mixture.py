"""The parameters of a mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labelweave._common.arrays import Floats, Mask
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.mixtures.gate import Gate


@dataclass(frozen=True)
class Mixture:
    """Parameters of K components and their mixing weights.

    Attributes
    ----------
    parents : (K, L, L) bool array
        ``parents[k, j, i]``: label i is a parent of label j in component k.
    weights : (K, L, D) array
    intercept : (K, L) array
    coupling : (K, L, L) array
    gate : Gate
    """

    parents: Mask
    weights: Floats
    intercept: Floats
    coupling: Floats
    gate: Gate

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return len(self.parents)

    def conditionals(self, penalties: PenaltyChoice) -> list[LinearConditionals]:
        """Return the conditionals of every component."""
        return [
            LinearConditionals(
                self.weights[k],
                self.intercept[k],
                self.coupling[k],
                penalties.C,
                penalties.label_penalty,
            )
            for k in range(self.n_components)
        ]

    def replaced(self, other: Mixture, sources: Sequence[int]) -> Mixture:
        """Return a mixture with the parameters of component ``sources[k]`` of `other` for each k.

        Where that is -1 they stay. So do all structures and the gate.
        """
        source = np.asarray(sources)
        changed = np.flatnonzero(source >= 0)

        def put(here: Floats, there: Floats) -> Floats:
            merged = here.copy()
            merged[changed] = there[source[changed]]
            return merged

        return replace(
            self,
            weights=put(self.weights, other.weights),
            intercept=put(self.intercept, other.intercept),
            coupling=put(self.coupling, other.coupling),
        )

    def towards(self, other: Mixture, length: float) -> Mixture:
        """Return the parameters at 1 - length times these plus length times those of `other`."""

        def between(here: Floats, there: Floats) -> Floats:
            return here + length * (there - here)

        gate = replace(
            self.gate,
            weights=between(self.gate.weights, other.gate.weights),
            intercept=between(self.gate.intercept, other.gate.intercept),
        )
        return replace(
            self,
            weights=between(self.weights, other.weights),
            intercept=between(self.intercept, other.intercept),
            coupling=between(self.coupling, other.coupling),
            gate=gate,
        )
