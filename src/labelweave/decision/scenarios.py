"""Weighted label vectors that stand for a joint distribution in sums over all label vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import label_vectors, row_blocks

# Up to this many labels all vectors are scenarios and candidates: decisions are exact.
MAX_EXACT = 8

#: From candidates (n, c, L) and scenarios (n, m, L) to the utility of each pair, (n, c, m).
Utilities: TypeAlias = Callable[[Labels, Labels], Floats]


@dataclass(frozen=True)
class Scenarios:
    """Label vectors of each row with weights that sum to one.

    Attributes
    ----------
    labels : (n, m, L) int8 array
    weights : (n, m) array

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> scenarios = Scenarios.of(IndependentJoint(np.log([[3.0]])), n_listed=2, n_draws=0)
    >>> scenarios.labels.tolist(), scenarios.weights.round(2).tolist()
    ([[[1], [0]]], [[0.75, 0.25]])
    """

    labels: Labels
    weights: Floats

    @classmethod
    def of(cls, joint: JointDistribution, n_listed: int, n_draws: int) -> Scenarios:
        """Return all vectors while there are few labels, else the most probable ones and draws.

        Draws stand for the vectors that are not listed, and share their probability.
        """
        if joint.n_labels <= MAX_EXACT:
            return cls._listed(joint, 2**joint.n_labels)
        listed = cls._listed(joint, n_listed, normalise=False)
        labels, log_weight = joint.weighted_sample(n_draws, 0)
        highest = log_weight.max(axis=1, keepdims=True, initial=-np.inf)
        weight = np.exp(log_weight - highest) * ~_occurs(labels, listed)
        rest = np.maximum(1.0 - listed.weights.sum(axis=1, keepdims=True), 0.0)
        total = weight.sum(axis=1, keepdims=True)
        weight *= np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)
        return cls(
            np.concatenate([listed.labels, labels], axis=1),
            np.concatenate([listed.weights, weight], axis=1),
        )._normalised()

    @classmethod
    def _listed(cls, joint: JointDistribution, k: int, *, normalise: bool = True) -> Scenarios:
        ranked = joint.top(k)
        # Rows with fewer vectors are filled up with labels of -1 and no probability.
        listed = cls(np.maximum(ranked.labels, 0), np.exp(ranked.log_prob))
        return listed._normalised() if normalise else listed

    def _normalised(self) -> Scenarios:
        return Scenarios(self.labels, self.weights / self.weights.sum(axis=1, keepdims=True))

    def expected(self, candidates: Labels, utilities: Utilities) -> Floats:
        """Return the expected utility of each of the (n, c, L) candidates, (n, c)."""
        return np.asarray(np.einsum("ncm,nm->nc", utilities(candidates, self.labels), self.weights))


def overlaps(candidates: Labels, scenarios: Labels) -> tuple[Floats, Floats, Floats]:
    """Return |ŷ ∧ y|, |ŷ| and |y| of all pairs, shapes (n, c, m), (n, c, 1) and (n, 1, m)."""
    predicted, true = candidates.astype(np.float64), scenarios.astype(np.float64)
    both = predicted @ true.transpose(0, 2, 1)
    return both, predicted.sum(axis=2)[:, :, None], true.sum(axis=2)[:, None, :]


def candidates_of(joint: JointDistribution, scenarios: Scenarios) -> Labels:
    """Return the vectors to choose from, (n, c, L).

    All vectors while there are few labels. Else the scenarios' most probable ones, and for every
    number of labels those of the highest marginals.
    """
    n, n_labels = joint.n_rows, joint.n_labels
    if n_labels <= MAX_EXACT:
        return np.broadcast_to(label_vectors(n_labels), (n, 2**n_labels, n_labels))
    rank = np.argsort(np.argsort(-joint.marginals(), axis=1, kind="stable"), axis=1)
    largest = int(scenarios.labels.sum(axis=2, dtype=np.int64).max(initial=0))
    nested = rank[:, None, :] < np.arange(largest + 1)[:, None]
    heaviest = np.argsort(-scenarios.weights, axis=1, kind="stable")[:, :_MOST_CANDIDATES]
    probable = np.take_along_axis(scenarios.labels, heaviest[:, :, None], axis=1)
    return np.concatenate([nested.astype(np.int8), probable], axis=1)


_MOST_CANDIDATES = 64


def best_candidates(
    joint: JointDistribution, utilities: Utilities, n_listed: int, n_draws: int
) -> Labels:
    """Return the candidate of largest expected utility in each row, (n, L)."""
    labels = np.empty((joint.n_rows, joint.n_labels), dtype=np.int8)
    for rows in row_blocks(joint.n_rows, (n_listed + n_draws) * joint.n_labels * 16):
        part = joint[rows]
        scenarios = Scenarios.of(part, n_listed, n_draws)
        candidates = candidates_of(part, scenarios)
        best = np.argmax(scenarios.expected(candidates, utilities), axis=1)
        labels[rows] = candidates[np.arange(part.n_rows), best]
    return labels


def expected_utility(
    joint: JointDistribution, labels: Labels, utilities: Utilities, n_listed: int, n_draws: int
) -> Floats:
    """Return the expected utility of given label vectors, (n,)."""
    expected = np.empty(joint.n_rows)
    for rows in row_blocks(joint.n_rows, (n_listed + n_draws) * joint.n_labels):
        scenarios = Scenarios.of(joint[rows], n_listed, n_draws)
        expected[rows] = scenarios.expected(labels[rows, None], utilities)[:, 0]
    return expected


def _occurs(draws: Labels, listed: Scenarios) -> Mask:
    """Whether each of the (n, m, L) draws is among the listed vectors."""
    both, drawn, size = overlaps(draws, listed.labels)
    same = (both == drawn) & (both == size) & (listed.weights > 0)[:, None, :]
    return np.asarray(same.any(axis=2))
