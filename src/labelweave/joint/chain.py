"""ChainJoint: P(y) = Π_j P(y_j | earlier labels), along an order of the labels.

The chain rule holds for conditionals of any kind. They know nothing of evidence: the
log-probability of a vector before conditioning is called its *log-joint*. Evidence clamps labels:
the conditionals of clamped labels become weights, and only their *ancestors*, the labels they
depend on, have to be summed over to normalise. All other labels are still drawn one after the
other. So conditioning is exact while at most 16 unknown labels are ancestors of the evidence, and
uses populations of weighted prefixes beyond. Quantities of long chains come from such populations
too. Formulas: docs/design/math.md, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Self, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_whole_number, derive_seed
from labelweave.joint import quantities
from labelweave.joint.capabilities import Limits
from labelweave.joint.conditionals import LogOdds, Populations, population_sizes
from labelweave.joint.distribution import JointDistribution, RowOptions
from labelweave.joint.enumeration import MAX_ENUMERATED, Enumeration, patterns, row_blocks
from labelweave.joint.function_chain import FunctionConditionals
from labelweave.joint.linear_chain import LinearScores
from labelweave.joint.quantities import (
    Estimate,
    Quantity,
    error_at_least,
    full_log_odds,
    log_mean,
    mean_from_draws,
    mean_of_replicates,
    moment,
    normalised_weights,
    resample,
)
from labelweave.joint.results import Mode, Ranked, certified

# P(label | earlier labels) of each label of every row, in the ``order`` of the labels.
Conditionals: TypeAlias = LinearScores | FunctionConditionals

# Weighted vectors that stand for the ancestors of the evidence when these are too many for a table.
POOL_SIZE = 1024
# Prefixes that a search for the k best vectors keeps, when k is not larger.
BEAM_WIDTH = 64


class ChainJoint(JointDistribution):
    """P(y) = Π_j P(y_j | earlier labels) with log-odds z_j = scores_j + Σ_k coupling_jk y_k.

    Logistic regression, naive Bayes and maximum entropy conditionals all have this form; a tree is
    a chain in which every label has at most one non-zero coupling. Compiled kernels do the work.
    `of_functions` makes chains of conditionals of any other kind.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of each label when no earlier label is positive.
    coupling : (L, L) array
        ``coupling[j, k]`` is what a positive label k adds to the log-odds of label j; zero unless
        k comes before j in ``order``.
    order : (L,) array of int, optional
        The labels in the order of the chain; by default 0 … L−1.
    **rows
        ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`.

    Notes
    -----
    `mode` searches with an upper bound, which always ends for up to 20 unknown labels and for most
    longer chains fitted to data. Rows left open get a tighter bound from a relaxation of all
    couplings at once, if at most 380 labels are unknown. Conditioning is exact while at most 16
    unknown labels influence the evidence; beyond that `log_prob` of a conditioned chain carries the
    error that `evidence_log_prob` states.

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

    exact_powers: ClassVar[bool] = False
    search_first: ClassVar[bool] = True
    lists_first: ClassVar[bool] = False

    def __init__(
        self,
        scores: npt.ArrayLike,
        coupling: npt.ArrayLike,
        order: npt.ArrayLike | None = None,
        **rows: Unpack[RowOptions],
    ) -> None:
        conditionals = LinearScores(scores, coupling, order, rows.get("n_threads", 1))
        self._hold(conditionals, *conditionals.scores.shape, **rows)

    @classmethod
    def of_functions(
        cls,
        log_odds: LogOdds,
        n_rows: int,
        n_labels: int,
        order: npt.ArrayLike | None = None,
        **rows: Unpack[RowOptions],
    ) -> Self:
        """Return a chain of conditionals of any kind.

        Parameters
        ----------
        log_odds : callable
            ``log_odds(label, rows, prefix)`` returns the log-odds of ``label``, one for each entry
            of ``rows``. ``rows`` are positions in the batch this object was made with, ``prefix``
            is a ``(len(rows), L)`` int8 array in which only labels earlier in ``order`` are set.
            ±inf says that the label is certain.
        n_rows, n_labels : int
        order, **rows
            As in `ChainJoint`.

        Examples
        --------
        >>> import numpy as np
        >>> def log_odds(label, rows, prefix):
        ...     return np.where(prefix[:, 0] == 1, 2.0, -2.0) if label else np.zeros(len(rows))
        >>> ChainJoint.of_functions(log_odds, n_rows=1, n_labels=2).cardinality().round(3)
        array([[0.44 , 0.119, 0.44 ]])
        """
        n_rows = check_whole_number(n_rows, "n_rows", 0)
        n_labels = check_whole_number(n_labels, "n_labels")
        joint = cls.__new__(cls)
        n_threads = rows.get("n_threads", 1)
        conditionals = FunctionConditionals(log_odds, n_rows, n_labels, order, n_threads)
        joint._hold(conditionals, n_rows, n_labels, **rows)
        return joint

    def _hold(
        self, conditionals: Conditionals, n_rows: int, n_labels: int, **rows: Unpack[RowOptions]
    ) -> None:
        super().__init__(n_rows, n_labels, **rows)
        self.conditionals = conditionals
        self._known = np.full((n_rows, n_labels), -1, dtype=np.int8)
        # The log-probability of the known labels: log P(y) is the log-joint minus this.
        self._normaliser = Estimate.of_exact(np.zeros(n_rows))

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.conditionals = self.conditionals.take(index)
        part._known = self._known[index]
        part._normaliser = self._normaliser[index]
        return part

    @property
    def order(self) -> Indices:
        """The labels in the order of the chain, (L,)."""
        return self.conditionals.order

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, vectors: Labels) -> Floats:
        known = self._known[:, None, :]
        possible = ((known < 0) | (known == vectors)).all(axis=2)
        log_prob = self.conditionals.log_joint(vectors) - self._normaliser.value[:, None]
        return np.where(possible, log_prob, -np.inf)

    def _table(self, free: Indices) -> Floats:
        table = self.conditionals.table(self._known, free, self.order)
        return table - self._normaliser.value[:, None]

    def log_prob_error(self) -> Floats:
        """Return the standard error of the probability of the evidence, (n,)."""
        return self._normaliser.standard_error

    def _exact(self, quantity: Quantity) -> Floats:
        # What evidence does to earlier labels is left to the table.
        if quantity in ("cardinality", "cardinality_by_label") and (self._known < 0).all():
            found = self.conditionals.cardinality(by_label=quantity == "cardinality_by_label")
            if found is not None:
                return found
        return super()._exact(quantity)

    def power(self, exponent: float) -> Self:
        """Return the chain of powers of the conditionals, each normalised on its own.

        P(y)^e is that chain times the product of the conditionals' normalisers, which depend on the
        labels only a little.
        """
        chain = self._copy()
        chain.conditionals = self.conditionals.scaled(exponent)
        chain._normaliser = chain._log_evidence(self._known)
        return chain

    # ------------------------------------------------------------------ Bayes' rule

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        prior = self._normaliser
        merged = np.where(known >= 0, known, self._known)
        contradiction = ((self._known >= 0) & (merged != self._known)).any(axis=1)
        both = self._log_evidence(merged)  # of the evidence so far and of the new one
        value = np.where(contradiction, -np.inf, both.value - prior.value)
        error = np.hypot(both.standard_error, prior.standard_error)
        log_prob = Estimate(value, error, both.exact & prior.exact)
        posterior = self._copy()
        posterior._known = merged
        normaliser = np.where(np.isfinite(value), value, 0.0) + prior.value
        posterior._normaliser = Estimate(normaliser, error, log_prob.exact)
        return posterior, log_prob

    def _log_evidence(self, known: Labels) -> Estimate:
        """Log-probability of clamped labels before conditioning."""
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for rows, order, free in self._evidence_patterns(known):
            exact[rows] = len(free) <= MAX_ENUMERATED
            for block in row_blocks(len(rows), self._ancestor_cells(len(free))):
                at = rows[block]
                part = self[at]
                if exact[at].all():
                    value[at] = logsumexp(part.conditionals.table(known[at], free, order), axis=1)
                else:
                    sizes = population_sizes(POOL_SIZE)
                    found = part._populations(known[at], order, sizes, 0, vectors=False)
                    value[at], error[at] = log_mean(found.log_evidence)
        return Estimate(value, error, exact)

    def _evidence_patterns(self, known: Labels) -> Iterator[tuple[Indices, Indices, Indices]]:
        """Yield rows with the same labels known, these with their ancestors, and the unknown ones.

        The known labels and their ancestors are in the order of the chain, the unknown among them
        increasing.
        """
        for rows, unknown in patterns(known):
            order = self.conditionals.ancestors(np.flatnonzero(~unknown))
            yield rows, order, np.sort(order[unknown[order]])

    def _ancestor_cells(self, n_free: int) -> int:
        """Numbers a row needs to deal with the unknown ancestors of its evidence."""
        return 2**n_free if n_free <= MAX_ENUMERATED else POOL_SIZE * self.n_labels

    def _populations(
        self,
        known: Labels,
        order: Indices,
        sizes: tuple[int, int],
        seed: int,
        *,
        vectors: bool = True,
    ) -> Populations:
        return self.conditionals.populate(known, order, sizes, self.row_ids, seed, vectors=vectors)

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        labels = np.repeat(self._known[:, None, :], k, axis=1)
        for rows, order, free in self._evidence_patterns(self._known):
            if len(free):
                labels[rows] = self._draw_ancestors(rows, free, order, k, seed)
        return self.conditionals.complete(labels, self.row_ids, seed)[0]

    def _draw_ancestors(
        self, rows: Indices, free: Indices, order: Indices, k: int, seed: int
    ) -> Labels:
        """Posterior draws of the unknown ancestors of the evidence; -1 for the other labels."""
        draws = np.empty((len(rows), k, self.n_labels), dtype=np.int8)
        enumerable = len(free) <= MAX_ENUMERATED
        for block in row_blocks(len(rows), max(self._ancestor_cells(len(free)), k)):
            part = self[rows[block]]
            # The ancestral step never draws these labels, so the number of one of them is free.
            uniform = part._uniform(seed, k, int(free[0]))
            if enumerable:
                table = part.conditionals.table(part._known, free, order)
                table -= logsumexp(table, axis=1, keepdims=True)
                draws[block] = Enumeration(table, free, part._known).draw(uniform)
            else:
                sizes = population_sizes(POOL_SIZE)
                found = part._populations(part._known, order, sizes, derive_seed(seed, 1))
                pool, log_weight = found.pooled()
                draws[block] = resample(pool, normalised_weights(log_weight), uniform)
        outside = np.setdiff1d(np.arange(self.n_labels), order)
        draws[:, :, outside] = -1
        return draws

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        log_weight, exact = np.zeros((self.n_rows, k)), self._normaliser.exact
        if exact.all():
            return self._sample(k, seed), log_weight
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        labels[exact] = self[exact]._sample(k, seed)
        rest = self[~exact]
        known = np.repeat(rest._known[:, None, :], k, axis=1)
        labels[~exact], log_weight[~exact] = rest.conditionals.complete(known, rest.row_ids, seed)
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given the earlier labels, or where evidence depends on the label, given all others."""
        probability = np.asarray(expit(self.conditionals.log_odds(labels)))
        for rows, _, free in self._evidence_patterns(self._known):
            if len(free):
                full = self[rows]._full_conditionals(labels[rows], free)
                probability[np.ix_(rows, np.arange(labels.shape[1]), free)] = full
        return probability

    def _full_conditionals(self, labels: Labels, which: Indices) -> Floats:
        """Probabilities (n, k, w) of some labels, each given all other labels of the draws."""
        return np.asarray(expit(full_log_odds(self, labels, which)))

    # ------------------------------------------------------------------ estimates

    def _drawn(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        value = np.empty(quantities.shape(self, quantity))
        error = np.empty_like(value)
        for rows, ancestors, free in self._evidence_patterns(self._known):
            # A population holds all heavy vectors and none twice, so it says more than as many
            # draws. But it meets evidence behind its ancestors, and may hold nothing that agrees.
            # So ancestors are drawn from their posterior if few enough of them are unknown.
            if population_sizes(k)[1] < 2 ** len(free) <= 2**MAX_ENUMERATED:
                part = quantities.from_weighted_draws(self[rows], quantity, k, seed)
            else:
                part = self[rows]._from_populations(quantity, k, seed, ancestors)
            value[rows], error[rows] = part
        return value, error

    def _from_populations(
        self, quantity: Quantity, k: int, seed: int, ancestors: Indices
    ) -> tuple[Floats, Floats]:
        """Estimate a quantity of rows that share which labels are known."""
        order = np.concatenate([ancestors, self.order[~np.isin(self.order, ancestors)]])
        free = ancestors[self._known[0, ancestors] < 0]
        vectors = quantity != "marginals" or len(free) > 0
        sizes = population_sizes(k)
        found = self._populations(self._known, order, sizes, seed, vectors=vectors)
        # This is what one drawn prefix stands for.
        least = found.quantum.mean(axis=1) / found.quantum.shape[1]
        if quantity == "marginals":
            values = self._population_marginals(found, free)
        else:
            # Few of many labels are present: most cardinalities are met by no vector.
            n_sizes = int(found.labels.sum(axis=3, dtype=np.int64).max()) + 1
            values = np.stack(
                [
                    self._of_population(quantity, found, i, n_sizes)
                    for i in range(found.labels.shape[1])
                ],
                axis=1,
            )
        value, error = mean_of_replicates(values, found.log_evidence)
        if quantity in ("cardinality", "cardinality_by_label"):
            value, error = (_padded(part, self.n_labels + 1) for part in (value, error))
        if quantity == "entropy":
            return value, np.hypot(error, self.log_prob_error())
        value = np.minimum(value, 1.0)
        if quantity == "marginals":
            # A conditional probability is never 0 for want of draws: its spread is that of a label.
            least = least[:, None] * np.sqrt(value * (1 - value))
        return value, error_at_least(least, error)

    def _population_marginals(self, found: Populations, free: Indices) -> Floats:
        """Marginals (n, r, L) of each population; ``free`` are unknown ancestors of the evidence.

        These were met before the evidence: they are averaged over the vectors left at the end.
        """
        if len(free) == 0:
            return found.marginals
        marginals = found.marginals.copy()
        for i in range(found.labels.shape[1]):
            probability = self._full_conditionals(found.labels[:, i], free)
            weight = normalised_weights(found.log_weight[:, i])
            marginals[:, i, free] = np.einsum("nk,nkl->nl", weight, probability)
        return marginals

    def _of_population(
        self, quantity: Quantity, found: Populations, i: int, n_sizes: int
    ) -> Floats:
        """Return a quantity by the vectors left in one population."""
        labels, weight = found.labels[:, i], normalised_weights(found.log_weight[:, i])
        if quantity == "entropy":
            log_prob = np.where(weight > 0, self._log_prob(labels), 0.0)
            return mean_from_draws(-log_prob, weight)[0]
        if quantity != "pairwise":
            return moment(quantity, labels, weight, n_sizes)
        # The later label of a pair by its probability given the earlier ones, as in marginals.
        probability = self._conditionals(labels)
        both = (labels * weight[:, :, None]).transpose(0, 2, 1) @ probability
        position = np.argsort(self.order)
        both = np.where(position[:, None] < position, both, both.transpose(0, 2, 1))
        diagonal = np.arange(self.n_labels)
        both[:, diagonal, diagonal] = np.einsum("nk,nkl->nl", weight, probability)
        known = self._known >= 0
        both[:, diagonal, diagonal] = np.where(known, self._known, both[:, diagonal, diagonal])
        return both

    def _cells_per_row(self, quantity: Quantity, k: int) -> int:
        linear = self.conditionals.linear is not None
        if linear and quantity == "marginals" and not (self._known >= 0).any():
            return 2 * population_sizes(k)[0] * self.n_labels  # no vectors are asked for
        return super()._cells_per_row(quantity, k)

    # ------------------------------------------------------------------ search

    def search(self, limits: Limits, start: Mode | None = None) -> Mode:
        """Return the best vectors found within the limits, and the best bound still open.

        Searches work with log-joints; what they return is divided by the probability of the
        evidence.
        """
        normaliser = self._normaliser
        # An estimated normaliser bounds nothing; but no evidence has more than all the mass.
        log_mass = np.where(normaliser.exact, normaliser.value, 0.0)
        floor = limits.least_log_prob + normaliser.value
        labels = None if start is None else start.labels
        best = self.conditionals.search(self._known, limits, floor, log_mass, labels)
        log_prob = best.log_prob - normaliser.value
        found = Mode(best.labels, log_prob, best.upper_bound - normaliser.value, best.nodes)
        if limits.budget == 0:
            return certified(found.labels, log_prob, found.upper_bound, normaliser.exact)
        return start.or_better(found) if limits.relaxed and start is not None else found

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return the ``k`` best vectors of a beam search, and what bounds all others."""
        found = self.conditionals.beam(self._known, k, max(k, width or BEAM_WIDTH))
        normaliser = self._normaliser.value
        return Ranked(
            found.labels, found.log_prob - normaliser[:, None], found.upper_bound - normaliser
        )


def _padded(values: Floats, n_sizes: int) -> Floats:
    """Return values by cardinality with zeros for larger ones."""
    missing = n_sizes - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])
