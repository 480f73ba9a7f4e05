"""Learn a forest over labels from held-out likelihood, and the penalties that go with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.checks import check_label
from labelweave._common.label_graph import LabelGraph
from labelweave._common.row_keys import assign_folds
from labelweave.logistic import EdgeWeights, PenaltyChoice, edge_weights, structure_penalties
from labelweave.models.base_classifier import classifier_edge_weights
from labelweave.models.trees.branching import maximum_branching
from labelweave.models.trees.structure import Structure

#: Folds by which edges are weighed: every row is held out once.
N_FOLDS = 3
# One part in so many is held out where a single split weighs the edges.
_N_PARTS = 3
#: The label penalty the first tree is learned with, before it has been chosen.
FIRST_LABEL_PENALTY = 0.03
# With any other base classifier: parents of each label that are tried, the best by linear weights.
_BASE_CANDIDATES = 8
# An edge has to gain more than what solving to a tolerance leaves open, relative to its weight.
_LEAST_GAIN = 1e-6


@dataclass(frozen=True)
class TreeLearner:
    """Learns forests for one set of rows.

    Attributes
    ----------
    X : (n, D) array or CSR
    labels : (n, L) int8 array
    sample_weight : (n,) array or None
    screen : int, "auto" or None
        As in `edge_weights`.
    label_names : tuple of str or None
    n_folds : int
        By how many folds edges are weighed; 1 is a single split.
    seed, n_threads : int
    """

    X: Any
    labels: Labels
    sample_weight: Floats | None
    screen: int | str | None
    label_names: tuple[str, ...] | None
    seed: int
    n_threads: int
    n_folds: int = N_FOLDS

    def held_out(self) -> Mask:
        """Return which rows each fold leaves out, (F, n); equal rows stay together."""
        weight = np.ones(len(self.labels)) if self.sample_weight is None else self.sample_weight
        n_parts = _N_PARTS if self.n_folds == 1 else self.n_folds
        fold, n_parts = assign_folds(self.X, weight, n_parts, self.seed)
        masks: Mask = np.arange(min(self.n_folds, n_parts))[:, None] == fold
        return masks

    def with_penalties(
        self, C: float | str, label_penalty: float | str
    ) -> tuple[Structure, PenaltyChoice]:
        """Learn a forest and choose the penalties that are "cv".

        C is chosen for labels without parents, a first forest learned with it, both penalties
        chosen for that forest, and the forest learned again where they changed.
        """
        first = self.penalties(LabelGraph.empty(self.labels.shape[1]), C, label_penalty)
        if label_penalty == "cv":
            first = replace(first, label_penalty=FIRST_LABEL_PENALTY)
        structure = self.learn(first)
        if "cv" not in (C, label_penalty):
            return structure, first
        chosen = self.penalties(structure.graph(), C, label_penalty)
        if (chosen.C, chosen.label_penalty) != (first.C, first.label_penalty):
            structure = self.learn(chosen)
        return structure, chosen

    def penalties(
        self, graph: LabelGraph, C: float | str, label_penalty: float | str
    ) -> PenaltyChoice:
        """Choose the penalties that are "cv" for the conditionals of a structure."""
        return structure_penalties(
            self.X,
            self.labels,
            graph,
            C=C,
            label_penalty=label_penalty,
            sample_weight=self.sample_weight,
            seed=self.seed,
            n_threads=self.n_threads,
        )

    def learn(self, penalties: PenaltyChoice, row_weight: Floats | None = None) -> Structure:
        """Learn the best forest at given penalties, from rows that may count differently."""
        held_out = self.held_out()
        if not self._can_weigh(held_out):
            return self._without_edges()
        weight = self.sample_weight
        if row_weight is not None:
            weight = row_weight if weight is None else weight * row_weight
        weights = edge_weights(
            self.X,
            self.labels,
            C=penalties.C,
            label_penalty=penalties.label_penalty,
            held_out=held_out,
            sample_weight=weight,
            screen=self.screen,
            n_threads=self.n_threads,
        )
        return best_forest(weights, self.label_names)

    def component(
        self, penalties: PenaltyChoice, row_weight: Floats | None, index: int
    ) -> Structure:
        """Return the best forest for rows that count differently."""
        return self.learn(penalties, row_weight)

    def restricted(self, rows: Positions) -> TreeLearner:
        """Return the learner for some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, X=self.X[rows], labels=self.labels[rows], sample_weight=weight)

    def learn_with(self, estimator: Any, n_jobs: int | None) -> Structure:
        """Learn the best forest of any classifiers.

        Every pair is a fit for each fold: where labels are many, only the parents are tried that
        logistic regressions hold most of.
        """
        n_labels = self.labels.shape[1]
        held_out = self.held_out()
        if not self._can_weigh(held_out):
            return self._without_edges()
        n_tried = _BASE_CANDIDATES if self.screen in (None, "auto") else int(str(self.screen))
        candidates = ~np.eye(n_labels, dtype=np.bool_)
        if n_labels - 1 > n_tried:
            linear = self.learn(PenaltyChoice(C=1.0, label_penalty=FIRST_LABEL_PENALTY))
            gains = np.nan_to_num(np.asarray(linear.pair_gains), nan=-np.inf)
            order = np.argsort(-gains, axis=0, kind="stable")
            rank = np.argsort(order, axis=0, kind="stable")
            candidates &= rank < n_tried
        pair, alone = classifier_edge_weights(
            estimator,
            self.X,
            self.labels,
            held_out,
            candidates,
            self.sample_weight,
            random_state=self.seed,
            n_jobs=n_jobs,
        )
        return best_forest(EdgeWeights(pair, alone, candidates), self.label_names)

    def _can_weigh(self, held_out: Mask) -> bool:
        """Whether there are edges, and rows that differ: else nothing speaks for an edge."""
        return not held_out.all() and self.labels.shape[1] > 1

    def _without_edges(self) -> Structure:
        n_labels = self.labels.shape[1]
        return Structure(np.full(n_labels, -1), np.zeros(n_labels), self.label_names)


