"""Searches for the mode of a field: climbing, and branch and bound."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Indices
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks
from labelweave.joint.field.branch_and_bound import TIE, branch_and_bound, climb
from labelweave.joint.field.evidence import ConditionedField
from labelweave.joint.field.relaxation import Relaxation, relax
from labelweave.joint.mode import Mode, Ranked, SearchedMode, certified

# Partial vectors that `top` keeps in each row.
SEARCH_WIDTH = 256


class SearchedField(ConditionedField):
    """A field whose most probable vectors can be looked for.

    Its capabilities are `BranchesAndBounds`, `ListsVectors` and, where the couplings form a forest,
    `DecomposesIntoTrees`.
    """

    def branch_and_bound(self, width: int) -> SearchedMode:
        """Return the mode where the form is closed, else the best that a search of ``width`` finds.

        Parameters
        ----------
        width : int
            Partial vectors that are kept in each row.
        """
        found = SearchedMode(
            np.empty((self.n_rows, self.n_labels), dtype=np.int8),
            np.empty(self.n_rows),
            np.empty(self.n_rows),
            np.zeros(self.n_rows, dtype=np.int64),
        )
        for kind, rows in self._parts():
            for block in row_blocks(len(rows), self._search_cells(width if kind == "draws" else 1)):
                part = self[rows[block]]
                if kind == "forest":
                    mode = part._forest_mode()
                elif kind == "table":
                    mode = part.exhaustive_mode(MAX_ENUMERATED)
                else:
                    mode = part._search(width)
                    found.nodes[rows[block]] = mode.nodes
                found.labels[rows[block]] = mode.labels
                found.log_prob[rows[block]] = mode.log_prob
                found.upper_bound[rows[block]] = mode.upper_bound
        return found

    def _forest_mode(self) -> Mode:
        labels = self._forest().closed_mode().labels
        log_prob = self._log_prob(labels)
        return Mode(labels, log_prob, log_prob.copy())

    def _search(self, width: int) -> SearchedMode:
        """Search rows that share their unknown labels, from where climbing ends."""
        relaxed = relax(self.scores, self.coupling, self._known)
        start = self._climbed(relaxed)
        normaliser = self.log_normaliser()
        floor = start.log_prob + normaliser.value
        end = branch_and_bound(relaxed, self._strongest_first(), width, floor)
        labels = np.where(self._known >= 0, self._known, end.labels[:, 0])
        found = self._log_prob(labels)
        better = np.isfinite(end.energy[:, 0]) & (found > start.log_prob)
        labels = np.where(better[:, None], labels, start.labels)
        log_prob = np.where(better, found, start.log_prob)
        bound = np.minimum(start.upper_bound, end.dropped - normaliser.value)
        bound = np.where(bound <= log_prob + TIE, log_prob, bound)
        return SearchedMode(labels, log_prob, bound, end.nodes)

    def _climbed(self, relaxed: Relaxation) -> Mode:
        """Climb from the mode of the strongest forest, flipping one label at a time."""
        start = self._forest().closed_mode().labels
        labels = climb(start, self.scores, self.coupling, self._known)
        normaliser = self.log_normaliser()
        log_prob = self._log_prob(labels)
        bound = relaxed.bound() - normaliser.value
        bound = np.where(bound <= log_prob + TIE, log_prob, bound)
        return certified(labels, log_prob, bound, normaliser.exact)

    def greedy_mode(self) -> Mode:
        """Climb from the mode of the strongest forest, flipping one label at a time."""
        labels = np.empty((self.n_rows, self.n_labels), dtype=np.int8)
        log_prob, bound = np.empty(self.n_rows), np.empty(self.n_rows)
        for kind, rows in self._parts():
            for block in row_blocks(len(rows), self._search_cells(1)):
                part = self[rows[block]]
                if kind == "forest":
                    mode = part._forest_mode()
                else:
                    relaxed = relax(part.scores, part.coupling, part._known)
                    mode = part._climbed(relaxed)
                labels[rows[block]] = mode.labels
                log_prob[rows[block]], bound[rows[block]] = mode.log_prob, mode.upper_bound
        return Mode(labels, log_prob, bound)

    def _strongest_first(self) -> Indices:
        """Return the labels with the strongest couplings first: they decide about the others."""
        return np.argsort(-np.abs(self.coupling).sum(axis=1), kind="stable")

    def _search_cells(self, width: int) -> int:
        return 4 * self.n_labels * (width + self.n_labels)

    def list_vectors(self, k: int) -> Ranked:
        """Return the ``k`` best vectors that branch and bound ends with."""
        labels = np.full((self.n_rows, k, self.n_labels), -1, dtype=np.int8)
        log_prob = np.full((self.n_rows, k), -np.inf)
        bound = np.full(self.n_rows, -np.inf)
        width = max(k, SEARCH_WIDTH)
        for kind, rows in self._parts():
            for block in row_blocks(len(rows), self._search_cells(width)):
                at = rows[block]
                part = self[at]
                if kind == "forest":
                    top = part._forest().top(k)
                    labels[at], log_prob[at], bound[at] = top.labels, top.log_prob, top.upper_bound
                    continue
                floor = np.full(len(at), -np.inf)
                relaxed = relax(part.scores, part.coupling, part._known)
                end = branch_and_bound(relaxed, part._strongest_first(), width, floor)
                kept = min(k, end.energy.shape[1])
                normaliser = part.log_normaliser().value
                found = end.labels[:, :kept]
                labels[at, :kept] = np.where(part._known[:, None] >= 0, part._known[:, None], found)
                log_prob[at, :kept] = end.energy[:, :kept] - normaliser[:, None]
                after = end.energy[:, k] if end.energy.shape[1] > k else np.full(len(at), -np.inf)
                bound[at] = np.maximum(end.dropped, after) - normaliser
        labels[np.isneginf(log_prob)] = -1
        return Ranked(labels, log_prob, np.maximum(bound, log_prob[:, -1]))
