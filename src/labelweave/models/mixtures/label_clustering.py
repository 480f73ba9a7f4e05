"""Share rows out into groups of similar label vectors: where the components of a mixture start."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Labels, Positions

# Distinct label vectors that may become the start of a group: the heaviest.
_CANDIDATES = 300
_ITERATIONS = 100


def partition_labels(labels: Labels, weight: Floats, n_groups: int) -> tuple[Positions, int]:
    """Group rows by their label vectors (k-means), the heaviest group first.

    Works on the distinct label vectors and their weights, from a start that depends on nothing
    else: the order of the rows and whether they are repeated or weighted do not matter.

    Returns the group of each row and the number of groups, smaller than asked for where there are
    fewer distinct label vectors.

    Examples
    --------
    >>> labels = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=np.int8)
    >>> partition_labels(labels, np.ones(5), 2)
    (array([1, 0, 0, 1, 0]), 2)
    """
    vectors, member = np.unique(labels, axis=0, return_inverse=True)
    member = member.ravel()
    mass: Floats = np.bincount(member, weights=weight).astype(np.float64)
    points = vectors.astype(np.float64)
    group = _lloyd(points, mass, _greedy_centres(points, mass, min(n_groups, len(points))))
    sizes = np.bincount(group, weights=mass)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    rank = np.zeros(len(sizes), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[group][member], len(order)


def start_responsibilities(group: Positions, n_groups: int) -> Floats:
    """Give every row mostly to the component of its group, and a little to all.

    A component that saw nothing of the other groups could never take over a row of theirs.
    """
    shares = np.full((len(group), n_groups), 0.2 / n_groups)
    shares[np.arange(len(group)), group] += 0.8
    return shares


def _greedy_centres(points: Floats, mass: Floats, n_centres: int) -> Floats:
    """Take, one after the other, the vector that brings all others closest to a centre."""
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
    group: Positions = _squared_distances(points, centres).argmin(axis=1)
    for _ in range(_ITERATIONS):
        inside = (group == np.arange(len(centres))[:, None]) * mass
        total = inside.sum(axis=1, keepdims=True)
        # A group that lost all its vectors stays where it was.
        centres = np.where(total > 0, inside @ points / np.where(total > 0, total, 1.0), centres)
        before, group = group, _squared_distances(points, centres).argmin(axis=1)
        if np.array_equal(before, group):
            break
    return group


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """(U, K) distances; for 0/1 vectors against themselves exact whole numbers."""
    cross = points @ centres.T
    distances: Floats = (points**2).sum(axis=1)[:, None] - 2.0 * cross + (centres**2).sum(axis=1)
    return distances
