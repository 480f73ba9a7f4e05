"""Conditionals of a chain that only a Python function can evaluate.

Walks along the chain, beams, best-first search and populations are in NumPy. Rows advance together,
so that the function is called for many prefixes at once. `FunctionConditionals` describes the
methods that all conditionals have.
"""

from __future__ import annotations

import copy
import heapq
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.capabilities import Limits
from labelweave.joint.conditionals import LogOdds, Populations, check_order, grid_log_odds
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.quantities import bernoulli_log_prob, row_uniforms
from labelweave.joint.results import ROUNDING, Mode, Ranked, Rows, assembled

# Prefixes up to which all rows are searched together: many may wait by then.
_TOGETHER = 1000


class FunctionConditionals:
    """Conditionals ``function(label, rows, prefix)``; ``rows`` are positions in the first batch."""

    def __init__(
        self,
        function: LogOdds,
        n_rows: int,
        n_labels: int,
        order: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        self.function = function
        self.order = check_order(order, n_labels)
        self.n_threads = int(n_threads)
        self._position = np.arange(n_rows, dtype=np.int64)

    @property
    def linear(self) -> tuple[Floats, Floats] | None:
        """``scores`` (n, L) and ``coupling`` (L, L) of linear conditionals; None for others."""
        return None

    def take(self, rows: Indices) -> Self:
        """Return the conditionals of some rows."""
        part = copy.copy(self)
        part._position = self._position[rows]
        return part

    def scaled(self, factor: float) -> Self:
        """Return the conditionals with all log-odds times ``factor``."""
        part = copy.copy(self)
        part.function = partial(_times, factor, self.function)
        return part

    def ancestors(self, labels: Indices) -> Indices:
        """Return the labels that ``labels`` depend on, and these themselves, in chain order.

        These are all earlier labels: a function does not show which of them it looks at.
        """
        positions = np.flatnonzero(np.isin(self.order, labels))
        return self.order[: positions[-1] + 1] if len(positions) else self.order[:0]

    # ------------------------------------------------------------------ probabilities

    def log_odds_of(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label`` in each of ``rows`` after its (L,) prefix.

        Only the labels before it may be set in a prefix; all others are 0.
        """
        if len(rows) == 0:
            return np.zeros(0)
        z = np.asarray(self.function(label, self._position[rows], prefix), dtype=np.float64)
        if z.shape != (len(rows),) or np.isnan(z).any():
            raise ValueError(
                f"log_odds(label={label}, ...) must return {len(rows)} numbers, one per entry of "
                f"rows and none of them NaN; got shape {z.shape}"
            )
        return z

    def log_odds(self, vectors: Labels) -> Floats:
        """Return the log-odds (n, k, L) of each label of the vectors given the earlier ones."""
        log_odds = np.empty(vectors.shape)
        for position, label in enumerate(self.order):
            before = self.order[:position]
            log_odds[:, :, label] = grid_log_odds(self.log_odds_of, int(label), vectors, before)
        return log_odds

    def log_joint(self, vectors: Labels) -> Floats:
        """Return the log-joints (n, k) of (n, k, L) vectors."""
        return walk(self.log_odds_of, self.order, vectors, _likelier)[1]

    def table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        """Return the (n, 2^f) log-joints of the labels in ``order``: known where not ``free``."""
        labels = np.zeros((len(known), 1, len(self.order)), dtype=np.int8)
        log_prob = np.zeros((len(known), 1))
        column = np.zeros(1, dtype=np.int64)
        for position, label in enumerate(order):
            before, values = order[:position], known[:, label]
            labels, log_prob = expand(
                self.log_odds_of, int(label), before, values, labels, log_prob
            )
            if label in free:
                column = np.concatenate([column, column | (1 << np.searchsorted(free, label))])
            else:
                # Known in every row: exactly one of the two halves is possible.
                half = known[:, label, None] * np.int64(len(column)) + np.arange(len(column))
                log_prob = np.take_along_axis(log_prob, half, axis=1)
                labels = np.take_along_axis(labels, half[:, :, None], axis=1)
        out = np.empty_like(log_prob)
        out[:, column] = log_prob
        return out

    def cardinality(self, *, by_label: bool) -> Floats | None:
        """Return how many labels are positive, if there is a formula for it, as in a joint."""
        return None

    # ------------------------------------------------------------------ draws

    def complete(self, vectors: Labels, row_ids: Indices, seed: int) -> tuple[Labels, Floats]:
        """Draw every -1 of (n, k, L) vectors; return these with the log-weights of the rest."""
        n_labels = len(self.order)
        uniforms = row_uniforms(row_ids, seed, vectors.shape[1], n_labels, self.n_threads)

        def draw(label: int, log_odds: Floats) -> Labels:
            # u < σ(z), written so that it agrees with comparing log-odds and cannot overflow.
            u = uniforms[:, :, label]
            return (np.log(u) - np.log1p(-u) < log_odds).astype(np.int8)

        labels, log_weight, _ = walk(self.log_odds_of, self.order, vectors, draw)
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
        """Walk populations that agree with ``known`` through the labels in ``order``.

        ``sizes`` are the number of populations and of the prefixes in each. All rows have the same
        labels known. Without ``vectors``, none need to be returned.
        """
        uniforms = row_uniforms(row_ids, seed, 2 * sizes[0], len(self.order), self.n_threads)
        return walk_populations(self.log_odds_of, order, known, uniforms, sizes[1])

    # ------------------------------------------------------------------ search

    def search(
        self,
        known: Labels,
        limits: Limits,
        floor: Floats,
        log_mass: Floats,
        start: Labels | None = None,
    ) -> Mode:
        """Search the vectors of the highest log-joints that agree with ``known``.

        ``floor`` (n,) is the least log-joint that is looked for, ``log_mass`` (n,) bounds the sum
        of all, and a search under the relaxed bound begins with ``start``. All rows are searched
        together while few prefixes can wait, then the hard ones in blocks: so the function is
        called for many prefixes at once, and memory stays bounded.
        """
        if limits.budget == 0:
            return self._greedy(known, log_mass)
        first = replace(limits, budget=min(limits.budget, _TOGETHER))
        found = self._search_together(known, first, floor, log_mass)
        assert found.nodes is not None
        spent = np.flatnonzero((found.nodes >= first.budget) & (first.budget < limits.budget))
        parts: list[tuple[Rows, Mode]] = [(slice(None), found)]
        for block in row_blocks(len(spent), min(limits.budget, 2**40)):
            rows = spent[block]
            part = self.take(rows)
            again = part._search_together(known[rows], limits, floor[rows], log_mass[rows])
            parts.append((rows, again))
        return assembled(len(known), parts)

    def _greedy(self, known: Labels, log_mass: Floats) -> Mode:
        """Return greedy vectors; no vector is more probable than all of them together."""
        labels, given, chosen = walk(self.log_odds_of, self.order, known[:, None, :], _likelier)
        return Mode(labels[:, 0], given[:, 0] + chosen[:, 0], log_mass)

    def _search_together(
        self, known: Labels, limits: Limits, floor: Floats, log_mass: Floats
    ) -> Mode:
        search = PrefixSearch(self.log_odds_of, self.order, known, limits, floor)
        return search.run(self._greedy(known, log_mass), log_mass)

    def beam(self, known: Labels, k: int, width: int) -> Ranked:
        """Return the k best vectors of a beam search that keeps ``width`` prefixes."""
        n = len(known)
        every = np.arange(n, dtype=np.int64)
        parts: list[tuple[Rows, Ranked]] = []
        for block in row_blocks(n, 4 * width * len(self.order)) or [slice(0, 0)]:
            log_odds = self.take(every[block]).log_odds_of
            parts.append((block, beam_search(log_odds, self.order, known[block], k, width)))
        return assembled(n, parts)


def _times(factor: float, log_odds: LogOdds, label: int, rows: Indices, prefix: Labels) -> Floats:
    return factor * np.asarray(log_odds(label, rows, prefix), dtype=np.float64)


def _likelier(label: int, log_odds: Floats) -> Labels:
    return (log_odds > 0).astype(np.int8)


# ---------------------------------------------------------------------- walks and beams


def walk(
    log_odds: LogOdds, order: Indices, vectors: Labels, choose: Callable[[int, Floats], Labels]
) -> tuple[Labels, Floats, Floats]:
    """Replace every -1 of (n, k, L) vectors by ``choose(label, log-odds)``.

    Return these vectors, and the log-probabilities (n, k) of the given and of the chosen labels.
    """
    labels = vectors.copy()
    given_total = np.zeros(labels.shape[:2])
    chosen_total = np.zeros(labels.shape[:2])
    for position, label in enumerate(order):
        z = grid_log_odds(log_odds, int(label), labels, order[:position])
        given = labels[:, :, label] >= 0
        labels[:, :, label] = np.where(given, labels[:, :, label], choose(int(label), z))
        contribution = bernoulli_log_prob(labels[:, :, label], z)
        given_total += np.where(given, contribution, 0.0)
        chosen_total += np.where(given, 0.0, contribution)
    return labels, given_total, chosen_total


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
    return Ranked.padded(labels, log_prob, k, dropped)


# ---------------------------------------------------------------------- best-first search

# Prefixes of one row that are extended together: a call costs much more than a prefix in vain.
BATCH = 16


class Prefix(NamedTuple):
    """A prefix that waits: sorts by decreasing log-probability, the longer one first."""

    cost: float  # minus its log-probability
    remaining: int  # labels it has no value for yet
    labels: bytes


class PrefixSearch:
    """The search of a batch of rows that agree with ``known``."""

    def __init__(
        self, log_odds: LogOdds, order: Indices, known: Labels, limits: Limits, floor: Floats
    ) -> None:
        self.log_odds = log_odds
        self.order = order
        self.known = known
        self.limits = limits
        self.floor = floor
        n, n_labels = known.shape
        root = Prefix(0.0, n_labels, bytes(n_labels))
        self.open: list[list[Prefix]] = [[root] for _ in range(n)]
        self.skipped = np.full(n, -np.inf)
        self.nodes = np.zeros(n, dtype=np.int64)

    def run(self, start: Mode, log_mass: Floats) -> Mode:
        """Improve on the vectors given and return the best ones with what is proven."""
        self.labels, self.best = start.labels.copy(), start.log_prob.copy()
        deadline = time.monotonic() + self.limits.seconds
        others = _remaining_mass(log_mass, self.best)
        active = [row for row in range(len(self.best)) if others[row] > self._cut(row)]
        while active:
            self._extend(active)
            active = [row for row in active if self._goes_on(row)]
            if time.monotonic() > deadline:
                break
        waiting = [-heap[0].cost if heap else -np.inf for heap in self.open]
        bound = np.maximum(self.skipped, np.array(waiting).reshape(-1))
        bound = np.minimum(bound, _remaining_mass(log_mass, self.best))
        proven = bound <= self.best + ROUNDING * (1 + np.abs(self.best))
        bound = np.where(proven, self.best, np.maximum(bound, self.best))
        return Mode(self.labels, self.best, bound, self.nodes)

    def _cut(self, row: int) -> float:
        """Prefixes that are not more probable than this are not worth a look."""
        best = float(self.best[row])
        enough = best + max(self.limits.epsilon, ROUNDING * (1 + abs(best)))
        return max(enough, float(self.floor[row]))

    def _goes_on(self, row: int) -> bool:
        heap = self.open[row]
        return (
            bool(heap)
            and -heap[0].cost > self._cut(row)
            and bool(self.nodes[row] < self.limits.budget)
        )

    def _extend(self, active: list[int]) -> None:
        """Take the best prefixes of every active row one label further."""
        by_depth: dict[int, list[tuple[int, Prefix]]] = {}
        for row in active:
            heap = self.open[row]
            left = min(BATCH, self.limits.budget - int(self.nodes[row]))
            while heap and left > 0 and -heap[0].cost > self._cut(row):
                prefix = heapq.heappop(heap)
                by_depth.setdefault(len(self.order) - prefix.remaining, []).append((row, prefix))
                self.nodes[row] += 1
                left -= 1
        for depth, prefixes in by_depth.items():
            self._continue(depth, prefixes)

    def _continue(self, depth: int, prefixes: list[tuple[int, Prefix]]) -> None:
        label = int(self.order[depth])
        rows = np.array([row for row, _ in prefixes], dtype=np.int64)
        labels = np.frombuffer(b"".join(p.labels for _, p in prefixes), dtype=np.int8)
        labels = labels.reshape(len(prefixes), -1).copy()
        z = self.log_odds(label, rows, labels)
        for value in (0, 1):
            labels[:, label] = value
            gain = bernoulli_log_prob(labels[:, label], z)
            for i, (row, prefix) in enumerate(prefixes):
                if self.known[row, label] not in (-1, value):
                    continue
                longer = Prefix(prefix.cost - gain[i], prefix.remaining - 1, labels[i].tobytes())
                self._offer(row, longer)

    def _offer(self, row: int, prefix: Prefix) -> None:
        log_prob = -prefix.cost
        if prefix.remaining and log_prob > self._cut(row):
            heapq.heappush(self.open[row], prefix)
        elif prefix.remaining:
            self.skipped[row] = max(self.skipped[row], log_prob)
        elif log_prob > self.best[row] + ROUNDING * (1 + abs(self.best[row])):
            self.best[row] = log_prob
            self.labels[row] = np.frombuffer(prefix.labels, dtype=np.int8)


def _remaining_mass(log_mass: Floats, log_prob: Floats) -> Floats:
    """Return what any other vector of the row can have at most."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = log_mass + np.log1p(-np.exp(np.minimum(log_prob - log_mass, 0.0)))
    return np.where(np.isnan(rest), -np.inf, rest)


# ---------------------------------------------------------------------- populations


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
