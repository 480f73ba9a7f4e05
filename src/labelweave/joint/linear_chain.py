"""Linear conditionals of a chain: the log-odds of label j are scores_j + Σ_k coupling_jk y_k.

Every primitive is a compiled kernel. Formulas: docs/design/math.md, section 2.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_matrix
from labelweave._common.matrices import linear_scores
from labelweave._core import native
from labelweave.joint.capabilities import Limits
from labelweave.joint.conditionals import Populations, check_order
from labelweave.joint.enumeration import MAX_ENUMERATED
from labelweave.joint.results import Mode, Ranked

# A hundred million of these can be added up before a double overflows.
_MOST_LOG_ODDS = 1e300
# Steps that fit the relaxation to a row: 500 would close about a tenth of the gaps that remain.
RELAXATION_STEPS = 200


def check_log_odds(values: npt.ArrayLike, name: str) -> Floats:
    """``values`` as `check_matrix` gives them, bounded so that their sums are finite.

    Beyond a few hundred a log-odds is certainty, so that nothing changes but numbers that no double
    could hold.
    """
    matrix = check_matrix(values, name)
    if (
        np.max(matrix, initial=0.0) > _MOST_LOG_ODDS
        or np.min(matrix, initial=0.0) < -_MOST_LOG_ODDS
    ):
        return np.clip(matrix, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
    return matrix


def check_coupling(coupling: npt.ArrayLike, n_labels: int) -> Floats:
    """``coupling`` as an (L, L) matrix of log-odds."""
    matrix = check_log_odds(coupling, "coupling")
    if matrix.shape != (n_labels, n_labels):
        raise ValueError(
            f"coupling must be {n_labels} x {n_labels}, one row and one column per label; its "
            f"shape is {matrix.shape}"
        )
    return matrix


def coupling_sums(labels: Labels, coupling: Floats, n_threads: int) -> Floats:
    """Return Σ_k coupling_jk y_k for every label j of (n, m, L) vectors y, in the same shape."""
    # Few labels of a vector are positive. Not BLAS: the same bits in every batch of rows.
    positive = sp.csr_array(labels.reshape(-1, labels.shape[2]), dtype=np.float64)
    sums = linear_scores(positive, coupling, np.zeros(len(coupling)), n_threads)
    return sums.reshape(labels.shape)


class LinearScores:
    """Conditionals with log-odds ``scores`` (n, L) and what earlier labels add, ``coupling``."""

    def __init__(
        self,
        scores: npt.ArrayLike,
        coupling: npt.ArrayLike,
        order: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        self.scores = check_log_odds(scores, "scores")
        self.order = check_order(order, self.scores.shape[1])
        self.coupling = check_coupling(coupling, len(self.order))
        self.n_threads = int(n_threads)
        self._check_order()

    def _check_order(self) -> None:
        along = self.coupling[np.ix_(self.order, self.order)]
        late = np.argwhere(np.triu(along))
        if len(late):
            label, cause = self.order[late[0]]
            raise ValueError(
                f"coupling[{label}, {cause}] must be zero: label {cause} does not come before "
                f"label {label} in order"
            )

    @property
    def linear(self) -> tuple[Floats, Floats] | None:
        return self.scores, self.coupling

    def take(self, rows: Indices) -> Self:
        part = copy.copy(self)
        part.scores = self.scores[rows]
        return part

    def scaled(self, factor: float) -> Self:
        part = copy.copy(self)
        part.scores, part.coupling = factor * self.scores, factor * self.coupling
        return part

    def ancestors(self, labels: Indices) -> Indices:
        needed = np.zeros(len(self.order), dtype=np.bool_)
        needed[labels] = True
        for label in self.order[::-1]:
            if needed[label]:
                needed |= self.coupling[label] != 0
        return self.order[needed[self.order]]

    # ------------------------------------------------------------------ probabilities

    def log_odds_of(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        return np.asarray(self.scores[rows, label] + prefix @ self.coupling[label])

    def log_odds(self, vectors: Labels) -> Floats:
        # The zeros of `coupling` hide the later labels.
        return self.scores[:, None, :] + coupling_sums(vectors, self.coupling, self.n_threads)

    def _kernel(self, kernel: Callable[..., None], *arguments: object) -> None:
        kernel(self.scores, self.coupling, *arguments, self.n_threads)

    def log_joint(self, vectors: Labels) -> Floats:
        n, k, n_labels = vectors.shape
        scores = self.scores if k == 1 else np.repeat(self.scores, k, axis=0)
        flat, out = np.ascontiguousarray(vectors.reshape(n * k, n_labels)), np.empty(n * k)
        native.chain_log_prob(scores, self.coupling, self.order, flat, out, self.n_threads)
        return out.reshape(n, k)

    def table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        slot = np.full(len(self.order), -1, dtype=np.int64)
        slot[free] = np.arange(len(free))
        out = np.empty((len(self.scores), 2 ** len(free)))
        self._kernel(native.chain_table, order, known, slot, out)
        return out

    def cardinality(self, *, by_label: bool) -> Floats | None:
        n, n_labels = self.scores.shape
        if not 0 < n_labels <= MAX_ENUMERATED:
            return None
        out = np.empty((n, n_labels, n_labels + 1) if by_label else (n, n_labels + 1))
        kernel = native.chain_cardinality_by_label if by_label else native.chain_cardinality
        self._kernel(kernel, self.order, out)
        return out

    # ------------------------------------------------------------------ draws

    def complete(self, vectors: Labels, row_ids: Indices, seed: int) -> tuple[Labels, Floats]:
        labels, log_weight = vectors.copy(), np.empty(vectors.shape[:2])
        self._kernel(native.chain_sample, self.order, row_ids, seed, labels, log_weight)
        return labels, log_weight

    def populate(
        self,
        known: Labels,
        order: Indices,
        sizes: tuple[int, int],
        row_ids: Indices,
        seed: int,
        *,
        vectors: bool = True,
    ) -> Populations:
        n_populations, size = sizes
        found = Populations.empty(known, n_populations, size if vectors else 0)
        outputs = (found.marginals, found.log_evidence, found.quantum)
        vectors_left = (found.labels, found.log_weight)
        walked = (order, known, row_ids, seed, size)
        self._kernel(native.chain_populations, *walked, *outputs, *vectors_left)
        return found

    # ------------------------------------------------------------------ search

    def search(
        self,
        known: Labels,
        limits: Limits,
        floor: Floats,
        log_mass: Floats,
        start: Labels | None = None,
    ) -> Mode:
        if limits.budget == 0:
            return self._greedy(known)
        if limits.relaxed:
            start = self._greedy(known).labels if start is None else start
            return self._relaxed(known, limits, start)
        nodes = np.empty(len(known), dtype=np.int64)
        found = Mode(known.copy(), np.empty(len(known)), np.empty(len(known)), nodes)
        stops = (limits.budget, limits.epsilon, limits.seconds, floor, log_mass)
        outputs = (found.labels, found.log_prob, found.upper_bound, nodes)
        self._kernel(native.chain_search, self.order, *stops, *outputs)
        return found

    def _greedy(self, known: Labels) -> Mode:
        """Return, label by label, the likelier value, under the interval bound."""
        found = Mode(known.copy(), np.empty(len(known)), np.empty(len(known)))
        outputs = (found.labels, found.log_prob, found.upper_bound)
        self._kernel(native.chain_greedy, self.order, *outputs)
        return found

    def _relaxed(self, known: Labels, limits: Limits, start: Labels) -> Mode:
        """Search under the bound of a relaxation of all couplings at once."""
        found = Mode(start.copy(), np.empty(len(known)), np.empty(len(known)))
        stops = (RELAXATION_STEPS, min(limits.budget, 2**63))
        outputs = (found.labels, found.log_prob, found.upper_bound)
        self._kernel(native.chain_relaxed_search, self.order, known, *stops, *outputs)
        return found

    def beam(self, known: Labels, k: int, width: int) -> Ranked:
        n, n_labels = known.shape
        labels = np.empty((n, k, n_labels), dtype=np.int8)
        found = Ranked(labels, np.empty((n, k)), np.empty(n))
        outputs = (found.labels, found.log_prob, found.upper_bound)
        self._kernel(native.chain_beam_list, self.order, known, width, *outputs)
        return found
