"""Weighted draws from a field with cycles, by annealed importance sampling (Neal, 2001).

Draws begin in the strongest forest of the field, which can be sampled exactly. The couplings left
out are then turned on step by step: each step weighs a draw by what it changes and moves it by one
Gibbs sweep. The mean weight is the ratio of the two normalisers, without bias.
"""

from __future__ import annotations

import numpy as np

from labelweave.joint._checks import Floats, Labels, derive_seed
from labelweave.joint._field_tree import edges_of, strongest_forest, tree_logits
from labelweave.joint.tree import TreeJoint

# Steps in which the couplings outside the forest are turned on.
STEPS = 24


def forest_of(scores: Floats, coupling: Floats, known: Labels, **shared: object) -> TreeJoint:
    """Return the field without the couplings outside its strongest forest."""
    parents = strongest_forest(coupling)
    return TreeJoint(tree_logits(scores, coupling, parents, known), parents, **shared)  # type: ignore[arg-type]


def anneal(
    scores: Floats, coupling: Floats, forest: TreeJoint, known: Labels, k: int, seed: int
) -> tuple[Labels, Floats]:
    """Return (n, k, L) draws and their (n, k) log-weights, whose mean is Z / Z of the forest."""
    inside = edges_of(forest.parents) * coupling
    walk = _Walk(scores, inside, coupling - inside, known, forest.sample(k, seed))
    log_weight = np.zeros((len(scores), k))
    for step in range(1, STEPS + 1):
        log_weight += walk.outside_energy() / STEPS
        uniforms = forest._uniforms(derive_seed(seed, step), k, scores.shape[1])
        walk.sweep(uniforms, step / STEPS)
    return walk.labels, log_weight


class _Walk:
    """States of all draws, and what their labels add to the log-odds of each other.

    ``inside`` and ``outside`` are (n, k, L): the sums over positive neighbours within the forest
    and beyond it.
    """

    def __init__(
        self, scores: Floats, inside: Floats, outside: Floats, known: Labels, labels: Labels
    ) -> None:
        self.scores = scores
        self.couplings = (inside, outside)
        self.free = known < 0
        self.labels = labels
        self.inside, self.outside = (self._fields(coupling) for coupling in self.couplings)

    def _fields(self, coupling: Floats) -> Floats:
        out = np.zeros(self.labels.shape)
        for label in range(self.labels.shape[2]):
            active = self.labels[:, :, label] * self.free[:, None, label]
            out += active[:, :, None] * coupling[label]
        return out

    def outside_energy(self) -> Floats:
        """½ yᵀRy of the couplings R outside the forest, over labels that are not known."""
        active = self.labels * self.free[:, None, :]
        return np.asarray((active * self.outside).sum(axis=2) / 2)

    def sweep(self, uniforms: Floats, strength: float) -> None:
        """Draw every label anew given all others, the couplings outside at ``strength``."""
        logit = np.log(uniforms) - np.log1p(-uniforms)
        for label in range(self.labels.shape[2]):
            log_odds = self.scores[:, None, label] + self.inside[:, :, label]
            log_odds += strength * self.outside[:, :, label]
            old = self.labels[:, :, label]
            flips = ((logit[:, :, label] < log_odds) != (old == 1)) & self.free[:, None, label]
            at = np.nonzero(flips)
            sign = 1.0 - 2.0 * old[at]
            self.labels[(*at, label)] ^= 1
            self.inside[at] += sign[:, None] * self.couplings[0][label]
            self.outside[at] += sign[:, None] * self.couplings[1][label]