def best_forest(weights: EdgeWeights, label_names: tuple[str, ...] | None) -> Structure:
    """Return the forest of largest weight, with what each edge gains.

    Examples
    --------
    >>> pair = np.array([[0.0, -2.0], [-1.0, 0.0]])
    >>> weights = EdgeWeights(pair, np.array([-3.0, -5.0]), ~np.eye(2, dtype=bool))
    >>> best_forest(weights, ("a", "b"))
    Structure(2 labels, 1 edges, gain 3.0)
    a
    └─ b  (gain 3.0)
    """
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
    """Return the parents a user named: by position or name, None or -1 for a root.

    Examples
    --------
    >>> resolve_parents([None, "a", 0], 3, ("a", "b", "c"))
    array([-1,  0,  0])
    """
    given = list(structure) if np.iterable(structure) and not isinstance(structure, str) else None
    if given is None or len(given) != n_labels:
        raise ValueError(
            f"structure must be 'learned', 'random' or the parents of the {n_labels} labels "
            f"(None for a root); got {structure!r}"
        )
    parents = np.array([_position(parent, n_labels, names) for parent in given], dtype=np.int64)
    reached = parents < 0
    for _ in range(n_labels):  # whoever hangs on a root is no part of a circle
        reached = reached | ((parents >= 0) & reached[parents])
    if not reached.all():
        label = int(np.flatnonzero(~reached)[0])
        shown = label if names is None else repr(names[label])
        raise ValueError(f"structure has a circle: label {shown} is among its own ancestors")
    return parents


def random_parents(n_labels: int, random: np.random.Generator) -> Indices:
    """Draw a tree: in a random order, every label but the first hangs on one before it.

    Examples
    --------
    >>> random_parents(4, np.random.default_rng(0))
    array([ 2,  2, -1,  2])
    """
    order = random.permutation(n_labels)
    parents = np.full(n_labels, -1, dtype=np.int64)
    for position in range(1, n_labels):
        parents[order[position]] = order[random.integers(position)]
    return parents


def _position(parent: Any, n_labels: int, names: tuple[str, ...] | None) -> int:
    is_root = parent is None or (isinstance(parent, Integral) and parent == -1)
    return -1 if is_root else check_label(parent, "structure", n_labels, names)
