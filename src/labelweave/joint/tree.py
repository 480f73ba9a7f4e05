"""TreeJoint: P(y) = Π_i P(y_i | y_parent(i)), every label with at most one parent.

Marginals by sum-product, modes by max-sum, evidence by clamped nodes: each pass takes time in
proportion to the number of labels. Many forms are mixtures of trees (`MixtureOfTrees`), which
compiled kernels search: a tree is one of one component, independent labels are a tree without
edges, a field whose couplings form a forest is a tree, and a mixture of such forms joins theirs.
Formulas: docs/design/math.md, section 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, Unpack

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.special import log_expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._core import native
from labelweave.joint import quantities
from labelweave.joint.distribution import JointDistribution, RowOptions
from labelweave.joint.quantities import Estimate, Quantity, bernoulli_entropy
from labelweave.joint.results import Mode, Ranked


def check_parents(parents: npt.ArrayLike, n_labels: int) -> Indices:
    """``parents`` as int64, one for each label, without a cycle."""
    values = np.asarray(parents)
    if values.shape != (n_labels,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"parents must be {n_labels} whole numbers, the parent of each label or -1 for a root; "
            f"got {parents!r}"
        )
    if ((values < -1) | (values >= n_labels)).any():
        raise ValueError(
            f"parents must be between 0 and {n_labels - 1}, or -1 for a root; got {values}"
        )
    result = np.ascontiguousarray(values, dtype=np.int64)
    cyclic = without_root(result)
    if len(cyclic):
        raise ValueError(
            f"parents must not form a cycle: label {cyclic[0]} is among its own ancestors or below "
            "a label that is; give one label of each cycle the parent -1"
        )
    return result


def without_root(parents: Indices) -> Indices:
    """Return the labels on a cycle of parents, or below one."""
    return np.setdiff1d(np.arange(len(parents)), parents_first(parents))


def parents_of_forest(edges: csr_array, preference: Indices) -> Indices:
    """Return the parents along the ``edges`` of a forest, -1 for a root.

    The root of each tree is its first label of the highest ``preference``.
    """
    parents = np.full(len(preference), -1, dtype=np.int64)
    n_trees, tree_of = connected_components(edges, directed=False)
    for tree in range(n_trees):
        inside = np.flatnonzero(tree_of == tree)
        root = inside[np.argmax(preference[inside])]
        reached, before = breadth_first_order(edges, root, directed=False)
        parents[reached[1:]] = before[reached[1:]]
    return parents


def parents_first(parents: Indices) -> Indices:
    """Return the labels that hang from a root, level by level."""
    levels = [np.flatnonzero(parents < 0)]
    while len(levels[-1]):
        levels.append(np.flatnonzero(np.isin(parents, levels[-1])))
    return np.concatenate(levels)


def children_first(parents: Indices) -> Indices:
    """Return the labels, each after all of its children."""
    level = np.zeros(len(parents), dtype=np.int64)
    above = parents.copy()
    while (above >= 0).any():
        level[above >= 0] += 1
        above = np.where(above >= 0, parents[above], -1)
    return np.argsort(-level, kind="stable")


@dataclass(frozen=True)
class MixtureOfTrees:
    """P(y) = Σ_k λ_k P_k(y) of K trees, with log λ_k of every row in ``log_weights`` (n, K)."""

    log_weights: Floats
    trees: tuple[TreeJoint, ...]

    def _kernel(self, kernel: Callable[..., None], *arguments: object) -> None:
        logits = [tree.logits for tree in self.trees]
        parents = [tree.parents for tree in self.trees]
        order = [tree.order for tree in self.trees]
        kernel(logits, parents, order, np.ascontiguousarray(self.log_weights), *arguments)

    def top(self, k: int, depth: int, n_threads: int) -> tuple[Ranked, Indices]:
        """Return the best ``k`` vectors of each row, and how many were taken from all lists.

        At most ``depth`` vectors are taken from the list of each tree.
        """
        n, n_labels = len(self.log_weights), self.trees[0].n_labels
        labels = np.empty((n, k, n_labels), dtype=np.int8)
        log_prob, bound = np.empty((n, k)), np.empty(n)
        listed = np.empty(n, dtype=np.int64)
        depth = min(depth, 2**32 - 2)
        self._kernel(native.tree_threshold, depth, labels, log_prob, bound, listed, n_threads)
        return Ranked(labels, log_prob, bound), listed

    def anneal(
        self, batch: JointDistribution, start: Labels, temperatures: Floats, seed: int
    ) -> Labels:
        """Return the best vectors of a walk of single flips, one for each temperature.

        The known labels of ``batch`` are never flipped, and its row ids key the random numbers.
        """
        best = start.copy()
        keys = (batch.known, batch.row_ids, seed)
        self._kernel(native.tree_annealing, temperatures, *keys, best, batch.n_threads)
        return best


class TreeJoint(JointDistribution):
    """P(y) = Π_i P(y_i | y_parent(i)): every query has an exact result.

    Evidence leaves a tree a tree: the posterior has the same parents and other log-odds. Time
    per row grows in proportion to L, for pairs of labels and the number of labels to L², for
    `cardinality_by_label` to at most L³/6.

    Parameters
    ----------
    logits : (n, L, 2) array
        Log-odds of each label given that its parent is 0 and that it is 1; ±inf for a label that is
        then certain. A root reads ``[..., 0]``.
    parents : (L,) array of int
        The parent of each label, -1 for a root; several roots make a forest.
    **rows
        ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`.

    Examples
    --------
    Whoever has the first label mostly has the second, too:

    >>> import numpy as np
    >>> logits = np.log([[[1.0, 1.0], [1 / 9, 9.0]]])
    >>> joint = TreeJoint(logits, parents=[-1, 0], label_names=("rain", "wet"))
    >>> joint.marginals()
    array([[0.5, 0.5]])
    >>> joint.condition({"wet": 1}).marginals()
    array([[0.9, 1. ]])
    """

    exact_powers: ClassVar[bool] = True
    lists_first: ClassVar[bool] = True

    def __init__(
        self,
        logits: npt.ArrayLike,
        parents: npt.ArrayLike,
        **rows: Unpack[RowOptions],
    ) -> None:
        values = np.array(logits, dtype=np.float64, order="C")
        if values.ndim != 3 or values.shape[1] == 0 or values.shape[2] != 2:
            raise ValueError(
                "logits must have shape (rows, labels, 2), the log-odds of each label for both "
                f"values of its parent; its shape is {values.shape}"
            )
        if np.isnan(values).any():
            raise ValueError("logits contains NaN: every entry must be a number or infinite")
        super().__init__(*values.shape[:2], **rows)
        self.parents = check_parents(parents, self.n_labels)
        self.order = parents_first(self.parents)
        roots = self.parents < 0
        values[:, roots, 1] = values[:, roots, 0]
        self.logits: Floats = values

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.logits = self.logits[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that are certain: by infinite log-odds, or because their parents are certain."""
        known = super().known
        infinite = np.isinf(self.logits)
        if not infinite.any():
            return known
        sure = np.where(infinite, self.logits > 0, -1).astype(np.int8)
        for label in self.order:
            given_0, given_1 = sure[:, label, 0], sure[:, label, 1]
            parent = known[:, self.parents[label]] if self.parents[label] >= 0 else -1
            either = np.where(given_0 == given_1, given_0, -1)
            known[:, label] = np.select([parent == 0, parent == 1], [given_0, given_1], either)
        return known

    def _kernel(self, kernel: Callable[..., None], *arguments: object) -> None:
        kernel(self.logits, self.parents, self.order, *arguments, self.n_threads)

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, vectors: Labels) -> Floats:
        out = np.empty(vectors.shape[:2])
        self._kernel(native.tree_log_prob, np.ascontiguousarray(vectors), out)
        return out

    def _table(self, free: Indices) -> Floats:
        out = np.empty((self.n_rows, 2 ** len(free)))
        self._kernel(native.tree_table, self.known, free, out)
        return out

    def _is_exact(self, quantity: Quantity) -> Mask:
        return np.ones(self.n_rows, dtype=np.bool_)

    def _exact(self, quantity: Quantity) -> Floats:
        if quantity == "entropy":
            return self._entropy()
        out = np.empty(quantities.shape(self, quantity))
        kernels = {
            "marginals": native.tree_marginals,
            "pairwise": native.tree_pairwise,
            "cardinality": native.tree_cardinality,
            "cardinality_by_label": native.tree_cardinality_by_label,
        }
        self._kernel(kernels[quantity], out)
        return out

    def _marginal_log_odds(self) -> Floats:
        zero, one = np.empty((2, self.n_rows, self.n_labels))
        for label in self.order:  # parents first
            parent = self.parents[label]
            given = self.logits[:, label]
            if parent < 0:
                zero[:, label], one[:, label] = log_expit(-given[:, 0]), log_expit(given[:, 0])
                continue
            for log_prob, z in ((zero, -given), (one, given)):
                log_prob[:, label] = np.logaddexp(
                    zero[:, parent] + log_expit(z[:, 0]), one[:, parent] + log_expit(z[:, 1])
                )
        return one - zero

    def _entropy(self) -> Floats:
        """Σ_i E[H(y_i | parent)], by the chain rule."""
        marginals = self._exact("marginals")
        parent = np.where(self.parents >= 0, marginals[:, self.parents], 0.0)
        conditional = bernoulli_entropy(self.logits)
        mean = (1 - parent) * conditional[:, :, 0] + parent * conditional[:, :, 1]
        return np.asarray(mean.sum(axis=1))

    # ------------------------------------------------------------------ draws and search

    def _sample(self, k: int, seed: int) -> Labels:
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        self._kernel(native.tree_sample, self.row_ids, seed, labels)
        return labels

    def closed_mode(self) -> Mode:
        """Return the mode by max-sum."""
        labels = np.empty((self.n_rows, self.n_labels), dtype=np.int8)
        log_prob = np.empty(self.n_rows)
        self._kernel(native.tree_mode, labels, log_prob)
        return Mode(labels, log_prob, log_prob.copy())

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing; exact."""
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        log_prob = np.empty((self.n_rows, k))
        self._kernel(native.tree_top, labels, log_prob)
        return Ranked(labels, log_prob, log_prob[:, -1].copy())

    def power(self, exponent: float) -> TreeJoint:
        """Return the tree of powers, normalised from the leaves up.

        A child whose own children are summed out multiplies P(parent = v) by Σ_y P(y|v)^e m(y).
        """
        below = np.zeros((2, self.n_rows, self.n_labels))  # log m of the values 0 and 1
        joint = self._copy()
        joint.logits = exponent * self.logits
        for label in children_first(self.parents):
            joint.logits[:, label] += (below[1] - below[0])[:, label, None]
            parent = self.parents[label]
            if parent >= 0:
                log_odds = self.logits[:, label]
                below[:, :, parent] += np.logaddexp(
                    below[0][:, label, None] - exponent * np.logaddexp(0.0, log_odds),
                    below[1][:, label, None] - exponent * np.logaddexp(0.0, -log_odds),
                ).T
        return joint

    def as_trees(self) -> MixtureOfTrees:
        """Return the mixture of this tree alone."""
        return MixtureOfTrees(np.zeros((self.n_rows, 1)), (self,))

    # ------------------------------------------------------------------ Bayes' rule

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        logits, log_prob = np.empty_like(self.logits), np.empty(self.n_rows)
        self._kernel(native.tree_condition, known, logits, log_prob)
        posterior = self._copy()
        posterior.logits = logits
        return posterior, Estimate.of_exact(log_prob)
