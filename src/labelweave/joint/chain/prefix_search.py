"""Best-first search over prefixes in Python, for conditionals that only Python can evaluate.

No later label can raise the probability of a prefix: that is all the bound there is without
knowing the conditionals. All rows advance together, so that the conditionals are evaluated for many
prefixes at once.
"""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.bernoulli import bernoulli_log_prob
from labelweave.joint.chain.steps import LogOdds
from labelweave.joint.mode import SearchedMode, SearchLimits

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
