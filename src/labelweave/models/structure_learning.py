"""The forest over labels of best held-out log-likelihood.

The weight of an edge is the log-likelihood, on rows held out, of the child given the features and
the parent; the weight of a root is that of the label given the features alone. The forest of
maximum total weight is a maximum branching (Edmonds 1967, Tarjan 1977).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices, Mask, Positions
from labelweave._common.checks import check_label, check_whole_number
from labelweave._common.folds import assign_folds
from labelweave.joint.tree import without_root
from labelweave.logistic.conditionals import LabelGraph
from labelweave.logistic.edges import EDGE_TOLERANCE, EdgeWeights, edge_weights
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.conditionals import TrainingRows, classifier_edge_weights
from labelweave.models.structure import Structure


def maximum_branching(pair: ArrayLike, alone: ArrayLike) -> Indices:
    """Return the parents in the forest of maximum total weight, in O(L²) time and memory.

    Ties are broken deterministically; a label that gains nothing from a parent has none.
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
    new node at the place of one of its members, and the other places fall empty. This costs O(L)
    for each member that disappears: O(L²) in total.
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


#: Number of folds by which edges are weighed: every row is held out once.
N_FOLDS = 3
# A single split holds out one part in this many.
_N_PARTS = 3
#: The label penalty of the first tree, before it has been chosen.
FIRST_LABEL_PENALTY = 0.03
# With a base classifier: number of candidate parents per label, the best by linear edge weights.
_BASE_CANDIDATES = 8
# The gain of an edge must exceed the solver's error, relative to its weight.
_LEAST_GAIN = 1e-6


@dataclass(frozen=True)
class TreeLearner:
    """Learns forests for one set of rows.

    Edges are weighed by `cv` folds, by a single split if that is 1, or by given folds: the mask of
    the rows that each holds out, (F, n).
    """

    rows: TrainingRows
    label_names: tuple[str, ...] | None
    screen: int | str | None = "auto"  # as in `edge_weights`
    cv: int | Mask = N_FOLDS

    def held_out(self) -> Mask:
        """Return which rows each fold holds out, (F, n); equal rows share a fold."""
        if not isinstance(self.cv, int):
            return self.cv
        n_parts = _N_PARTS if self.cv == 1 else self.cv
        fold, n_parts = assign_folds(self.rows.X, self.rows.weight, n_parts, self.rows.seed)
        masks: Mask = np.arange(min(self.cv, n_parts))[:, None] == fold
        return masks

    def with_penalties(
        self, C: float | str, label_penalty: float | str
    ) -> tuple[Structure, PenaltyChoice]:
        """Learn a forest and choose the penalties given as "cv".

        C is chosen for labels without parents and a first forest is learned with it; then both
        penalties are chosen for that forest, which is learned again if they have changed.
        """
        structure, first, chosen = self._first_forest(C, label_penalty)
        if (chosen.C, chosen.label_penalty) != (first.C, first.label_penalty):
            structure = self.learn(chosen)
        return structure, chosen

    def chosen_penalties(self, C: float | str, label_penalty: float | str) -> PenaltyChoice:
        """Choose the penalties given as "cv" as `with_penalties` does, without its last forest."""
        if "cv" not in (C, label_penalty):
            return PenaltyChoice(float(C), float(label_penalty))
        return self._first_forest(C, label_penalty)[2]

    def _first_forest(
        self, C: float | str, label_penalty: float | str
    ) -> tuple[Structure, PenaltyChoice, PenaltyChoice]:
        """Return a first forest, the penalties it was learned with, and those chosen for it."""
        first = self.rows.penalties(LabelGraph.empty(self.rows.n_labels), C, label_penalty)
        if label_penalty == "cv":
            first = replace(first, label_penalty=FIRST_LABEL_PENALTY)
        structure = self.learn(first)
        if "cv" not in (C, label_penalty):
            return structure, first, first
        return structure, first, self.rows.penalties(structure.graph(), C, label_penalty)

    def learn(
        self,
        penalties: PenaltyChoice,
        row_weight: Floats | None = None,
        index: int = 0,
        tolerance: float = EDGE_TOLERANCE,
    ) -> Structure:
        """Learn the best forest at given penalties, from rows weighted by `row_weight`."""
        del index  # all components of a mixture are learned in the same way
        held_out = self.held_out()
        if not self._can_weigh(held_out):
            return self._without_edges()
        rows = self.rows.weighted(row_weight)
        weights = edge_weights(
            rows.X,
            rows.labels,
            C=penalties.C,
            label_penalty=penalties.label_penalty,
            held_out=held_out,
            sample_weight=rows.sample_weight,
            screen=self.screen,
            tolerance=tolerance,
            n_threads=rows.n_threads,
        )
        return best_forest(weights, self.label_names)

    def restricted(self, rows: Positions) -> TreeLearner:
        """Return the learner for a subset of the rows."""
        cv = self.cv if isinstance(self.cv, int) else self.cv[:, rows]
        return replace(self, rows=self.rows.restricted(rows), cv=cv)

    def for_comparison(self) -> TreeLearner:
        """Return a learner that weighs edges by a single split."""
        return replace(self, cv=1)

    def learn_with(self, estimator: Any, n_jobs: int | None) -> Structure:
        """Learn the best forest for a base classifier."""
        n_labels = self.rows.n_labels
        held_out = self.held_out()
        if not self._can_weigh(held_out):
            return self._without_edges()
        # Every pair costs a fit per fold: of many parents only those of largest gain under logistic
        # regression are tried.
        n_tried = self.screen if isinstance(self.screen, int) else _BASE_CANDIDATES
        candidates = ~np.eye(n_labels, dtype=np.bool_)
        if n_labels - 1 > n_tried:
            linear = self.learn(PenaltyChoice(C=1.0, label_penalty=FIRST_LABEL_PENALTY))
            gains = np.nan_to_num(np.asarray(linear.pair_gains), nan=-np.inf)
            order = np.argsort(-gains, axis=0, kind="stable")
            rank = np.argsort(order, axis=0, kind="stable")
            candidates &= rank < n_tried
        pair, alone = classifier_edge_weights(estimator, self.rows, held_out, candidates, n_jobs)
        return best_forest(EdgeWeights(pair, alone, candidates), self.label_names)

    def _can_weigh(self, held_out: Mask) -> bool:
        """Whether there are pairs of labels, and rows to fit and to hold out."""
        return not held_out.all() and self.rows.n_labels > 1

    def _without_edges(self) -> Structure:
        n_labels = self.rows.n_labels
        return Structure(np.full(n_labels, -1), np.zeros(n_labels), self.label_names)


