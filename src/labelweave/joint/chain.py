"""ChainJoint: the chain rule, evidence, ancestors, populations; holds its conditionals.

Chains: P(y) = Π_j P(y_j | earlier labels), along an order of the labels.

Formulas: docs/design/math.md, section 2. With linear conditionals the log-odds of label j are
z_j = s_j + Σ_k V_jk y_k over the earlier labels k, and log P(y) = Σ_j [y_j z_j − softplus(z_j)].

========================  ========================================================================
`form`                    the chain rule: what a kind of conditionals has to provide
`evidence`                conditioning: the ancestors of the evidence are enumerated or weighted
`population`              weighted prefixes that stand for all label vectors
`estimates`               marginals and other quantities of long chains, from populations
`search`                  the mode: greedy, best-first, beam, and how `mode` combines them
`linear`                  `ChainJoint`: linear conditionals, evaluated by compiled kernels
`general`                 `GeneralChain`: conditionals that only a Python function can evaluate
`steps`, `prefix_search`  walks, beam and best-first search over prefixes for the latter
========================  ========================================================================

Steps along a chain in NumPy, for conditionals that only Python can evaluate.

Populations of weighted prefixes that stand for all label vectors of a chain.

A population starts from the empty prefix. Each prefix is extended by both values of the next label
and its weight split between them, so that the weights of the positive ones sum to the label's
marginal. When there are more prefixes than the population may hold, the heaviest stay as they are;
the others are drawn in proportion to their weights, and all have the same weight afterwards, the
quantum (Fearnhead and Clifford, 2003). From then on a continuation that is lighter than the quantum
is drawn before it takes a place, and its sibling has the rest of their weight. Draws are
systematic, prefixes that agree in the last labels next to each other. No prefix is held twice, and
the expected weight of each is its probability, so that marginals are unbiased
(docs/design/math.md, 2.4).

Here the walk is in NumPy, for conditionals that only Python can evaluate; linear ones have a
compiled kernel.

The chain rule: P(y) = Π_j P(y_j | earlier labels), for conditionals of any kind.

Chains with evidence.

Evidence clamps labels: the conditionals of clamped labels become weights, and only their
*ancestors*, the labels they depend on, have to be summed over to normalise. All other labels are
still drawn one after the other. So conditioning is exact while at most 16 unknown labels are
ancestors of the evidence, and uses populations of weighted prefixes beyond.

Quantities of long chains, from populations of weighted prefixes.

Searches for the mode of a chain: greedy, best-first and beam.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.seeds import derive_seed
from labelweave.joint.distribution import JointDistribution, check_order
from labelweave.joint.enumeration import MAX_ENUMERATED, Enumeration, patterns, row_blocks
from labelweave.joint.estimate import (
    Estimate,
    Quantity,
    log_mean,
    mean_from_draws,
    mean_of_replicates,
    moment,
    normalised_weights,
    resample,
)
from labelweave.joint.independent import IndependentJoint
from labelweave.joint.quantities import bernoulli_log_prob
from labelweave.joint.results import Mode, Ranked, SearchedMode, SearchLimits, certified

# (label, rows, prefix) -> log-odds of the label in these rows after these earlier labels.
LogOdds: TypeAlias = Callable[[int, Indices, Labels], Floats]


def grid_log_odds(log_odds: LogOdds, label: int, labels: Labels, before: Indices) -> Floats:
    """Log-odds (n, k) of ``label`` for k vectors per row, which see only the labels ``before``."""
    n, k, n_labels = labels.shape
    prefix = np.zeros((n * k, n_labels), dtype=np.int8)
    prefix[:, before] = labels.reshape(n * k, n_labels)[:, before]
    return log_odds(label, np.repeat(np.arange(n), k), prefix).reshape(n, k)


def walk(
    log_odds: LogOdds, order: Indices, labels: Labels, choose: Callable[[int, Floats], Labels]
) -> tuple[Floats, Floats]:
    """Replace every -1 of (n, k, L) ``labels`` in place by ``choose(label, log-odds)``.

    Returns the log-probability of the given and of the chosen labels, each (n, k).
    """
    given_total = np.zeros(labels.shape[:2])
    chosen_total = np.zeros(labels.shape[:2])
    for position, label in enumerate(order):
        z = grid_log_odds(log_odds, int(label), labels, order[:position])
        given = labels[:, :, label] >= 0
        labels[:, :, label] = np.where(given, labels[:, :, label], choose(int(label), z))
        contribution = bernoulli_log_prob(labels[:, :, label], z)
        given_total += np.where(given, contribution, 0.0)
        chosen_total += np.where(given, 0.0, contribution)
    return given_total, chosen_total


def expand(
    log_odds: LogOdds, label: int, before: Indices, known: Labels, labels: Labels, log_prob: Floats
) -> tuple[Labels, Floats]:
    """Both continuations of every prefix: first all with label 0, then all with label 1.

    ``known`` (n,) makes the continuation that contradicts it impossible.
    """
    z = grid_log_odds(log_odds, label, labels, before)
    longer, totals = [], []
    for value in (0, 1):
        continued = labels.copy()
        continued[:, :, label] = value
        total = log_prob + bernoulli_log_prob(continued[:, :, label], z)
        total[(known >= 0) & (known != value)] = -np.inf
        longer.append(continued)
        totals.append(total)
    return np.concatenate(longer, axis=1), np.concatenate(totals, axis=1)


def beam_search(log_odds: LogOdds, order: Indices, known: Labels, k: int, width: int) -> Ranked:
    """Return the k best vectors of a beam search that keeps ``width`` prefixes at every label.

    A vector can only be missed through a prefix that was dropped, and is at most as probable as
    that prefix: the best dropped prefix bounds everything that is not listed.
    """
    n, n_labels = known.shape
    labels = np.zeros((n, 1, n_labels), dtype=np.int8)
    log_prob = np.zeros((n, 1))
    dropped = np.full(n, -np.inf)
    for position, label in enumerate(order):
        labels, log_prob = expand(
            log_odds, int(label), order[:position], known[:, label], labels, log_prob
        )
        keep = k if position == len(order) - 1 else width
        ranking = np.argsort(-log_prob, axis=1, kind="stable")
        log_prob = np.take_along_axis(log_prob, ranking, axis=1)
        if log_prob.shape[1] > keep:
            dropped = np.maximum(dropped, log_prob[:, keep])
        log_prob = log_prob[:, :keep]
        labels = np.take_along_axis(labels, ranking[:, :keep, None], axis=1)
    labels[np.isneginf(log_prob)] = -1
    return Ranked(labels, log_prob, np.maximum(dropped, log_prob[:, -1]))


def beam(log_odds: LogOdds, order: Indices, known: Labels, width: int) -> tuple[Labels, Floats]:
    """Return the best vector of a beam search, and what no vector it missed exceeds."""
    found = beam_search(log_odds, order, known, width, width)
    return found.labels[:, 0], found.upper_bound


# Independent populations of each row, whose spread is the standard error. Fewer would be larger and
# more accurate, but seven degrees of freedom are few enough.
N_POPULATIONS = 8


@dataclass(frozen=True)
class Populations:
    """What r populations of at most m prefixes say about each of n rows.

    Attributes
    ----------
    marginals : (n, r, L) array
        P(y_j = 1) given the evidence on labels that come before j in the walk.
    log_evidence : (n, r) array
        Log-probability of the evidence.
    quantum : (n, r) array
        The largest weight of a prefix that was drawn; zero if none was, and all is exact.
    labels : (n, r, m, L) int8 array
        The vectors left at the end, or m = 0 if they were not asked for.
    log_weight : (n, r, m) array
        Logarithms of their weights, which sum to the evidence; -inf for no vector.
    """

    marginals: Floats
    log_evidence: Floats
    quantum: Floats
    labels: Labels
    log_weight: Floats

    @staticmethod
    def empty(known: Labels, n_populations: int, size: int) -> Populations:
        """Return arrays for the populations of rows with this evidence, still to be filled."""
        n, n_labels = known.shape
        labels = np.empty((n, n_populations, size, n_labels), dtype=np.int8)
        labels[:] = np.maximum(known, 0)[:, None, None, :]
        return Populations(
            np.zeros((n, n_populations, n_labels)),
            np.empty((n, n_populations)),
            np.empty((n, n_populations)),
            labels,
            np.empty((n, n_populations, size)),
        )

    def pooled(self) -> tuple[Labels, Floats]:
        """Return the vectors of all populations together and their log-weights."""
        n, r, m, n_labels = self.labels.shape
        return self.labels.reshape(n, r * m, n_labels), self.log_weight.reshape(n, r * m)


def population_sizes(samples: int) -> tuple[int, int]:
    """Return how many populations stand for ``samples`` draws, and how many prefixes each has."""
    n_populations = min(N_POPULATIONS, samples)
    return n_populations, -(-samples // n_populations)


def walk_populations(
    log_odds: LogOdds, order: Indices, known: Labels, uniforms: Floats, size: int
) -> Populations:
    """Walk populations of ``size`` prefixes of rows whose ``known`` labels are the same ones.

    ``uniforms`` (n, 2 r, L) are the numbers by which prefixes are drawn, two for each population.
    """
    n, r, n_labels = len(known), uniforms.shape[1] // 2, known.shape[1]
    rows = np.repeat(np.arange(n), r)
    out = Populations.empty(known, r, size)
    labels, weight = np.zeros((n * r, 1, n_labels), dtype=np.int8), np.ones((n * r, 1))
    log_evidence, quantum = np.zeros(n * r), np.zeros(n * r)
    for label in order.tolist():
        z, held = np.zeros(weight.shape), weight > 0
        z[held] = log_odds(label, np.repeat(rows, held.sum(axis=1)), labels[held])
        value = known[rows, label]
        if (value >= 0).any():
            labels[:, :, label] = value[:, None]
            weight, gain = _observed(weight, bernoulli_log_prob(labels[:, :, label], z))
            log_evidence += gain
            out.marginals[:, :, label] = known[:, None, label]
            continue
        zero, one = weight * expit(-z), weight * expit(z)
        out.marginals[:, :, label] = np.minimum(_total(one), 1.0).reshape(n, r)
        uniform = uniforms[:, :, label].reshape(n * r, 2)
        zero, one = _lighter_drawn(zero, one, weight, quantum, uniform[:, 0])
        children, quantum = _cut(np.concatenate([zero, one], axis=1), size, quantum, uniform[:, 1])
        labels, weight = _handed_on(labels, label, children)
    out.log_evidence[:], out.quantum[:] = log_evidence.reshape(n, r), quantum.reshape(n, r)
    left = weight.shape[1]
    out.labels[:, :, :left][..., order] = labels.reshape(n, r, left, n_labels)[..., order]
    with np.errstate(divide="ignore"):
        log_weight = log_evidence[:, None] + np.log(weight)
    out.log_weight[:] = -np.inf
    out.log_weight[:, :, :left] = log_weight.reshape(n, r, left)
    return out


def _total(weight: Floats) -> Floats:
    """Add up from left to right: zeros, of which other rows may add some, leave no trace."""
    return np.asarray(np.cumsum(weight, axis=1)[:, -1])


def _handed_on(labels: Labels, label: int, children: Floats) -> tuple[Labels, Floats]:
    """Return the prefixes that are left, extended by ``label``, in front of those without weight.

    ``children`` are the weights of all prefixes with 0, and then of all with 1.
    """
    n_prefixes, n_left = labels.shape[1], (children > 0).sum(axis=1).max(initial=1)
    chosen = np.argsort(children == 0, axis=1, kind="stable")[:, :n_left]
    labels = np.take_along_axis(labels, chosen[:, :, None] % n_prefixes, axis=1)
    labels[:, :, label] = chosen >= n_prefixes
    return labels, np.take_along_axis(children, chosen, axis=1)


def _observed(weight: Floats, log_prob: Floats) -> tuple[Floats, Floats]:
    """Weights after an observation of these log-probabilities, and that of the observation.

    Where no prefix allows it, the weights stay as they are and the log-probability is -inf.
    """
    log_prob = np.where(weight > 0, log_prob, -np.inf)
    best = log_prob.max(axis=1, keepdims=True)
    possible = np.isfinite(best)
    seen = np.where(possible, weight * np.exp(log_prob - np.where(possible, best, 0.0)), weight)
    total = _total(seen)
    return seen / total[:, None], best[:, 0] + np.log(total)


def _systematic(share: Floats, uniform: Floats) -> Mask:
    """Which entries are drawn with these probabilities.

    One is drawn whenever the sum of the shares passes a whole number.
    """
    reached = np.cumsum(np.concatenate([uniform[:, None], share], axis=1), axis=1)
    return np.asarray(np.diff(np.floor(reached), axis=1) > 0)


def _lighter_drawn(
    zero: Floats, one: Floats, weight: Floats, quantum: Floats, uniform: Floats
) -> tuple[Floats, Floats]:
    """Weights of continuations, of which those lighter than the quantum were drawn."""
    lighter, given = np.minimum(zero, one), np.minimum(quantum[:, None], weight)
    light = lighter < quantum[:, None]
    share = np.divide(lighter, given, out=np.zeros_like(lighter), where=light & (weight > 0))
    lighter = np.where(_systematic(share, uniform), given, 0.0)
    down = zero < one
    return (
        np.where(light, np.where(down, lighter, weight - lighter), zero),
        np.where(light, np.where(down, weight - lighter, lighter), one),
    )


def _cut(weight: Floats, size: int, quantum: Floats, uniform: Floats) -> tuple[Floats, Floats]:
    """Weights of which at most ``size`` are left in each row, and the largest that was given."""
    crowded = (weight > 0).sum(axis=1) > size
    c = _thresholds(weight, size, crowded)[:, None]
    light = crowded[:, None] & (weight < c)
    share = np.divide(weight, c, out=np.zeros_like(weight), where=light)
    drawn = _systematic(share, uniform)
    kept = np.where(light, np.where(drawn, c, 0.0), weight)
    # Rounding may let one too many pass.
    kept[np.cumsum(kept > 0, axis=1) > size] = 0.0
    return kept, np.maximum(quantum, c[:, 0])


def _thresholds(weight: Floats, size: int, crowded: Mask) -> Floats:
    """Return c with Σ min(w / c, 1) = size in crowded rows: from above, where the sum is less."""
    c = np.where(crowded, 1 / size, 0.0)
    while True:
        heavy = weight >= c[:, None]
        room = size - heavy.sum(axis=1)
        rest = _total(np.where(heavy, 0.0, weight))
        lower = np.divide(rest, room, out=c.copy(), where=crowded & (room > 0) & (rest > 0))
        if not (lower < c).any():
            return c
        c = np.minimum(c, lower)


class ChainForm(JointDistribution):
    """The chain rule, in terms of a few primitives that know the conditionals.

    ``_known`` are the clamped labels, ``_normaliser`` the log-probability of these: log P(y) is the
    log-joint minus the normaliser.
    """

    def __init__(
        self,
        n_rows: int,
        n_labels: int,
        order: npt.ArrayLike | None,
        *,
        label_names: Sequence[str] | None,
        row_ids: npt.ArrayLike | None,
        n_threads: int,
    ) -> None:
        super().__init__(
            n_rows, n_labels, label_names=label_names, row_ids=row_ids, n_threads=n_threads
        )
        self.order = check_order(order, n_labels)
        self._known = np.full((n_rows, n_labels), -1, dtype=np.int8)
        self._normaliser = Estimate.of_exact(np.zeros(n_rows))

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part._known = self._known[index]
        part._normaliser = self._normaliser[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    # ------------------------------------------------------------------ primitives

    @abstractmethod
    def conditional_log_odds(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label`` in ``rows`` given the labels set in ``prefix``."""

    @abstractmethod
    def _scaled(self, factor: float) -> Self:
        """Chain with all log-odds times ``factor``; its evidence is not yet normalised."""

    @abstractmethod
    def _prefix_log_odds(self, labels: Labels) -> Floats:
        """Log-odds of every label of (n, k, L) vectors given the vector's earlier labels."""

    @abstractmethod
    def _log_joint(self, labels: Labels) -> Floats:
        """Log-probability of whole vectors before conditioning."""

    @abstractmethod
    def _complete(self, labels: Labels, seed: int) -> Floats:
        """Draw every -1 of (n, k, L) ``labels`` in place; return the (n, k) log-weights."""

    @abstractmethod
    def _populate(
        self,
        known: Labels,
        order: Indices,
        sizes: tuple[int, int],
        seed: int,
        *,
        vectors: bool = True,
    ) -> Populations:
        """Walk populations that agree with ``known`` through the labels in ``order``.

        ``sizes`` are how many populations and of how many prefixes. All rows have the same labels
        known. Without ``vectors`` none are returned.
        """

    @abstractmethod
    def _follow(self, labels: Labels) -> tuple[Floats, Floats]:
        """Choose every -1 of (n, L) ``labels`` greedily in place; return log-joint and a bound."""

    @abstractmethod
    def _log_joint_table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        """Log-joint of the labels in ``order``: known where not ``free``, (n, 2^f)."""

    @abstractmethod
    def _search(self, limits: SearchLimits, floor: Floats, log_mass: Floats) -> SearchedMode:
        """Search the most probable vectors that agree with the evidence; all in log-joints.

        ``floor`` is that of the limits for each row, ``log_mass`` what all vectors have together.
        """

    @abstractmethod
    def _beam_search(self, width: int) -> tuple[Labels, Floats]:
        """Return the vectors a beam search finds, and a bound on the log-joint of all others."""

    @abstractmethod
    def _beam_list(self, k: int, width: int) -> Ranked:
        """Return the k best vectors of a beam search, all in log-joints."""

    @abstractmethod
    def _ancestors(self, labels: Indices) -> Indices:
        """Return the labels that ``labels`` depend on, and these themselves, in chain order."""

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, Y: Labels) -> Floats:
        possible = ((self._known < 0) | (self._known == Y)).all(axis=1)
        return np.where(possible, self._log_joint(Y) - self._normaliser.value, -np.inf)

    def _log_table(self, free: Indices) -> Floats:
        table = self._log_joint_table(self._known, free, self.order)
        return table - self._normaliser.value[:, None]

    def log_prob_error(self) -> Floats:
        """Return the standard error of the probability of the evidence, (n,)."""
        return self._normaliser.standard_error


