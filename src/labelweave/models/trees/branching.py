"""The maximum-weight forest over labels: a maximum branching (Edmonds 1967, Tarjan 1977)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices, Positions


def maximum_branching(pair: ArrayLike, alone: ArrayLike) -> Indices:
    """Return the parents in the forest of maximum total weight.

    Takes O(L²) time and memory. Ties are broken deterministically; a label that gains nothing from
    a parent has none.

    Parameters
    ----------
    pair : (L, L) array
        ``pair[j, i]`` is the weight of label i having parent j; ``-inf`` forbids it. The diagonal
        is ignored.
    alone : (L,) array
        The weight of each label as a root; ``-inf`` if it must have a parent.

    Returns
    -------
    parents : (L,) array
        The parent of every label, -1 where it has none.

    Examples
    --------
    Each of the two labels gains from the other as its parent, but one has to be the root:

    >>> import numpy as np
    >>> from labelweave.models.trees.branching import maximum_branching
    >>> pair = np.array([[-np.inf, -2.0], [-1.0, -np.inf]])
    >>> maximum_branching(pair, alone=np.array([-3.0, -5.0]))
    array([-1,  0])
    """
    graph = _Contraction(_with_root(pair, alone))
    for place in range(1, graph.n_places):
        graph.connect(place)
    return graph.parents()[1:] - 1


def _with_root(pair: ArrayLike, alone: ArrayLike) -> Floats:
    """Return the weights of all edges, with a virtual root first; no edge enters the root."""
    between, single = np.asarray(pair, dtype=np.float64), np.asarray(alone, dtype=np.float64)
    if single.ndim != 1 or between.shape != (len(single), len(single)):
        raise ValueError(
            f"pair must be (L, L) and alone (L,); got shapes {between.shape} and {single.shape}"
        )
    weights = np.full((len(single) + 1, len(single) + 1), -np.inf)
    weights[0, 1:], weights[1:, 1:] = single, between
    np.fill_diagonal(weights, -np.inf)
    if np.any(np.isnan(weights)) or np.any(weights == np.inf):
        raise ValueError("pair and alone must not hold NaN or +inf; forbid an edge by -inf")
    return weights


class _Contraction:
    """A dense graph in which cycles of best incoming edges are contracted as they appear.

    Place 0 of the matrix is the virtual root, place i + 1 is label i. A contracted cycle becomes a
    new node at the place of one of its members, and the members' other places fall empty. A
    contraction costs O(L) per member and removes all but one of them: O(L²) in total.
    """

    def __init__(self, weights: Floats) -> None:
        self.n_places = len(weights)
        self.weights = weights
        # The original edge behind each edge of the contracted graph.
        self.edge = np.arange(weights.size).reshape(weights.shape)
        self.node_at = list(range(self.n_places))
        self.owner = [-1] * self.n_places  # the contracted node that each node is part of
        self.entry = [-1] * self.n_places  # the chosen incoming edge of each node
        self.connected = np.zeros(self.n_places, dtype=bool)
        self.connected[0] = True

    def connect(self, place: int) -> None:
        """Follow best incoming edges until one starts at a node that is connected to the root."""
        path: list[int] = []
        while not self.connected[place]:
            if place in path:
                start = path.index(place)
                self._contract(np.array(path[start:]))
                del path[start:]
            path.append(place)
            place = self._enter(place)
        self.connected[path] = True

    def _enter(self, place: int) -> int:
        source = int(self.weights[:, place].argmax())  # the first of equals: the root wins ties
        if self.weights[source, place] == -np.inf:
            raise ValueError(
                "every forest has a forbidden edge: alone must be finite for at least one label of "
                "every group of labels that can only have each other as parents"
            )
        self.entry[self.node_at[place]] = int(self.edge[source, place])
        return source

    def _contract(self, members: Positions) -> None:
        """Contract a cycle to one node; an edge into it replaces the cycle's edge at its head."""
        entering = self.weights[:, members] - self.weights[:, members].max(axis=0)
        leaving = self.weights[members]
        met, best = members[entering.argmax(axis=1)], members[leaving.argmax(axis=0)]
        everywhere, place = np.arange(self.n_places), members[0]
        edges_in, edges_out = self.edge[everywhere, met], self.edge[best, everywhere]
        self.edge[:, place], self.edge[place] = edges_in, edges_out
        self.weights[:, place], self.weights[place] = entering.max(axis=1), leaving.max(axis=0)
        self.weights[members[1:]] = self.weights[:, members[1:]] = -np.inf
        self.weights[place, place] = -np.inf
        self.connected[members[1:]] = True  # empty from now on: the node is at `place`
        for member in members:
            self.owner[self.node_at[member]] = len(self.owner)
        self.node_at[place] = len(self.owner)
        self.owner.append(-1)
        self.entry.append(-1)

    def parents(self) -> Indices:
        """Expand the contracted nodes, last first: each loses the cycle edge at its entry."""
        for node in reversed(range(self.n_places, len(self.owner))):
            member = self.entry[node] % self.n_places
            while self.owner[member] != node:
                member = self.owner[member]
            self.entry[member] = self.entry[node]
        edges = np.array(self.entry[: self.n_places], dtype=np.int64)
        return edges // self.n_places
