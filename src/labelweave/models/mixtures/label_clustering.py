"""Cluster rows by their label vectors: where the components of a mixture start."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Labels, Positions

# Distinct label vectors that may become the first centre of a cluster: those of largest weight.
_CANDIDATES = 300
_ITERATIONS = 100


def cluster_label_vectors(labels: Labels, weight: Floats, n_clusters: int) -> tuple[Positions, int]:
    """Cluster rows by their label vectors (k-means), the cluster of largest weight first.

    Works on the distinct label vectors and their weights, from a deterministic initialisation: the
    result does not depend on the order of the rows, nor on whether rows are repeated or weighted.

    Returns the cluster of each row and the number of clusters, which is smaller than `n_clusters`
    if there are fewer distinct label vectors.

    Examples
    --------
    >>> labels = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=np.int8)
    >>> cluster_label_vectors(labels, np.ones(5), 2)
    (array([1, 0, 0, 1, 0]), 2)
    """
    vectors, member = np.unique(labels, axis=0, return_inverse=True)
    member = member.ravel()
    mass: Floats = np.bincount(member, weights=weight).astype(np.float64)
    points = vectors.astype(np.float64)
    cluster = _lloyd(points, mass, _greedy_centres(points, mass, min(n_clusters, len(points))))
    sizes = np.bincount(cluster, weights=mass)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    rank = np.zeros(len(sizes), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[cluster][member], len(order)


def initial_responsibilities(cluster: Positions, n_clusters: int) -> Floats:
    """Assign every row mostly to the component of its cluster, and a little to all others.

    A component with no share in the other clusters could never take over one of their rows.
    """
    shares = np.full((len(cluster), n_clusters), 0.2 / n_clusters)
    shares[np.arange(len(cluster)), cluster] += 0.8
    return shares


def _greedy_centres(points: Floats, mass: Floats, n_centres: int) -> Floats:
    """Choose centres one at a time, each the one that most reduces the weighted distances."""
    candidates = points[np.argsort(-mass, kind="stable")[:_CANDIDATES]]
    distance = _squared_distances(points, candidates)
    nearest = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(n_centres, len(candidates))):
        potential = mass @ np.minimum(nearest[:, None], distance)
        potential[chosen] = np.inf
        chosen.append(int(potential.argmin()))
        nearest = np.minimum(nearest, distance[:, chosen[-1]])
    return candidates[chosen]


def _lloyd(points: Floats, mass: Floats, centres: Floats) -> Positions:
    cluster: Positions = _squared_distances(points, centres).argmin(axis=1)
    for _ in range(_ITERATIONS):
        inside = (cluster == np.arange(len(centres))[:, None]) * mass
        total = inside.sum(axis=1, keepdims=True)
        # The centre of an empty cluster stays where it was.
        centres = np.where(total > 0, inside @ points / np.where(total > 0, total, 1.0), centres)
        before, cluster = cluster, _squared_distances(points, centres).argmin(axis=1)
        if np.array_equal(before, cluster):
            break
    return cluster


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """Squared Euclidean distances, (U, K); between 0/1 vectors they are exact integers."""
    cross = points @ centres.T
    distances: Floats = (points**2).sum(axis=1)[:, None] - 2.0 * cross + (centres**2).sum(axis=1)
    return distances
