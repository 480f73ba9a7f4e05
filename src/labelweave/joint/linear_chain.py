"""LinearConditionals of a chain: every primitive is a kernel.

What the positive labels of drawn vectors add to the log-odds of each label.

Chains whose conditionals have additive log-odds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.matrices import linear_scores
from labelweave._core import native
from labelweave.joint.chain import Populations, SearchedChain, population_sizes
from labelweave.joint.distribution import check_log_odds
from labelweave.joint.enumeration import MAX_ENUMERATED
from labelweave.joint.estimate import Quantity
from labelweave.joint.results import Mode, Ranked, SearchedMode, SearchLimits
from labelweave.joint.search import require_few_labels


def coupling_sums(labels: Labels, coupling: Floats, n_threads: int) -> Floats:
    """Return Σ_k coupling_jk y_k for every label j of (n, m, L) vectors y, in the same shape."""
    # Few labels of a vector are positive. Not BLAS: the same bits in every batch of rows.
    positive = sp.csr_array(labels.reshape(-1, labels.shape[2]), dtype=np.float64)
    sums = linear_scores(positive, coupling, np.zeros(len(coupling)), n_threads)
    return sums.reshape(labels.shape)


# Steps that fit the relaxation to a row: 500 would close about a tenth of the gaps that remain.
RELAXATION_STEPS = 200


class ChainJoint(SearchedChain):
    """P(y) = Π_j P(y_j | earlier labels) with log-odds z_j = scores_j + Σ_k coupling_jk y_k.

    Logistic regression, naive Bayes and maximum entropy conditionals all have this form; a tree is
    a chain in which every label has at most one non-zero coupling. Compiled kernels do the work.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of each label when no earlier label is positive.
    coupling : (L, L) array
        ``coupling[j, k]`` is what a positive label k adds to the log-odds of label j; zero unless
        k comes before j in ``order``.
    order : (L,) array of int, optional
        The labels in the order of the chain; by default 0 … L−1.
    label_names, row_ids, n_threads
        As in `JointDistribution`.

    Notes
    -----
    At most 16 unknown labels are enumerated and exact. `mode` searches with an upper bound, which
    always ends for up to 20 unknown labels and for most longer chains fitted to data. Rows left
    open, such as those of flat chains, get a tighter bound from a relaxation of all couplings at
    once, if at most 380 labels are unknown, and ``gap`` says what remains. Conditioning
    is exact while at most 16 unknown labels influence the evidence; beyond that `log_prob` of a
    conditioned chain carries the error that `evidence_log_prob` states.

    Examples
    --------
    The second label follows the first:

    >>> import numpy as np
    >>> joint = ChainJoint(np.array([[0.0, -2.0]]), np.array([[0.0, 0.0], [4.0, 0.0]]))
    >>> joint.marginals().round(3)
    array([[0.5, 0.5]])
    >>> joint.condition({1: 1}).marginals().round(3)
    array([[0.881, 1. ]])
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        coupling: npt.ArrayLike,
        order: npt.ArrayLike | None = None,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        self.scores = check_log_odds(scores, "scores")
        super().__init__(
            len(self.scores),
            self.scores.shape[1],
            order,
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )
        self.coupling = check_log_odds(coupling, "coupling")
        self._check_coupling()

    def _check_coupling(self) -> None:
        if self.coupling.shape != (self.n_labels, self.n_labels):
            raise ValueError(
                f"coupling must be {self.n_labels} x {self.n_labels}, one row and one column per "
                f"label; its shape is {self.coupling.shape}"
            )
        along = self.coupling[np.ix_(self.order, self.order)]
        late = np.argwhere(np.triu(along))
        if len(late):
            label, cause = self.order[late[0]]
            raise ValueError(
                f"coupling[{label}, {cause}] must be zero: label {cause} does not come before "
                f"label {label} in order"
            )

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.scores = self.scores[index]
        return part

    def conditional_log_odds(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label`` in ``rows`` given the labels set in ``prefix``."""
        return np.asarray(self.scores[rows, label] + prefix @ self.coupling[label])

    def _scaled(self, factor: float) -> Self:
        chain = self[:]
        chain.scores, chain.coupling = factor * self.scores, factor * self.coupling
        return chain

    def _prefix_log_odds(self, labels: Labels) -> Floats:
        # The zeros of `coupling` hide the later labels.
        return self.scores[:, None, :] + coupling_sums(labels, self.coupling, self.n_threads)

    def _log_joint(self, labels: Labels) -> Floats:
        out = np.empty(self.n_rows)
        native.chain_log_prob(self.scores, self.coupling, self.order, labels, out, self.n_threads)
        return out

    def _complete(self, labels: Labels, seed: int) -> Floats:
        log_weight = np.empty(labels.shape[:2])
        native.chain_sample(
            self.scores,
            self.coupling,
            self.order,
            self.row_ids,
            seed,
            labels,
            log_weight,
            self.n_threads,
        )
        return log_weight

    def _populate(
        self,
        known: Labels,
        order: Indices,
        sizes: tuple[int, int],
        seed: int,
        *,
        vectors: bool = True,
    ) -> Populations:
        n_populations, size = sizes
        found = Populations.empty(known, n_populations, size if vectors else 0)
        native.chain_populations(
            self.scores,
            self.coupling,
            order,
            known,
            self.row_ids,
            seed,
            size,
            found.marginals,
            found.log_evidence,
            found.quantum,
            found.labels,
            found.log_weight,
            self.n_threads,
        )
        return found

    def _cells_per_row(self, quantity: Quantity, k: int) -> int:
        if quantity == "marginals" and not (self._known >= 0).any():
            return 2 * population_sizes(k)[0] * self.n_labels  # no vectors are asked for
        return super()._cells_per_row(quantity, k)

    def _follow(self, labels: Labels) -> tuple[Floats, Floats]:
        log_joint, bound = np.empty(self.n_rows), np.empty(self.n_rows)
        native.chain_greedy(
            self.scores, self.coupling, self.order, labels, log_joint, bound, self.n_threads
        )
        return log_joint, bound

    def _log_joint_table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        slot = np.full(self.n_labels, -1, dtype=np.int64)
        slot[free] = np.arange(len(free))
        out = np.empty((self.n_rows, 2 ** len(free)))
        native.chain_table(self.scores, self.coupling, order, known, slot, out, self.n_threads)
        return out

    def _exact(self, quantity: Quantity) -> Floats:
        kernels: dict[Quantity, Callable[..., None]] = {
            "cardinality": native.chain_cardinality,
            "cardinality_by_label": native.chain_cardinality_by_label,
        }
        # What evidence does to earlier labels is left to the table.
        few = 0 < self.n_labels <= MAX_ENUMERATED
        if quantity not in kernels or not few or (self._known >= 0).any():
            return super()._exact(quantity)
        width = self.n_labels + 1
        shape = (width,) if quantity == "cardinality" else (self.n_labels, width)
        out = np.empty((self.n_rows, *shape))
        kernels[quantity](self.scores, self.coupling, self.order, out, self.n_threads)
        return out

    def _search(self, limits: SearchLimits, floor: Floats, log_mass: Floats) -> SearchedMode:
        labels, nodes = self._known.copy(), np.empty(self.n_rows, dtype=np.int64)
        log_joint, bound = np.empty(self.n_rows), np.empty(self.n_rows)
        native.chain_search(
            self.scores,
            self.coupling,
            self.order,
            limits.budget,
            limits.epsilon,
            limits.seconds,
            floor,
            log_mass,
            labels,
            log_joint,
            bound,
            nodes,
            self.n_threads,
        )
        return SearchedMode(labels, log_joint, bound, nodes)

    def exhaustive_mode(self, max_labels: int, *, prune: bool = True) -> Mode:
        """Return the mode by a best-first search without a budget, or by enumeration."""
        if not prune:
            return super().exhaustive_mode(max_labels)
        require_few_labels(self, max_labels)
        return self.best_first(SearchLimits(budget=2**63))

    def _beam_search(self, width: int) -> tuple[Labels, Floats]:
        labels, bound = self._known.copy(), np.empty(self.n_rows)
        native.chain_beam(
            self.scores, self.coupling, self.order, width, labels, bound, self.n_threads
        )
        return labels, bound

    def _beam_list(self, k: int, width: int) -> Ranked:
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        log_joint, bound = np.empty((self.n_rows, k)), np.empty(self.n_rows)
        native.chain_beam_list(
            self.scores,
            self.coupling,
            self.order,
            self._known,
            width,
            labels,
            log_joint,
            bound,
            self.n_threads,
        )
        return Ranked(labels, log_joint, bound)

    def tighten(self, found: Mode, budget: int) -> Mode:
        """Search once more under the bound of a relaxation of all couplings at once."""
        labels, normaliser = found.labels.copy(), self._normaliser.value
        log_joint, bound = np.empty(self.n_rows), np.empty(self.n_rows)
        native.chain_relaxed_search(
            self.scores,
            self.coupling,
            self.order,
            self._known,
            RELAXATION_STEPS,
            min(budget, 2**63),
            labels,
            log_joint,
            bound,
            self.n_threads,
        )
        return found.or_better(Mode(labels, log_joint - normaliser, bound - normaliser))

    def _ancestors(self, labels: Indices) -> Indices:
        needed = np.zeros(self.n_labels, dtype=np.bool_)
        needed[labels] = True
        for label in self.order[::-1]:
            if needed[label]:
                needed |= self.coupling[label] != 0
        return self.order[needed[self.order]]