def best_forest(weights: EdgeWeights, label_names: tuple[str, ...] | None) -> Structure:
    """Return the forest of maximum weight, with the gain of each edge."""
    gains = weights.pair - weights.alone
    negligible = gains <= _LEAST_GAIN * np.abs(weights.alone)
    allowed = weights.fitted & ~negligible
    pair = np.where(allowed, weights.pair, -np.inf)
    parents = maximum_branching(pair, weights.alone)
    chosen = np.zeros(len(parents))
    children = np.flatnonzero(parents >= 0)
    chosen[children] = gains[parents[children], children]
    return Structure(parents, chosen, label_names, np.where(weights.fitted, gains, np.nan))


def resolve_parents(structure: Any, n_labels: int, names: tuple[str, ...] | None) -> Indices:
    """Return parents given by position or name, None or -1 for a root, as positions."""
    given = list(structure) if np.iterable(structure) and not isinstance(structure, str) else None
    if given is None or len(given) != n_labels:
        raise ValueError(
            f"structure must be 'learned', 'random' or the parents of the {n_labels} labels "
            f"(None for a root); got {structure!r}"
        )
    parents = np.full(n_labels, -1, dtype=np.int64)
    for label, parent in enumerate(given):
        if parent is not None and not (isinstance(parent, Integral) and parent == -1):
            parents[label] = check_label(parent, "structure", n_labels, names)
    cyclic = without_root(parents)
    if len(cyclic):
        label = int(cyclic[0])
        shown = label if names is None else repr(names[label])
        raise ValueError(f"structure has a cycle: label {shown} is among its own ancestors")
    return parents


def random_parents(n_labels: int, random: np.random.Generator) -> Indices:
    """Draw a random tree: in a random order, the parent of each label is an earlier one."""
    order = random.permutation(n_labels)
    parents = np.full(n_labels, -1, dtype=np.int64)
    for position in range(1, n_labels):
        parents[order[position]] = order[random.integers(position)]
    return parents


def check_screen(screen: Any) -> int | str | None:
    """Return `screen` as `edge_weights` takes it."""
    if screen is None or (isinstance(screen, str) and screen == "auto"):
        return screen
    return check_whole_number(screen, "screen", otherwise="None, 'auto'")
