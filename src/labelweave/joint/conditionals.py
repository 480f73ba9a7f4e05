"""The common parts of all conditionals: the order, grids of log-odds, and populations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels

# (label, rows, prefix) -> log-odds of the label in these rows after these earlier labels.
LogOdds: TypeAlias = Callable[[int, Indices, Labels], Floats]


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
    """Return the log-odds (n, k) of ``label`` given the labels ``before`` it in k vectors a row."""
    n, k, n_labels = labels.shape
    prefix = np.zeros((n * k, n_labels), dtype=np.int8)
    prefix[:, before] = labels.reshape(n * k, n_labels)[:, before]
    return log_odds(label, np.repeat(np.arange(n), k), prefix).reshape(n, k)


# Independent populations of each row; their spread gives the standard error. Fewer populations
# would be larger and more accurate, but seven degrees of freedom are few enough.
N_POPULATIONS = 8


def population_sizes(samples: int) -> tuple[int, int]:
    """Return how many populations stand for ``samples`` draws, and how many prefixes each has."""
    n_populations = min(N_POPULATIONS, samples)
    return n_populations, -(-samples // n_populations)


@dataclass(frozen=True)
class Populations:
    """The results of r populations of at most m weighted prefixes for each of n rows.

    A population starts from the empty prefix. Each prefix is extended by both values of the next
    label and its weight split between them, so that the weights of the positive ones sum to the
    label's marginal. When there are more prefixes than the population may hold, the heaviest keep
    their weights. The others are drawn in proportion to their weights, and each drawn one gets the
    same weight, the *quantum* (Fearnhead and Clifford, 2003; docs/design/math.md, 2.4).
    """

    #: (n, r, L): P(y_j = 1) given the evidence on labels that come before j in the walk.
    marginals: Floats
    #: (n, r): the log-probability of the evidence.
    log_evidence: Floats
    #: (n, r): the largest weight of a prefix that was drawn; zero if all is exact.
    quantum: Floats
    #: (n, r, m, L): the final vectors, or m = 0 if they were not requested.
    labels: Labels
    #: (n, r, m): logarithms of their weights, which sum to the evidence; -inf for no vector.
    log_weight: Floats

    @staticmethod
    def empty(known: Labels, n_populations: int, size: int) -> Populations:
        """Return empty arrays for the populations of rows with this evidence."""
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
