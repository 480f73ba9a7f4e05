"""Populations of weighted prefixes that stand for all label vectors of a chain.

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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.bernoulli import bernoulli_log_prob
from labelweave.joint.chain.steps import LogOdds

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
