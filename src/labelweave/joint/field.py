"""FieldJoint: P(y) ∝ exp(s·y + ½ yᵀVy), labels coupled in pairs without a direction.

Fields whose coupled labels form a forest become trees. Fields with cycles are enumerated while they
are small; beyond that, annealed importance sampling (Neal, 2001) gives weighted draws: they begin
in the strongest forest of the field, and the other couplings are turned on step by step. Formulas:
docs/design/math.md, section 5 (the joint of a pairwise CRF).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal, Self, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import derive_seed
from labelweave._core import native
from labelweave.joint import quantities
from labelweave.joint.capabilities import Limits
from labelweave.joint.distribution import JointDistribution, RowOptions
from labelweave.joint.enumeration import (
    MAX_ENUMERATED,
    MAX_SEARCHED,
    Enumeration,
    enumerated_mode,
    log_sums,
    patterns,
    row_blocks,
)
from labelweave.joint.field_search import Frontier, Relaxation, branch_and_bound, climb, relax
from labelweave.joint.linear_chain import check_coupling, check_log_odds, coupling_sums
from labelweave.joint.quantities import Estimate, Quantity, log_mean, normalised_weights, resample
from labelweave.joint.results import TIE, Mode, Ranked, Rows, assembled, certified
from labelweave.joint.tree import MixtureOfTrees, TreeJoint, children_first, parents_of_forest

# How the rows of a pattern of known labels are dealt with.
RowKind: TypeAlias = Literal["forest", "table", "draws"]
# Weighted draws that stand for a row that can be neither enumerated nor written as a forest.
POOL_SIZE = 1024
# Partial vectors that a search for the k best ones keeps in each row, when k is not larger.
SEARCH_WIDTH = 256
# Partial vectors of all labels together that branch and bound may keep in each row.
WIDEST_FRONTIER = 2**20


class FieldJoint(JointDistribution):
    """P(y) ∝ exp(Σ_j s_j y_j + Σ_{i<j} V_ij y_i y_j): every label leans on every other.

    **Exact** in every query where the coupled labels form a forest and, by enumeration, while at
    most 16 labels are unknown (20 for `log_prob` and `mode`). Beyond, the normaliser is estimated
    by 1024 weighted draws: `log_normaliser` gives it with its standard error, which is also that of
    `log_prob`. Modes come from branch and bound, with a bound that always holds.

    Evidence goes into the scores of the labels coupled to it, so a posterior is a field again.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of each label when all others are 0.
    coupling : (L, L) array
        Symmetric with zero diagonal: what two labels add to each other's log-odds.
    **rows
        ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`.

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

    exact_powers: ClassVar[bool] = True
    search_first: ClassVar[bool] = True
    lists_first: ClassVar[bool] = False

    def __init__(
        self,
        scores: npt.ArrayLike,
        coupling: npt.ArrayLike,
        **rows: Unpack[RowOptions],
    ) -> None:
        self.scores = check_log_odds(scores, "scores")
        super().__init__(*self.scores.shape, **rows)
        self.coupling = _check_symmetric(check_coupling(coupling, self.n_labels))
        self._known = np.full(self.scores.shape, -1, dtype=np.int8)
        self._normaliser: Estimate | None = None

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.scores, part._known = self.scores[index], self._known[index]
        if self._normaliser is not None:
            part._normaliser = self._normaliser[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    def power(self, exponent: float) -> Self:
        """Return the field with scores and couplings times ``exponent``."""
        joint = self._copy()
        joint.scores, joint.coupling = exponent * self.scores, exponent * self.coupling
        joint._normaliser = None
        return joint

    def as_trees(self) -> MixtureOfTrees | None:
        """Return the field as one tree, or None if its couplings have a cycle."""
        if self.n_rows == 0 or not is_forest(self.coupling):
            return None
        rows: RowOptions = {"row_ids": self.row_ids}
        return forest_of(self.scores, self.coupling, self._known, rows).as_trees()

    # ------------------------------------------------------------------ kinds of rows

    def _parts(self, max_labels: int = MAX_ENUMERATED) -> Iterator[tuple[RowKind, Indices]]:
        """Yield rows that share their unknown labels, and how they are dealt with."""
        for rows, unknown in patterns(self._known):
            if is_forest(self.coupling[np.ix_(unknown, unknown)]):
                yield "forest", rows
            else:
                yield ("table" if unknown.sum() <= max_labels else "draws"), rows

    def _blocks(
        self, cells: int, max_labels: int = MAX_ENUMERATED
    ) -> Iterator[tuple[RowKind, Indices, Self]]:
        """Yield the parts of the batch in blocks of rows that need about ``cells`` numbers each."""
        for kind, rows in self._parts(max_labels):
            n_unknown = int((self._known[rows[0]] < 0).sum())
            table = 2**n_unknown if kind == "table" else 1
            for block in row_blocks(len(rows), max(cells, table)):
                yield kind, rows[block], self[rows[block]]

    def _forest(self) -> TreeJoint:
        """Return the strongest forest as a tree; rows share their unknown labels."""
        unknown = (self._known < 0).any(axis=0)
        coupling = self.coupling * np.outer(unknown, unknown)
        return forest_of(self.scores, coupling, self._known, self._rows())

    # ------------------------------------------------------------------ energy and normaliser

    def _energy(self, labels: Labels) -> Floats:
        """s·y + ½ yᵀVy over the unknown labels of (n, k, L) vectors, (n, k)."""
        active = np.where(self._known[:, None, :] < 0, labels, 0).astype(np.float64)
        energy = np.zeros(labels.shape[:2])
        for label in range(self.n_labels):
            # Sums row by row, not a product of matrices: the same bits in every batch.
            pairs = (active[:, :, :label] * self.coupling[label, :label]).sum(axis=2)
            energy += active[:, :, label] * (self.scores[:, None, label] + pairs)
        return energy

    def _energies(self, free: Indices) -> Floats:
        """(n, 2^f) energies of all values of the unknown labels ``free``."""
        table = np.zeros((self.n_rows, 2 ** len(free)))
        pairs = np.zeros((len(free), 1))  # what the labels so far add to each later one
        for t, label in enumerate(free):
            half = table[:, 2**t : 2 ** (t + 1)]  # with this label; before it, without
            np.add(self.scores[:, label, None], pairs[t], out=half)
            half += table[:, : 2**t]
            pairs = np.concatenate([pairs, pairs + self.coupling[free, label, None]], axis=1)
        return table

    def log_normaliser(self) -> Estimate:
        """Log of the sum of exp(energy) over all vectors that agree with what is known.

        Its standard error is that of `log_prob`; zero where it is exact.
        """
        if self._normaliser is None:
            self._normaliser = self._log_normaliser()
        return self._normaliser

    def _log_normaliser(self) -> Estimate:
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for kind, rows, part in self._blocks(POOL_SIZE * self.n_labels, MAX_SEARCHED):
            exact[rows] = kind != "draws"
            if kind == "table":
                free = np.flatnonzero(part._known[0] < 0)
                value[rows] = log_sums(part._energies(free))[:, 0]
                continue
            # The vector without a positive unknown label has energy zero.
            forest = part._forest()
            value[rows] = -forest._log_prob_of(np.maximum(part._known, 0))
            if kind == "draws":
                ratio, error[rows] = log_mean(part._pool(forest, 0)[1])
                value[rows] += ratio
        return Estimate(value, error, exact)

    def _pool(self, forest: TreeJoint, seed: int, k: int = POOL_SIZE) -> tuple[Labels, Floats]:
        """Weighted draws of rows that share their unknown labels."""
        return anneal(self.scores, self.coupling, forest, self._known, k, derive_seed(seed, 1))

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, vectors: Labels) -> Floats:
        known = self._known[:, None, :]
        possible = ((known < 0) | (known == vectors)).all(axis=2)
        energy = self._energy(vectors) - self.log_normaliser().value[:, None]
        return np.where(possible, energy, -np.inf)

    def _table(self, free: Indices) -> Floats:
        table = self._energies(free)
        # Energies may be so large that the logarithm of a sum of them would round to the highest.
        table -= table.max(axis=1, keepdims=True)
        table -= log_sums(table)
        return table

    def log_prob_error(self) -> Floats:
        """Return the standard error of the normaliser, (n,)."""
        return self.log_normaliser().standard_error

    def _is_exact(self, quantity: Quantity) -> Mask:
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for kind, rows in self._parts():
            exact[rows] = kind != "draws"
        return exact

    def _exact(self, quantity: Quantity) -> Floats:
        out = np.empty(quantities.shape(self, quantity))
        for kind, rows in self._parts():
            part = self[rows]
            if kind == "forest":
                out[rows] = part._forest()._exact(quantity)
            else:
                out[rows] = quantities.by_enumeration(part, quantity)
        return out

    def _marginal_log_odds(self) -> Floats:
        out = np.empty((self.n_rows, self.n_labels))
        for kind, rows in self._parts():
            part = self[rows]
            if kind == "forest":
                out[rows] = part._forest()._marginal_log_odds()
            else:
                out[rows] = quantities.log_odds_by_enumeration(part)
        return out

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        draws = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        for kind, rows, part in self._blocks(POOL_SIZE * self.n_labels):
            uniform = part._uniform(seed, k, 0)
            if kind == "forest":
                draws[rows] = part._forest()._sample(k, seed)
            elif kind == "table":
                free = np.flatnonzero(part._known[0] < 0)
                draws[rows] = Enumeration(part._table(free), free, part._known).draw(uniform)
            else:
                pool, log_weight = part._pool(part._forest(), seed)
                draws[rows] = resample(pool, normalised_weights(log_weight), uniform)
        return draws

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        log_weight = np.zeros((self.n_rows, k))
        for kind, rows in self._parts():
            part = self[rows]
            if kind == "draws":
                labels[rows], log_weight[rows] = part._pool(part._forest(), seed, k)
            else:
                labels[rows] = part._sample(k, seed)
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given all other labels; those that are known are part of the scores already."""
        active = np.where(self._known[:, None, :] < 0, labels, 0)
        sums = coupling_sums(active, self.coupling, self.n_threads)
        return np.asarray(expit(self.scores[:, None, :] + sums))

    # ------------------------------------------------------------------ Bayes' rule

    def _given(self, known: Labels) -> Self:
        """Return the field of the other labels once ``known`` are known, its normaliser open.

        A known label moves into the scores of the labels coupled to it.
        """
        posterior = self._copy()
        fresh = (known >= 0) & (self._known < 0)
        scores = self.scores.copy()
        for label in range(self.n_labels):
            positive = fresh[:, label] & (known[:, label] == 1)
            scores += positive[:, None] * self.coupling[label]
        posterior.scores = scores
        posterior._known = np.where(self._known >= 0, self._known, known)
        posterior._normaliser = None
        return posterior

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        """Return the posterior field, and log P(e) = energy(e) + log Z(given e) − log Z."""
        posterior = self._given(known)
        after, prior = posterior.log_normaliser(), self.log_normaliser()
        energy = self._energy(np.maximum(known, 0)[:, None, :])[:, 0]
        contradiction = ((self._known >= 0) & (known >= 0) & (known != self._known)).any(axis=1)
        nothing_new = ((known < 0) | (self._known >= 0)).all(axis=1)
        value = np.where(nothing_new, 0.0, energy + after.value - prior.value)
        value = np.where(contradiction, -np.inf, np.minimum(value, 0.0))
        error = np.where(nothing_new, 0.0, np.hypot(after.standard_error, prior.standard_error))
        return posterior, Estimate(value, error, nothing_new | (after.exact & prior.exact))

    # ------------------------------------------------------------------ search

    def search(self, limits: Limits, start: Mode | None = None) -> Mode:
        """Return the mode of a closed form, or the best vector of branch and bound.

        The budget is divided by the number of labels, since each is fixed in turn.
        """
        if limits.budget == 0:
            return self._found(0)
        return self._found(max(1, min(limits.budget, WIDEST_FRONTIER) // self.n_labels))

    def _found(self, width: int) -> Mode:
        """Return modes of closed forms, and the best vectors of a search; ``width`` 0 climbs."""
        parts: list[tuple[Rows, Mode]] = []
        for kind, rows, part in self._blocks(self._search_cells(width)):
            if kind == "forest":
                found = part._forest_mode()
            elif width == 0:
                found = part._climb(part._relaxed())
            else:
                found = enumerated_mode(part) if kind == "table" else part._branch(width)
            if found.nodes is None:
                found = replace(found, nodes=np.zeros(len(rows), dtype=np.int64))
            parts.append((rows, found))
        return assembled(self.n_rows, parts or [(slice(None), enumerated_mode(self))])

    def _forest_mode(self) -> Mode:
        labels = self._forest().closed_mode().labels
        log_prob = self._log_prob_of(labels)
        return Mode(labels, log_prob, log_prob.copy())

    def _relaxed(self) -> Relaxation:
        return relax(self.scores, self.coupling, self._known)

    def _climb(self, relaxed: Relaxation) -> Mode:
        """Climb from the mode of the strongest forest, flipping one label at a time."""
        start = self._forest().closed_mode().labels
        labels = climb(self.scores, self.coupling, self._known, start)
        normaliser = self.log_normaliser()
        log_prob = self._log_prob_of(labels)
        bound = relaxed.bound() - normaliser.value
        bound = np.where(bound <= log_prob + TIE, log_prob, bound)
        return certified(labels, log_prob, bound, normaliser.exact)

    def _branch(self, width: int) -> Mode:
        """Search rows that share their unknown labels, from where climbing ends."""
        relaxed = self._relaxed()
        start, normaliser = self._climb(relaxed), self.log_normaliser().value
        end = self._frontier(relaxed, width, start.log_prob + normaliser)
        labels = np.where(self._known >= 0, self._known, end.labels[:, 0])
        found = self._log_prob_of(labels)
        better = np.isfinite(end.energy[:, 0]) & (found > start.log_prob)
        labels = np.where(better[:, None], labels, start.labels)
        log_prob = np.where(better, found, start.log_prob)
        bound = np.minimum(start.upper_bound, end.dropped - normaliser)
        bound = np.where(bound <= log_prob + TIE, log_prob, bound)
        return Mode(labels, log_prob, bound, end.nodes)

    def _frontier(self, relaxed: Relaxation, width: int, floor: Floats) -> Frontier:
        # Labels with the strongest couplings come first: they decide about the others.
        order = np.argsort(-np.abs(self.coupling).sum(axis=1), kind="stable")
        return branch_and_bound(relaxed, order, width, floor)

    def _search_cells(self, width: int) -> int:
        return 4 * self.n_labels * (width + self.n_labels)

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return the ``k`` best vectors that branch and bound ends with; a single one climbs."""
        width = max(k, width or SEARCH_WIDTH)
        if k == 1:
            mode = self._found(width)
            return Ranked(mode.labels[:, None], mode.log_prob[:, None], mode.upper_bound)
        parts: list[tuple[Rows, Ranked]] = [
            (rows, part._forest().top(k) if kind == "forest" else part._listed(k, width))
            for kind, rows, part in self._blocks(self._search_cells(width))
        ]
        return assembled(self.n_rows, parts or [(slice(None), self._forest().top(k))])

    def _listed(self, k: int, width: int) -> Ranked:
        """List the vectors of rows that share their unknown labels."""
        end = self._frontier(self._relaxed(), width, np.full(self.n_rows, -np.inf))
        known, normaliser = self._known[:, None], self.log_normaliser().value
        labels = np.where(known >= 0, known, end.labels[:, :k])
        after = end.energy[:, k] if end.energy.shape[1] > k else np.full(self.n_rows, -np.inf)
        others = np.maximum(end.dropped, after) - normaliser
        return Ranked.padded(labels, end.energy[:, :k] - normaliser[:, None], k, others)


def _check_symmetric(matrix: Floats) -> Floats:
    """Return ``matrix`` if it is symmetric with zero diagonal."""
    if not np.array_equal(matrix, matrix.T):
        raise ValueError("coupling must be symmetric: give (coupling + coupling.T) / 2")
    if np.diag(matrix).any():
        raise ValueError("coupling must have a zero diagonal: add it to the scores")
    return matrix


# ---------------------------------------------------------------------- forests


def is_forest(coupling: Floats) -> bool:
    """Whether no cycle of labels is coupled: edges + components = labels."""
    n_components = int(connected_components(csr_array(coupling), directed=False)[0])
    n_edges = int(np.count_nonzero(np.triu(coupling, 1)))
    return n_edges + n_components == len(coupling)


def strongest_forest(coupling: Floats) -> Indices:
    """Parents of the spanning forest with the largest sum of absolute couplings; -1 for a root."""
    # The lightest tree of negative weights is the heaviest; zero means no edge, as it should.
    forest = minimum_spanning_tree(csr_array(-np.abs(np.triu(coupling, 1))))
    return parents_of_forest(forest, np.zeros(len(coupling), dtype=np.int64))


def edges_of(parents: Indices) -> Floats:
    """(L, L) symmetric 0/1 mask of the edges of a forest."""
    mask = np.zeros((len(parents), len(parents)))
    children = np.flatnonzero(parents >= 0)
    mask[children, parents[children]] = mask[parents[children], children] = 1.0
    return mask


def tree_logits(scores: Floats, coupling: Floats, parents: Indices, known: Labels) -> Floats:
    """Log-odds (n, L, 2) of the tree of labels that a field over a forest is.

    Children are summed out from the leaves up. A child with log-odds a, its own children summed
    out, multiplies the odds of its parent by (1 + e^(a + v)) / (1 + e^a). A known label is already
    in the scores of its neighbours and takes no part.
    """
    free = known < 0
    log_odds = scores.copy()
    logits = np.empty((*scores.shape, 2))
    for label in children_first(parents):
        parent = parents[label]
        own = log_odds[:, label]
        v = np.zeros(len(scores))
        if parent >= 0:
            v = coupling[label, parent] * (free[:, label] & free[:, parent])
            log_odds[:, parent] += np.logaddexp(0.0, own + v) - np.logaddexp(0.0, own)
        logits[:, label, 0], logits[:, label, 1] = own, own + v
    certain = np.where(known == 1, np.inf, -np.inf)
    return np.where(free[:, :, None], logits, certain[:, :, None])


# ---------------------------------------------------------------------- annealed draws

# Steps in which the couplings outside the forest are turned on.
STEPS = 24


def forest_of(scores: Floats, coupling: Floats, known: Labels, rows: RowOptions) -> TreeJoint:
    """Return the field without the couplings outside its strongest forest."""
    parents = strongest_forest(coupling)
    return TreeJoint(tree_logits(scores, coupling, parents, known), parents, **rows)


def anneal(
    scores: Floats, coupling: Floats, forest: TreeJoint, known: Labels, k: int, seed: int
) -> tuple[Labels, Floats]:
    """Return (n, k, L) draws and their (n, k) log-weights, whose mean is Z / Z of the forest."""
    inside = edges_of(forest.parents) * coupling
    labels, log_weight = forest.sample(k, seed), np.empty((len(scores), k))
    seeds = np.array([derive_seed(seed, step) for step in range(STEPS)], dtype=np.uint64)
    native.field_anneal(
        scores,
        inside,
        coupling - inside,
        known,
        forest.row_ids,
        seeds,
        labels,
        log_weight,
        forest.n_threads,
    )
    return labels, log_weight
