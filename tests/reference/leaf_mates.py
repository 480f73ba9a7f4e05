"""The label vectors of leaf mates by loops over rows, trees and training rows."""

import numpy as np


def shares(leaves, place, weight, n_vectors, asked):
    """Average over trees of each vector's share of the weight in the leaf of each asked row."""
    out = np.zeros((len(asked), n_vectors))
    n_trees = leaves.shape[1]
    for i, row in enumerate(asked):
        for tree in range(n_trees):
            mates = [m for m in range(len(leaves)) if leaves[m, tree] == row[tree]]
            total = sum(weight[m] for m in mates)
            for mate in mates:
                out[i, place[mate]] += weight[mate] / total / n_trees
    return out


def shares_without(leaves, unseen, place, weight, n_vectors):
    """For each training row: the same by the trees that have not seen it, and without the row."""
    out = np.full((len(leaves), n_vectors), np.nan)
    for i, row in enumerate(leaves):
        trees = np.flatnonzero(unseen[i])
        if len(trees) == 0:
            continue
        others = np.arange(len(leaves)) != i
        out[i] = shares(
            leaves[others][:, trees], place[others], weight[others], n_vectors, row[None, trees]
        )[0]
    return out
