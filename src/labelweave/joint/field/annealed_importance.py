"""Weighted draws from a field with cycles, by annealed importance sampling (Neal, 2001).

Draws begin in the strongest forest of the field, which can be sampled exactly. The couplings left
out are then turned on step by step: each step weighs a draw by what it changes and moves it by one
Gibbs sweep. The mean weight is the ratio of the two normalisers, without bias.
"""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.seeds import derive_seed
from labelweave._core import native
from labelweave.joint.field.forest import edges_of, strongest_forest, tree_logits
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
    labels, log_weight = forest.sample(k, seed), np.empty((len(scores), k))
    seeds = np.array([derive_seed(seed, step) for step in range(STEPS)], dtype=np.uint64)
    native.field_anneal(
        scores,
        inside,
        coupling - inside,
        known,
        forest.row_ids,
        seeds,
        labels,
        log_weight,
        forest.n_threads,
    )
    return labels, log_weight
