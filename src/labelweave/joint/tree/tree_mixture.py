"""Mixtures of trees, searched by compiled kernels.

Many forms are mixtures of trees: a tree is one of one component, independent labels are a tree
without edges, a field whose couplings form a forest is a tree, and a mixture of such forms joins
theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._core import native
from labelweave.joint.mode import Ranked

if TYPE_CHECKING:
    from labelweave.joint.batch import Batch
    from labelweave.joint.tree.form import TreeJoint

# Log-odds, parents and order of each tree, and the log-weights of all.
KernelArrays: TypeAlias = tuple[list[Floats], list[Indices], list[Indices], Floats]


@dataclass(frozen=True)
class TreeMixture:
    """P(y) = Σ_k λ_k P_k(y) of trees.

    Attributes
    ----------
    log_weights : (n, K) array
        log λ_k of every row.
    trees : tuple of K TreeJoint
    """

    log_weights: Floats
    trees: tuple[TreeJoint, ...]

    def _arrays(self) -> KernelArrays:
        return (
            [tree.logits for tree in self.trees],
            [tree.parents for tree in self.trees],
            [tree.order for tree in self.trees],
            np.ascontiguousarray(self.log_weights),
        )

    def top(self, k: int, depth: int, n_threads: int) -> tuple[Ranked, Indices]:
        """Return the best ``k`` vectors of each row, and how many were taken from all lists.

        At most ``depth`` vectors are taken from the list of each tree.
        """
        n, n_labels = len(self.log_weights), self.trees[0].n_labels
        labels = np.empty((n, k, n_labels), dtype=np.int8)
        log_prob, bound = np.empty((n, k)), np.empty(n)
        listed = np.empty(n, dtype=np.int64)
        native.tree_threshold(
            *self._arrays(), min(depth, 2**32 - 2), labels, log_prob, bound, listed, n_threads
        )
        return Ranked(labels, log_prob, bound), listed

    def anneal(self, batch: Batch, start: Labels, temperatures: Floats, seed: int) -> Labels:
        """Return the best vectors of a walk of single flips, one for each temperature.

        Parameters
        ----------
        batch : Batch
            Its known labels are never flipped, and its row ids key the random numbers.
        start : (n, L) int8 array
        temperatures : (steps,) array
        seed : int
        """
        best = start.copy()
        native.tree_annealing(
            *self._arrays(), temperatures, batch.known, batch.row_ids, seed, best, batch.n_threads
        )
        return best
