"""Labels that are coupled in pairs, without a direction: a Markov random field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Indices
from labelweave.joint import _checks as checks
from labelweave.joint import _field_search as search
from labelweave.joint._field_form import FieldForm
from labelweave.joint.enumeration import MAX_ENUMERATED, MAX_SEARCHED, row_blocks
from labelweave.joint.mode import Mode, Ranked, SearchedMode, certified

# Partial vectors that `mode` and `top` keep in each row.
SEARCH_WIDTH = 256


class FieldJoint(FieldForm):
    """P(y) ∝ exp(Σ_j s_j y_j + Σ_{i<j} V_ij y_i y_j): every label leans on every other.

    **Exact** in every question where the coupled labels form a forest (it becomes a `TreeJoint`)
    and, by enumeration, while at most 16 labels are unknown (20 for `log_prob` and `mode`). Beyond,
    the normaliser is estimated by 1024 weighted draws (annealed importance sampling from the
    strongest forest): `log_normaliser` gives it with its standard error, which is also that of
    `log_prob`. Modes come from branch and bound, with a bound that always holds.

    Evidence goes into the scores of the labels coupled to it, so a posterior is a field again; it
    is judged anew which rows are exact, as known labels may leave a forest.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of each label when all others are 0.
    coupling : (L, L) array
        Symmetric with zero diagonal: what two labels add to each other's log-odds.
    label_names, row_ids, n_threads
        As in `JointDistribution`.

    Examples
    --------
    Three labels that like to come together:

    >>> import numpy as np
    >>> joint = FieldJoint(np.array([[-2.5, -2.5, -2.5]]), 2.0 * (1 - np.eye(3)))
    >>> joint.mode().labels
    array([[0, 0, 0]], dtype=int8)
    >>> joint.marginals().round(3)
    array([[0.25, 0.25, 0.25]])
    >>> joint.condition({0: 1}).marginals().round(3)
    array([[1.   , 0.674, 0.674]])
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        coupling: npt.ArrayLike,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        super().__init__(
            checks.check_log_odds(scores, "scores"),
            coupling,
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )

    def _mode(self) -> Mode:
        """Return the mode, proven unless that takes too long, and a bound where it is not."""
        found = self._searched(SEARCH_WIDTH)
        settled = ~found.optimal & ((self._known < 0).sum(axis=1) <= MAX_SEARCHED)
        return found.replaced(settled, self[settled]._exhaustive_mode(MAX_SEARCHED))

    def _searched(self, width: int) -> SearchedMode:
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
                    mode = part._exhaustive_mode(MAX_ENUMERATED)
                else:
                    mode = part._branch_and_bound(width)
                    found.nodes[rows[block]] = mode.nodes
                found.labels[rows[block]] = mode.labels
                found.log_prob[rows[block]] = mode.log_prob
                found.upper_bound[rows[block]] = mode.upper_bound
        return found

    def _forest_mode(self) -> Mode:
        labels = self._forest()._mode().labels
        log_prob = self._log_prob(labels)
        return Mode(labels, log_prob, log_prob.copy())

    def _branch_and_bound(self, width: int) -> SearchedMode:
        """Search rows that share their unknown labels, from where climbing ends."""
        split = search.split(self.scores, self.coupling, self._known)
        start = self._climbed(split)
        normaliser = self.log_normaliser()
        floor = start.log_prob + normaliser.value
        end = search.branch_and_bound(split, self._order(), width, floor)
        labels = np.where(self._known >= 0, self._known, end.labels[:, 0])
        found = self._log_prob(labels)
        better = np.isfinite(end.energy[:, 0]) & (found > start.log_prob)
        labels = np.where(better[:, None], labels, start.labels)
        log_prob = np.where(better, found, start.log_prob)
        bound = np.minimum(start.upper_bound, end.dropped - normaliser.value)
        bound = np.where(bound <= log_prob + search.TIE, log_prob, bound)
        return SearchedMode(labels, log_prob, bound, end.nodes)

    def _climbed(self, split: search.Split) -> Mode:
        """Climb from the mode of the strongest forest, flipping one label at a time."""
        start = self._forest()._mode().labels
        labels = search.climb(start, self.scores, self.coupling, self._known)
        normaliser = self.log_normaliser()
        log_prob = self._log_prob(labels)
        bound = split.bound() - normaliser.value
        bound = np.where(bound <= log_prob + search.TIE, log_prob, bound)
        return certified(labels, log_prob, bound, normaliser.exact)

    def _greedy_mode(self) -> Mode:
        labels = np.empty((self.n_rows, self.n_labels), dtype=np.int8)
        log_prob, bound = np.empty(self.n_rows), np.empty(self.n_rows)
        for kind, rows in self._parts():
            for block in row_blocks(len(rows), self._search_cells(1)):
                part = self[rows[block]]
                if kind == "forest":
                    mode = part._forest_mode()
                else:
                    split = search.split(part.scores, part.coupling, part._known)
                    mode = part._climbed(split)
                labels[rows[block]] = mode.labels
                log_prob[rows[block]], bound[rows[block]] = mode.log_prob, mode.upper_bound
        return Mode(labels, log_prob, bound)

    def _order(self) -> Indices:
        """Return the labels with the strongest couplings first: they decide about the others."""
        return np.argsort(-np.abs(self.coupling).sum(axis=1), kind="stable")

    def _search_cells(self, width: int) -> int:
        return 4 * self.n_labels * (width + self.n_labels)

    def _top_by_search(self, k: int) -> Ranked:
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
                split = search.split(part.scores, part.coupling, part._known)
                end = search.branch_and_bound(split, part._order(), width, floor)
                kept = min(k, end.energy.shape[1])
                normaliser = part.log_normaliser().value
                found = end.labels[:, :kept]
                labels[at, :kept] = np.where(part._known[:, None] >= 0, part._known[:, None], found)
                log_prob[at, :kept] = end.energy[:, :kept] - normaliser[:, None]
                after = end.energy[:, k] if end.energy.shape[1] > k else np.full(len(at), -np.inf)
                bound[at] = np.maximum(end.dropped, after) - normaliser
        labels[np.isneginf(log_prob)] = -1
        return Ranked(labels, log_prob, np.maximum(bound, log_prob[:, -1]))
