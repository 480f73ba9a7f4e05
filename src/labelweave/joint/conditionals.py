"""What a chain asks of its conditionals, and the populations of prefixes that they walk.

`LinearConditionals` (linear_chain.py) and `FunctionConditionals` (function_chain.py) are the two
implementations. They know nothing of evidence's probability: everything here is about the chain
before conditioning, so log-probabilities of vectors are *log-joints*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.capabilities import Limits
from labelweave.joint.results import Mode, Ranked

# (label, rows, prefix) -> log-odds of the label in these rows after these earlier labels.
LogOdds: TypeAlias = Callable[[int, Indices, Labels], Floats]


class Conditionals(Protocol):
    """P(label | earlier labels) of each label of every row of a batch.

    Attributes
    ----------
    order : (L,) array of int
        The labels in the order of the chain.
    """

    order: Indices

    @property
    def linear(self) -> tuple[Floats, Floats] | None:
        """``scores`` (n, L) and ``coupling`` (L, L) of linear conditionals; None for others."""
        ...

    def take(self, rows: Indices) -> Self:
        """Return the conditionals of some rows."""
        ...

    def scaled(self, factor: float) -> Self:
        """Return the conditionals with all log-odds times ``factor``."""
        ...

    def ancestors(self, labels: Indices) -> Indices:
        """Return the labels that ``labels`` depend on, and these themselves, in chain order."""
        ...

    def log_odds_of(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label``, one for each of ``rows`` and its (L,) prefix.

        Only the labels before it may be set in a prefix; all others are 0.
        """
        ...

    def log_odds(self, vectors: Labels) -> Floats:
        """Return the log-odds (n, k, L) of each label of the vectors given the earlier ones."""
        ...

    def log_joint(self, vectors: Labels) -> Floats:
        """Return the log-joints (n, k) of (n, k, L) vectors."""
        ...

    def table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        """Return the (n, 2^f) log-joints of the labels in ``order``: known where not ``free``."""
        ...

    def cardinality(self, *, by_label: bool) -> Floats | None:
        """Return how many labels are positive, if there is a formula for it, as in a joint."""
        ...

    def complete(self, vectors: Labels, row_ids: Indices, seed: int) -> tuple[Labels, Floats]:
        """Draw every -1 of (n, k, L) vectors; return these with the log-weights of the rest."""
        ...

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
        ...

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
        of all, and a search under the relaxed bound begins with ``start``.
        """
        ...

    def beam(self, known: Labels, k: int, width: int) -> Ranked:
        """Return the k best vectors of a beam search that keeps ``width`` prefixes."""
        ...


def check_order(order: npt.ArrayLike | None, n_labels: int) -> Indices:
    """Return a permutation of the labels; by default their own order."""
    if order is None:
        return np.arange(n_labels, dtype=np.int64)
    result = np.ascontiguousarray(order, dtype=np.int64)
    if result.shape != (n_labels,) or not np.array_equal(np.sort(result), np.arange(n_labels)):
        raise ValueError(
            f"order must name each of the labels 0 to {n_labels - 1} once; got {np.asarray(order)}"
        )
    return result


def grid_log_odds(log_odds: LogOdds, label: int, labels: Labels, before: Indices) -> Floats:
    """Return the log-odds (n, k) of ``label`` for k vectors per row, seen only ``before`` it."""
    n, k, n_labels = labels.shape
    prefix = np.zeros((n * k, n_labels), dtype=np.int8)
    prefix[:, before] = labels.reshape(n * k, n_labels)[:, before]
    return log_odds(label, np.repeat(np.arange(n), k), prefix).reshape(n, k)


# Independent populations of each row, whose spread is the standard error. Fewer would be larger and
# more accurate, but seven degrees of freedom are few enough.
N_POPULATIONS = 8


def population_sizes(samples: int) -> tuple[int, int]:
    """Return how many populations stand for ``samples`` draws, and how many prefixes each has."""
    n_populations = min(N_POPULATIONS, samples)
    return n_populations, -(-samples // n_populations)


@dataclass(frozen=True)
class Populations:
    """What r populations of at most m weighted prefixes say about each of n rows.

    A population starts from the empty prefix. Each prefix is extended by both values of the next
    label and its weight split between them, so that the weights of the positive ones sum to the
    label's marginal. When there are more prefixes than the population may hold, the heaviest stay
    as they are; the others are drawn in proportion to their weights, and all have the same weight
    afterwards, the *quantum* (Fearnhead and Clifford, 2003). From then on a continuation that is
    lighter than the quantum is drawn before it takes a place, and its sibling has the rest of their
    weight. Draws are systematic, with prefixes that agree in the last labels next to each other. No
    prefix is held twice, and the expected weight of each is its probability, so that marginals are
    unbiased (docs/design/math.md, 2.4).

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
