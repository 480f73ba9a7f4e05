"""Runs of the Gibbs sampler: the compiled one for linear chains, and one for any distribution.

Both resample the labels along the chain: label j of a row becomes positive iff its log-odds given
all other labels exceed logit(u), where u is the number of (seed, row id, sweep, label). So they
visit the same states; they differ in how they find the log-odds. A random scan draws the labels of
every sweep, and step s takes the number of (seed, row id, sweep, s).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._core import native
from labelweave.joint import JointDistribution
from labelweave.joint.bernoulli import bernoulli_log_prob
from labelweave.joint.capabilities import HasConditionals, HasLinearConditionals
from labelweave.joint.chain.steps import grid_log_odds

# As in native/chain/gibbs.hpp: a higher log-probability by less than this may be rounding.
TIE = 1e-9
# An impossible factor counts as this log-probability, so that a state can be left in which several
# factors are impossible: fewer of them are better, whatever the possible ones.
IMPOSSIBLE = -1e8


@dataclass(frozen=True)
class Run:
    """What a run visited.

    Attributes
    ----------
    last : (n, L) int8 array
        The state after the last sweep.
    best : (n, L) int8 array
        The most probable state visited, the start included.
    best_gain : (n, sweeps) array
        Log-probability of the best state so far above that of the start, after each sweep.
    samples : (n, kept, L) int8 array
        The states after the last ``kept`` sweeps.
    """

    last: Labels
    best: Labels
    best_gain: Floats
    samples: Labels


def run(
    joint: JointDistribution,
    start: Labels,
    seed: int,
    first_draw: int,
    sweeps: int,
    kept: int,
    *,
    random_scan: bool = False,
) -> Run:
    """Run the sampler in the fastest way the distribution allows."""
    if isinstance(joint, HasLinearConditionals) and not random_scan:
        return run_linear(joint, start, seed, first_draw, sweeps, kept)
    return run_general(joint, start, seed, first_draw, sweeps, kept, random_scan=random_scan)


def run_linear(
    joint: JointDistribution, start: Labels, seed: int, first_draw: int, sweeps: int, kept: int
) -> Run:
    """Algorithm 2: the scores are kept, and changed when a label flips."""
    if not isinstance(joint, HasLinearConditionals):
        raise TypeError(f"a compiled run needs linear conditionals; got {joint!r}")
    n, n_labels = start.shape
    last, best = start.copy(), start.copy()
    best_gain = np.zeros((n, sweeps))
    samples = np.empty((n, kept, n_labels), dtype=np.int8)
    native.chain_gibbs(
        joint.scores,
        joint.coupling,
        joint.order,
        joint.known,
        joint.row_ids,
        seed,
        first_draw,
        last,
        best,
        best_gain,
        samples,
        joint.n_threads,
    )
    return Run(last, best, best_gain, samples)


def run_general(
    joint: JointDistribution,
    start: Labels,
    seed: int,
    first_draw: int,
    sweeps: int,
    kept: int,
    *,
    random_scan: bool = False,
) -> Run:
    """Algorithm 1: every log-odds is found anew from the conditionals, or from whole vectors."""
    order, log_odds = _conditional_log_odds(joint)
    y, best = start.copy(), start.copy()
    gain, highest = np.zeros(len(y)), np.zeros(len(y))
    best_gain = np.zeros((len(y), sweeps))
    samples = np.empty((len(y), kept, joint.n_labels), dtype=np.int8)
    uniforms = np.empty(y.shape)
    for sweep in range(sweeps):
        native.fill_uniform(seed, joint.row_ids, first_draw + sweep, uniforms, joint.n_threads)
        logit = np.log(uniforms) - np.log1p(-uniforms)
        random = np.random.default_rng([seed, first_draw + sweep]) if random_scan else None
        for position, number in _scan(order, random):
            label, z = order[position], log_odds(position, y)
            flips = ((logit[:, number] < z) != (y[:, label] == 1)) & (joint.known[:, label] < 0)
            gain += np.where(flips, np.where(y[:, label] == 1, -z, z), 0.0)
            y[flips, label] ^= 1
            better = gain > highest + TIE
            best[better], highest[better] = y[better], gain[better]
        best_gain[:, sweep] = highest
        if sweep >= sweeps - kept:
            samples[:, sweep - (sweeps - kept)] = y
    return Run(y, best, best_gain, samples)


def _scan(order: Indices, random: np.random.Generator | None) -> list[tuple[int, int]]:
    """Return the places in the chain a sweep goes to, each with the uniform number it takes."""
    if random is None:
        return [(position, int(label)) for position, label in enumerate(order)]
    drawn = random.integers(len(order), size=len(order))
    return [(int(position), step) for step, position in enumerate(drawn)]


def _conditional_log_odds(
    joint: JointDistribution,
) -> tuple[Indices, Callable[[int, Labels], Floats]]:
    """Return the order of the labels, and the log-odds of one of them given all others."""
    if isinstance(joint, HasConditionals):
        order = joint.order
        return order, lambda position, y: _from_conditionals(joint, order, position, y)
    order = np.arange(joint.n_labels, dtype=np.int64)
    return order, lambda position, y: _difference(_both(y, position), joint.log_prob_of_draws)


def _from_conditionals(joint: HasConditionals, order: Indices, position: int, y: Labels) -> Floats:
    """Factors before ``position`` are the same for both values and cancel."""

    def later_log_prob(both: Labels) -> Floats:
        total = np.zeros(both.shape[:2])
        for later in range(position, len(order)):
            label = int(order[later])
            z = grid_log_odds(joint.conditional_log_odds, label, both, order[:later])
            total += np.maximum(bernoulli_log_prob(both[:, :, label], z), IMPOSSIBLE)
        return total

    return _difference(_both(y, int(order[position])), later_log_prob)


def _both(y: Labels, label: int) -> Labels:
    """Return the states (n, 2, L) with the label at 0 and at 1."""
    both = np.repeat(y[:, None, :], 2, axis=1)
    both[:, :, label] = (0, 1)
    return both


def _difference(both: Labels, log_prob: Callable[[Labels], Floats]) -> Floats:
    value = np.maximum(log_prob(both), IMPOSSIBLE * both.shape[2])
    return np.asarray(value[:, 1] - value[:, 0])