# Weighted vectors that stand for the ancestors of the evidence when these are too many for a table.
POOL_SIZE = 1024


class ConditionedChain(ChainForm):
    """A chain that can be conditioned, and drawn from whatever is known."""

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        merged = np.where(known >= 0, known, self._known)
        contradiction = ((self._known >= 0) & (merged != self._known)).any(axis=1)
        joint = self._log_evidence(merged)
        value = np.where(contradiction, -np.inf, joint.value - self._normaliser.value)
        error = np.hypot(joint.standard_error, self._normaliser.standard_error)
        return Estimate(value, error, joint.exact & self._normaliser.exact)

    def _log_evidence(self, known: Labels) -> Estimate:
        """Log-probability of clamped labels before conditioning."""
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for rows, unknown in patterns(known):
            order = self._ancestors(np.flatnonzero(~unknown))
            free = np.sort(order[unknown[order]])
            exact[rows] = len(free) <= MAX_ENUMERATED
            for block in row_blocks(len(rows), self._ancestor_cells(len(free))):
                at = rows[block]
                part = self[at]
                if exact[at].all():
                    value[at] = logsumexp(part._log_joint_table(known[at], free, order), axis=1)
                else:
                    found = part._populate(
                        known[at], order, population_sizes(POOL_SIZE), seed=0, vectors=False
                    )
                    value[at], error[at] = log_mean(found.log_evidence)
        return Estimate(value, error, exact)

    def _ancestor_cells(self, n_free: int) -> int:
        """Numbers a row needs to deal with the unknown ancestors of its evidence."""
        return 2**n_free if n_free <= MAX_ENUMERATED else POOL_SIZE * self.n_labels

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        posterior = self[:]
        posterior._known = np.where(known >= 0, known, self._known)
        value = np.where(np.isfinite(log_prob.value), log_prob.value, 0.0) + self._normaliser.value
        posterior._normaliser = Estimate(value, log_prob.standard_error, log_prob.exact)
        return posterior

    def near_power(self, exponent: float) -> Self:
        """Return the chain of powers of the conditionals, each normalised on its own.

        P(y)^e is that chain times the product of the conditionals' normalisers, which depend on the
        labels only a little.
        """
        chain = self._scaled(exponent)
        chain._normaliser = chain._log_evidence(self._known)
        return chain

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        labels = np.repeat(self._known[:, None, :], k, axis=1)
        for rows, unknown in patterns(self._known):
            order = self._ancestors(np.flatnonzero(~unknown))
            free = np.sort(order[unknown[order]])
            if len(free):
                labels[rows] = self._draw_ancestors(rows, free, order, k, seed)
        self._complete(labels, seed)
        return labels

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
                table = part._log_joint_table(part._known, free, order)
                table -= logsumexp(table, axis=1, keepdims=True)
                draws[block] = Enumeration(table, free, part._known).draw(uniform)
            else:
                found = part._populate(
                    part._known, order, population_sizes(POOL_SIZE), derive_seed(seed, 1)
                )
                pool, log_weight = found.pooled()
                draws[block] = resample(pool, normalised_weights(log_weight), uniform)
        outside = np.setdiff1d(np.arange(self.n_labels), order)
        draws[:, :, outside] = -1
        return draws

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        log_weight = np.zeros((self.n_rows, k))
        if self._normaliser.exact.all():
            return self._sample(k, seed), log_weight
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        exact, rest = self[self._normaliser.exact], self[~self._normaliser.exact]
        labels[self._normaliser.exact] = exact._sample(k, seed)
        weighted = np.repeat(rest._known[:, None, :], k, axis=1)
        log_weight[~self._normaliser.exact] = rest._complete(weighted, seed)
        labels[~self._normaliser.exact] = weighted
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given the earlier labels, or where evidence depends on the label, given all others."""
        probability = np.asarray(expit(self._prefix_log_odds(labels)))
        for rows, unknown in patterns(self._known):
            ancestors = self._ancestors(np.flatnonzero(~unknown))
            free = ancestors[unknown[ancestors]]
            if len(free):
                full = self[rows]._full_conditionals(labels[rows], free)
                probability[np.ix_(rows, np.arange(labels.shape[1]), free)] = full
        return probability

    def _full_conditionals(self, labels: Labels, which: Indices) -> Floats:
        """Probabilities (n, k, w) of some labels, each given all other labels of the draws."""
        return np.asarray(expit(self._full_log_odds(labels, which)))


class EstimatedChain(ConditionedChain):
    """A chain whose quantities are estimated from populations where it is too long to enumerate.

    A population holds all heavy vectors and no vector twice, so it says more than as many draws.
    """

    def _from_draws(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        if self.n_rows == 0:
            return super()._from_draws(quantity, k, seed)
        parts = []
        for rows, unknown in patterns(self._known):
            ancestors = self._ancestors(np.flatnonzero(~unknown))
            n_free = int(unknown[ancestors].sum())
            # Populations meet the evidence behind its ancestors. Where it may contradict all that
            # they hold, but few enough ancestors are unknown, those are drawn from their posterior.
            if population_sizes(k)[1] < 2**n_free <= 2**MAX_ENUMERATED:
                part = super(EstimatedChain, self[rows])._from_draws(quantity, k, seed)
            else:
                part = self[rows]._from_populations(quantity, k, seed, ancestors)
            parts.append((rows, *part))
        value = np.empty((self.n_rows, *parts[0][1].shape[1:]))
        error = np.empty_like(value)
        for rows, part_value, part_error in parts:
            value[rows], error[rows] = part_value, part_error
        return value, error

    def _from_populations(
        self, quantity: Quantity, k: int, seed: int, ancestors: Indices
    ) -> tuple[Floats, Floats]:
        """Estimate a quantity of rows that share which labels are known."""
        order = np.concatenate([ancestors, self.order[~np.isin(self.order, ancestors)]])
        free = ancestors[self._known[0, ancestors] < 0]
        vectors = quantity != "marginals" or len(free) > 0
        found = self._populate(self._known, order, population_sizes(k), seed, vectors=vectors)
        # An event that no drawn prefix stands for may have about the probability of one of them.
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
        least = least.reshape((-1,) + (1,) * (value.ndim - 1))
        value = np.minimum(value, 1.0)
        if quantity == "marginals":
            # A conditional probability is never 0 for want of draws: its spread is that of a label.
            least = least * np.sqrt(value * (1 - value))
        return value, np.maximum(error, least)

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
            log_prob = np.where(weight > 0, self._log_prob_of_draws(labels), 0.0)
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


def _padded(values: Floats, n_sizes: int) -> Floats:
    """Return values by cardinality with zeros for larger ones."""
    missing = n_sizes - values.shape[-1]
    return np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, missing)])


# Prefixes a search for the top k keeps, when k is not larger.
BEAM_WIDTH = 64


class SearchedChain(EstimatedChain):
    """A chain whose most probable vectors can be looked for.

    Its capabilities are `SearchesBestFirst`, `SearchesBeam` and `ListsVectors`. Searches work with
    log-joints; what they return is divided by the probability of the evidence.
    """

    def best_first(self, limits: SearchLimits) -> SearchedMode:
        """Return the best vectors a search within these limits finds."""
        normaliser = self._normaliser
        # An estimated normaliser bounds nothing; but no evidence has more than all the mass.
        log_mass = np.where(normaliser.exact, normaliser.value, 0.0)
        found = self._search(limits, limits.floor + normaliser.value, log_mass)
        return SearchedMode(
            found.labels,
            found.log_prob - normaliser.value,
            found.upper_bound - normaliser.value,
            found.nodes,
        )

    def beam(self, width: int) -> Mode:
        """Return the best vector of a beam of ``width`` prefixes, and what bounds all others."""
        labels, bound = self._beam_search(width)
        normaliser = self._normaliser
        log_prob = self._log_joint(labels) - normaliser.value
        return certified(labels, log_prob, bound - normaliser.value, normaliser.exact)

    def greedy_mode(self) -> Mode:
        """Return the vector a plain classifier chain predicts, with an upper bound."""
        labels = self._known.copy()
        log_joint, bound = self._follow(labels)
        normaliser = self._normaliser
        return certified(
            labels, log_joint - normaliser.value, bound - normaliser.value, normaliser.exact
        )

    def greedy_path(self) -> IndependentJoint:
        """Return independent labels, each given the greedy values of the labels before it."""
        chosen = self.greedy_mode().labels[:, None, :]
        scores = np.empty((self.n_rows, self.n_labels))
        for position, label in enumerate(self.order):
            z = grid_log_odds(self.conditional_log_odds, int(label), chosen, self.order[:position])
            scores[:, label] = z[:, 0]
        # A label that is known is certain, whatever its conditional says.
        scores = np.where(self._known >= 0, np.where(self._known == 1, np.inf, -np.inf), scores)
        return IndependentJoint(
            scores,
            label_names=self.label_names,
            row_ids=self.row_ids,
            n_threads=self.n_threads,
        )

    def list_vectors(self, k: int) -> Ranked:
        """Return the ``k`` best vectors of a beam search, and what bounds all others."""
        found = self._beam_list(k, max(k, BEAM_WIDTH))
        normaliser = self._normaliser.value
        return Ranked(
            found.labels, found.log_prob - normaliser[:, None], found.upper_bound - normaliser
        )
