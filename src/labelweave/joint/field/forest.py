"""Forests in fields: the strongest one, and a field over a forest as a tree of labels."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    minimum_spanning_tree,
)

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.tree.parents import children_first


def is_forest(coupling: Floats) -> bool:
    """Whether no cycle of labels is coupled: edges + components = labels."""
    n_components = int(connected_components(csr_array(coupling), directed=False)[0])
    n_edges = int(np.count_nonzero(np.triu(coupling, 1)))
    return n_edges + n_components == len(coupling)


def strongest_forest(coupling: Floats) -> Indices:
    """Parents of the spanning forest with the largest sum of absolute couplings; -1 for a root."""
    # The lightest tree of negative weights is the heaviest; zero means no edge, as it should.
    tree = minimum_spanning_tree(csr_array(-np.abs(np.triu(coupling, 1))))
    parents = np.full(len(coupling), -1, dtype=np.int64)
    component = connected_components(tree, directed=False)[1]
    for root in np.unique(component, return_index=True)[1]:
        reached, before = breadth_first_order(tree, root, directed=False)
        parents[reached[1:]] = before[reached[1:]]
    return parents


def edges_of(parents: Indices) -> Floats:
    """(L, L) symmetric 0/1 mask of the edges of a forest."""
    mask = np.zeros((len(parents), len(parents)))
    children = np.flatnonzero(parents >= 0)
    mask[children, parents[children]] = mask[parents[children], children] = 1.0
    return mask


def tree_logits(scores: Floats, coupling: Floats, parents: Indices, known: Labels) -> Floats:
    """Log-odds (n, L, 2) of the tree of labels that a field over a forest is.

    Children are summed out from the leaves up. A child with log-odds a, its own children summed
    out, multiplies the odds of its parent by (1 + e^(a + v)) / (1 + e^a). A known label is already
    in the scores of its neighbours and takes no part.
    """
    free = known < 0
    log_odds = scores.copy()
    logits = np.empty((*scores.shape, 2))
    for label in children_first(parents):
        parent = parents[label]
        own = log_odds[:, label]
        v = np.zeros(len(scores))
        if parent >= 0:
            v = coupling[label, parent] * (free[:, label] & free[:, parent])
            log_odds[:, parent] += np.logaddexp(0.0, own + v) - np.logaddexp(0.0, own)
        logits[:, label, 0], logits[:, label, 1] = own, own + v
    certain = np.where(known == 1, np.inf, -np.inf)
    return np.where(free[:, :, None], logits, certain[:, :, None])
