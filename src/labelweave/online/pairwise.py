"""Labels that are compared with each other instead of with a bias: figures 1 and 2 of the paper.

Every relevant label's noisy score f_r has to exceed that of every irrelevant one, f_k, by a margin.
If exactly one label is relevant, that is the paper's multi-class model. A row costs a message for
each such pair: O(L) with one relevant label, up to O(L²) with many. Plain NumPy, a row at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._core import native

_MOST_ROUNDS = 50
# Rounds end when no mean moves by more than this share of its standard deviation and no precision
# by more than this share of itself.
_CLOSE = 1e-6
# The least of its precision that a cavity keeps, whatever wrongly recorded labels take away.
_LEAST_PRECISION = 1e-3


class Moves(NamedTuple):
    """How scores move: means by variance · pull, variances by −variance² · certainty."""

    pull: Floats
    certainty: Floats


def compare(
    mean: Floats, variance: Floats, labels: Labels, margin: Floats, flip: float = 0.0
) -> Moves:
    """Return what a row tells about the scores of its labels, by expectation propagation.

    Parameters
    ----------
    mean, variance : (L,) arrays
        Of the noisy scores f.
    labels : (L,) array
        1 for relevant, 0 for irrelevant labels, -1 for those not known.
    margin : (L,) array
        By how much f of each relevant label has to exceed that of irrelevant ones.
    flip : float, default=0.0
        How often a comparison is wrong: f_k exceeds f_r by the margin.

    Examples
    --------
    >>> mean, variance = np.zeros(3), np.ones(3)
    >>> labels = np.array([1, 0, -1], dtype=np.int8)
    >>> moves = compare(mean, variance, labels, margin=np.zeros(3))
    >>> (variance * moves.pull).round(3)  # E[max] of two standard normal variables, and E[min]
    array([ 0.564, -0.564,  0.   ])
    """
    relevant, irrelevant = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    prior = np.stack([1 / variance, mean / variance])
    # Messages in natural parameters (precision, weighted mean), for each pair to both its ends.
    to_relevant = np.zeros((2, len(relevant), len(irrelevant)))
    to_irrelevant = np.zeros_like(to_relevant)
    total = prior.copy()
    for _ in range(_MOST_ROUNDS):
        before = total.copy()
        for number, r in enumerate(relevant):
            above = _cavity(total[:, [r]], to_relevant[:, number], prior[:, [r]])
            below = _cavity(total[:, irrelevant], to_irrelevant[:, number], prior[:, irrelevant])
            messages = _messages(above, below, margin[r], flip)
            to_relevant[:, number], to_irrelevant[:, number] = messages
            total[:, r] = prior[:, r] + to_relevant[:, number].sum(axis=1)
            total[:, irrelevant] = prior[:, irrelevant] + to_irrelevant.sum(axis=1)
        if _settled(before, total):
            break
    after = 1 / total[0]
    return Moves((total[1] * after - mean) / variance, (variance - after) / variance**2)


def _cavity(total: Floats, message: Floats, prior: Floats) -> Floats:
    """Mean and variance of scores without a message, (2, pairs)."""
    precision = np.maximum(total[0] - message[0], _LEAST_PRECISION * prior[0])
    return np.stack([(total[1] - message[1]) / precision, 1 / precision])


def _messages(above: Floats, below: Floats, margin: float, flip: float) -> tuple[Floats, Floats]:
    """Return what f_r − f_k > margin tells each end beyond its cavity."""
    spread = np.sqrt(above[1] + below[1])
    d = np.ascontiguousarray((above[0] - below[0]) / spread)
    shift, kept = np.empty_like(d), np.empty_like(d)
    native.truncation_moments(d, margin / spread, flip, shift, kept)
    shrink = np.maximum(1.0 - kept, 0.0)
    return (
        _message(above, shift / spread, shrink / spread**2),
        _message(below, -shift / spread, shrink / spread**2),
    )


def _message(cavity: Floats, pull: Floats, certainty: Floats) -> Floats:
    """Divide the posterior of one end by its cavity, in natural parameters."""
    mean, variance = cavity
    precision = certainty / (1 - variance * certainty)
    return np.stack([precision, precision * mean + pull * (1 + variance * precision)])


def _settled(before: Floats, after: Floats) -> bool:
    moved = np.abs(after[1] / after[0] - before[1] / before[0]) * np.sqrt(after[0])
    changed = np.abs(after[0] - before[0]) / after[0]
    return bool((moved <= _CLOSE).all() and (changed <= _CLOSE).all())
