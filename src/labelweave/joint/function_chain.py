"""Conditionals that only a Python function evaluates: walks, beams, best-first, populations.

Best-first search over prefixes in Python, for conditionals that only Python can evaluate.

No later label can raise the probability of a prefix: that is all the bound there is without
knowing the conditionals. All rows advance together, so that the conditionals are evaluated for many
prefixes at once.

Chains of conditionals that only a Python function can evaluate.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_whole_number
from labelweave.joint.chain import (
    LogOdds,
    Populations,
    SearchedChain,
    beam,
    beam_search,
    expand,
    grid_log_odds,
    walk,
    walk_populations,
)
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.quantities import bernoulli_log_prob
from labelweave.joint.results import Ranked, SearchedMode, SearchLimits

# Prefixes of one row that are extended together: a call costs much more than a prefix in vain.
BATCH = 16
# Sums in another order differ by this much, relatively.
ROUNDING = 1e-12


class Prefix(NamedTuple):
    """A prefix that waits: sorts by decreasing log-probability, the longer one first."""

    cost: float  # minus its log-probability
    remaining: int  # labels it has no value for yet
    labels: bytes


class PrefixSearch:
    """The search of a batch of rows that agree with ``known``."""

    def __init__(
        self, log_odds: LogOdds, order: Indices, known: Labels, limits: SearchLimits, floor: Floats
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

    def run(self, labels: Labels, log_prob: Floats, log_mass: Floats) -> SearchedMode:
        """Improve on the vectors given (in place) and return them with what is proven."""
        self.labels, self.best = labels, log_prob
        deadline = time.monotonic() + self.limits.seconds
        others = _remaining_mass(log_mass, log_prob)
        active = [row for row in range(len(labels)) if others[row] > self._cut(row)]
        while active:
            self._extend(active)
            active = [row for row in active if self._goes_on(row)]
            if time.monotonic() > deadline:
                break
        waiting = [-heap[0].cost if heap else -np.inf for heap in self.open]
        bound = np.maximum(self.skipped, np.array(waiting).reshape(-1))
        bound = np.minimum(bound, _remaining_mass(log_mass, self.best))
        proven = bound <= self.best + ROUNDING * (1 + np.abs(self.best))
        return SearchedMode(
            labels, self.best, np.where(proven, self.best, np.maximum(bound, self.best)), self.nodes
        )

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


# Prefixes up to which all rows are searched together: many may wait by then.
_TOGETHER = 1000


class GeneralChain(SearchedChain):
    """P(y) = Π_j P(y_j | earlier labels) for conditionals of any kind.

    Parameters
    ----------
    log_odds : callable
        ``log_odds(label, rows, prefix)`` returns the log-odds of ``label``, one for each entry of
        ``rows``. ``rows`` are positions in the batch this object was made with, ``prefix`` is a
        ``(len(rows), L)`` int8 array in which only labels earlier in ``order`` are set. ±inf says
        that the label is certain.
    n_rows, n_labels : int
    order : (L,) array of int, optional
        The labels in the order of the chain; by default 0 … L−1.
    label_names, row_ids, n_threads
        As in `JointDistribution`.
    """

    def __init__(
        self,
        log_odds: LogOdds,
        n_rows: int,
        n_labels: int,
        order: npt.ArrayLike | None = None,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        super().__init__(
            check_whole_number(n_rows, "n_rows", 0),
            check_whole_number(n_labels, "n_labels"),
            order,
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )
        self.log_odds = log_odds
        self._position = np.arange(n_rows, dtype=np.int64)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part._position = self._position[index]
        return part

    def conditional_log_odds(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label`` in ``rows`` given the labels set in ``prefix``."""
        if len(rows) == 0:
            return np.zeros(0)
        z = np.asarray(self.log_odds(label, self._position[rows], prefix), dtype=np.float64)
        if z.shape != (len(rows),) or np.isnan(z).any():
            raise ValueError(
                f"log_odds(label={label}, ...) must return {len(rows)} numbers, one per entry of "
                f"rows and none of them NaN; got shape {z.shape}"
            )
        return z

    def _scaled(self, factor: float) -> Self:
        chain = self[:]
        chain.log_odds = partial(_times, factor, self.log_odds)
        return chain

    def _prefix_log_odds(self, labels: Labels) -> Floats:
        log_odds = np.empty(labels.shape)
        for position, label in enumerate(self.order):
            before = self.order[:position]
            log_odds[:, :, label] = grid_log_odds(
                self.conditional_log_odds, int(label), labels, before
            )
        return log_odds

    def _log_joint(self, labels: Labels) -> Floats:
        def never(label: int, log_odds: Floats) -> Labels:
            return np.zeros(log_odds.shape, dtype=np.int8)

        return walk(self.conditional_log_odds, self.order, labels[:, None, :].copy(), never)[0][
            :, 0
        ]

    def _complete(self, labels: Labels, seed: int) -> Floats:
        uniforms = self._uniforms(seed, labels.shape[1], self.n_labels)

        def draw(label: int, log_odds: Floats) -> Labels:
            # u < σ(z), written so that it agrees with comparing log-odds and cannot overflow.
            u = uniforms[:, :, label]
            return (np.log(u) - np.log1p(-u) < log_odds).astype(np.int8)

        return walk(self.conditional_log_odds, self.order, labels, draw)[0]

    def _populate(
        self,
        known: Labels,
        order: Indices,
        sizes: tuple[int, int],
        seed: int,
        *,
        vectors: bool = True,
    ) -> Populations:
        uniforms = self._uniforms(seed, 2 * sizes[0], self.n_labels)
        return walk_populations(self.conditional_log_odds, order, known, uniforms, sizes[1])

    def _follow(self, labels: Labels) -> tuple[Floats, Floats]:
        def likelier(label: int, log_odds: Floats) -> Labels:
            return (log_odds > 0).astype(np.int8)

        given, chosen = walk(self.conditional_log_odds, self.order, labels[:, None, :], likelier)
        # No vector that agrees with the evidence is more probable than the evidence.
        bound = np.where(self._normaliser.exact, self._normaliser.value, 0.0)
        return given[:, 0] + chosen[:, 0], bound

    def _log_joint_table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        labels = np.zeros((self.n_rows, 1, self.n_labels), dtype=np.int8)
        log_prob = np.zeros((self.n_rows, 1))
        column = np.zeros(1, dtype=np.int64)
        for position, label in enumerate(order):
            labels, log_prob = expand(
                self.conditional_log_odds,
                int(label),
                order[:position],
                known[:, label],
                labels,
                log_prob,
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

    def _search(self, limits: SearchLimits, floor: Floats, log_mass: Floats) -> SearchedMode:
        # All rows together while few prefixes can wait, then the hard ones in blocks: so the
        # conditionals are evaluated for many prefixes at once and memory stays bounded.
        first = replace(limits, budget=min(limits.budget, _TOGETHER))
        found = self._search_together(first, floor, log_mass)
        spent = np.flatnonzero(found.nodes >= first.budget)
        if first.budget == limits.budget or len(spent) == 0:
            return found
        for block in row_blocks(len(spent), min(limits.budget, 2**40)):
            rows = spent[block]
            again = self[rows]._search_together(limits, floor[rows], log_mass[rows])
            found.labels[rows], found.nodes[rows] = again.labels, again.nodes
            found.log_prob[rows], found.upper_bound[rows] = again.log_prob, again.upper_bound
        return found

    def _search_together(
        self, limits: SearchLimits, floor: Floats, log_mass: Floats
    ) -> SearchedMode:
        labels = self._known.copy()
        log_joint, _ = self._follow(labels)
        search = PrefixSearch(self.conditional_log_odds, self.order, self._known, limits, floor)
        return search.run(labels, log_joint, log_mass)

    def _beam_search(self, width: int) -> tuple[Labels, Floats]:
        labels = np.empty_like(self._known)
        dropped = np.empty(self.n_rows)
        for block in row_blocks(self.n_rows, 4 * width * self.n_labels):
            part = self[block]
            labels[block], dropped[block] = beam(
                part.conditional_log_odds, part.order, part._known, width
            )
        return labels, dropped

    def _beam_list(self, k: int, width: int) -> Ranked:
        return beam_search(self.conditional_log_odds, self.order, self._known, k, width)

    def _ancestors(self, labels: Indices) -> Indices:
        """Every earlier label: what a conditional depends on is not visible from outside."""
        positions = np.flatnonzero(np.isin(self.order, labels))
        return self.order[: positions[-1] + 1] if len(positions) else self.order[:0]


def _times(factor: float, log_odds: LogOdds, label: int, rows: Indices, prefix: Labels) -> Floats:
    return factor * np.asarray(log_odds(label, rows, prefix), dtype=np.float64)
