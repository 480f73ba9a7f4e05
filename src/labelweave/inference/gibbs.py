"""Gibbs: the probabilistic classifier chain via Gibbs sampling (P2CG).

A sweep resamples the labels along the chain: label j of a row becomes positive iff its log-odds
given all other labels exceed logit(u), where u is the random number of (seed, row id, sweep,
label). One sampler is compiled, for linear chains, another takes any distribution: they visit the
same states but compute the log-odds differently. A random scan draws the labels of every sweep, and
step s uses the number of (seed, row id, sweep, s). Errors of estimates account for correlated
states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import (
    RandomState,
    check_choice,
    check_whole_number,
    derive_seed,
    resolve_seed,
)
from labelweave._core import native
from labelweave.inference.strategy import Inference
from labelweave.joint import Estimate, JointDistribution, Mode
from labelweave.joint.capabilities import ChainRule, greedy_mode
from labelweave.joint.chain import Conditionals
from labelweave.joint.conditionals import grid_log_odds
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.quantities import (
    QUANTITIES,
    Quantity,
    bernoulli_log_prob,
    error_at_least,
    mean_from_draws,
    probability_from_draws,
    shape,
)
from labelweave.joint.results import TIE


def mean_of_walks(
    joint: JointDistribution, samples: Labels, quantity: Quantity, walks: int
) -> tuple[Floats, Floats]:
    """Return the mean over ``samples`` (n, k, L), walks of equal length, and its standard error.

    Each walk is cut into stretches of about √length states; the spread of their means gives the
    error. For a probability it is at least one over the number of states.
    """
    k = samples.shape[1]
    length = k // walks
    n_stretches = max(2, int(np.sqrt(length)))
    means, sizes = [], []
    for walk in range(walks):
        bounds = walk * length + np.linspace(0, length, n_stretches + 1).astype(np.int64)
        for first, last in pairwise(bounds):
            means.append(_mean(joint, samples[:, first:last], quantity))
            sizes.append(last - first)
    weight = np.asarray(sizes) / k
    value = np.einsum("s,s...->...", weight, np.stack(means))
    count = len(means)
    spread = np.einsum("s,s...->...", weight, (np.stack(means) - value) ** 2) / (count - 1)
    error = np.sqrt(spread)
    if quantity == "entropy":
        return value, np.hypot(error, joint.log_prob_error())
    return value, error_at_least(1 / k, error)


def _mean(joint: JointDistribution, samples: Labels, quantity: Quantity) -> Floats:
    weight = np.full(samples.shape[:2], 1 / samples.shape[1])
    if quantity == "entropy":
        return mean_from_draws(-joint.log_prob(samples), weight)[0]
    return probability_from_draws(quantity, samples, weight)[0]


# An impossible factor counts as this log-probability, so that a state can be left in which several
# factors are impossible: fewer of them are better, whatever the possible ones.
IMPOSSIBLE = -1e8


@dataclass(frozen=True)
class Run:
    """The states that a run visited.

    ``last`` (n, L) is the state after the last sweep, ``best`` (n, L) the most probable state, the
    start included. ``best_gain`` (n, sweeps) is the log-probability of the best state so far minus
    that of the start. ``samples`` (n, kept, L) are the states after the last sweeps.
    """

    last: Labels
    best: Labels
    best_gain: Floats
    samples: Labels

    @staticmethod
    def begun(start: Labels, sweeps: int, kept: int) -> Run:
        """Return empty arrays for a run."""
        n, n_labels = start.shape
        samples = np.empty((n, kept, n_labels), dtype=np.int8)
        return Run(start.copy(), start.copy(), np.zeros((n, sweeps)), samples)


def run_linear(
    joint: JointDistribution, start: Labels, seed: int, first_draw: int, sweeps: int, kept: int
) -> Run:
    """Run Algorithm 2, which keeps the scores and updates them when a label flips."""
    assert isinstance(joint, ChainRule)
    conditionals, found = joint.conditionals, Run.begun(start, sweeps, kept)
    assert conditionals.linear is not None
    keys = (joint.known, joint.row_ids, seed, first_draw)
    outputs = (found.last, found.best, found.best_gain, found.samples)
    kernel: Callable[..., None] = native.chain_gibbs
    kernel(*conditionals.linear, conditionals.order, *keys, *outputs, joint.n_threads)
    return found


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
    """Run Algorithm 1, which computes every log-odds anew from conditionals or whole vectors."""
    order, log_odds = _conditional_log_odds(joint)
    found = Run.begun(start, sweeps, kept)
    y = found.last
    gain, highest = np.zeros(len(y)), np.zeros(len(y))
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
            found.best[better], highest[better] = y[better], gain[better]
        found.best_gain[:, sweep] = highest
        if sweep >= sweeps - kept:
            found.samples[:, sweep - (sweeps - kept)] = y
    return found


def _scan(order: Indices, random: np.random.Generator | None) -> list[tuple[int, int]]:
    """Return the chain positions that a sweep visits, each with the index of its random number."""
    if random is None:
        return [(position, int(label)) for position, label in enumerate(order)]
    drawn = random.integers(len(order), size=len(order))
    return [(int(position), step) for step, position in enumerate(drawn)]


def _conditional_log_odds(
    joint: JointDistribution,
) -> tuple[Indices, Callable[[int, Labels], Floats]]:
    """Return the order of the labels, and a function of a label's log-odds given all others."""
    if isinstance(joint, ChainRule):
        conditionals = joint.conditionals
        return conditionals.order, lambda position, y: _later_log_odds(conditionals, position, y)
    order = np.arange(joint.n_labels, dtype=np.int64)
    return order, lambda position, y: _difference(_both(y, position), joint.log_prob)


def _later_log_odds(conditionals: Conditionals, position: int, y: Labels) -> Floats:
    """Compare the factors from ``position`` on; earlier factors are equal and cancel."""
    order = conditionals.order

    def later_log_prob(both: Labels) -> Floats:
        total = np.zeros(both.shape[:2])
        for later in range(position, len(order)):
            label = int(order[later])
            z = grid_log_odds(conditionals.log_odds_of, label, both, order[:later])
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


@dataclass(frozen=True)
class Gibbs(Inference):
    """Walk through likely label vectors by resampling one label at a time; keep the best.

    A sweep draws every label anew from its distribution given all other labels. The result is the
    most probable vector visited, and never less probable than the greedy one. Chains with linear
    conditionals run in compiled code, unless the scan is random. Any other distribution works, too:
    the same random numbers lead to the same states.

    Parameters
    ----------
    sweeps : int, default=20
        How often every label is resampled.
    burn_in : int, default=0
        Earlier sweeps whose states are no samples, though they are candidates for the mode.
    restarts : int, default=1
        Independent walks; the best of all is kept.
    start : {"greedy", "random"}, default="greedy"
        Where a walk begins: at the greedy vector, or at a draw along the chain.
    keep : {"best", "last"}, default="best"
        The result: the most probable vector visited, or the state of the last sweep, which is a
        draw and not a mode.
    scan : {"systematic", "random"}, default="systematic"
        Whether a sweep resamples each label once, along the chain, or as many labels drawn at
        random, the same ones in all rows.
    random_state : int, Generator, RandomState or None, default=0
        Random numbers belong to (seed, row id, sweep, label): results depend neither on threads
        nor on how rows are batched. None counts as 0.

    Examples
    --------
    Greedy labelling walks into a trap that a few sweeps leave:

    >>> import numpy as np
    >>> from labelweave.inference import Gibbs, Greedy
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> Greedy()(joint).labels, Gibbs()(joint).labels
    (array([[1, 0]], dtype=int8), array([[0, 0]], dtype=int8))
    """

    sweeps: int = 20
    burn_in: int = 0
    restarts: int = 1
    start: Literal["greedy", "random"] = "greedy"
    keep: Literal["best", "last"] = "best"
    scan: Literal["systematic", "random"] = "systematic"
    random_state: RandomState = 0

    def __post_init__(self) -> None:
        check_whole_number(self.sweeps, "sweeps", 0)
        check_whole_number(self.burn_in, "burn_in", 0)
        check_whole_number(self.restarts, "restarts", 1)
        if self._length * self.restarts >= 2**32:
            raise ValueError("sweeps, burn_in and restarts must give fewer than 2^32 sweeps in all")
        check_choice(self.start, "start", ("greedy", "random"))
        check_choice(self.keep, "keep", ("best", "last"))
        check_choice(self.scan, "scan", ("systematic", "random"))

    @property
    def _length(self) -> int:
        return self.burn_in + self.sweeps

    def _search(self, joint: JointDistribution) -> Mode:
        """Return the best vectors visited, with the upper bound of the greedy search."""
        found = greedy = greedy_mode(joint)
        for _, walk in self._walks(joint, greedy, kept=0):
            if self.keep == "last":
                log_prob = joint.log_prob(walk.last)
                found = Mode(walk.last, log_prob, np.maximum(greedy.upper_bound, log_prob))
            else:
                found = found.or_vectors(walk.best, joint.log_prob(walk.best))
        return found

    def trace(self, joint: JointDistribution, /) -> Floats:
        """Return the log-probability of the best vector so far: at the start and after every sweep.

        The (n, 1 + restarts (burn_in + sweeps)) array has the walks one after the other. The curve
        ``np.exp(trace).mean(axis=0)`` shows the convergence.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import ChainJoint
        >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
        >>> np.exp(Gibbs(sweeps=3).trace(joint)).mean(axis=0).round(3)
        array([0.275, 0.447, 0.447, 0.447])
        """
        greedy = greedy_mode(joint)
        parts = [greedy.log_prob[:, None]]
        for start, walk in self._walks(joint, greedy, kept=0):
            parts.append(joint.log_prob(start)[:, None] + walk.best_gain)
        return np.asarray(np.maximum.accumulate(np.concatenate(parts, axis=1), axis=1))

    def sample(self, joint: JointDistribution, /) -> Labels:
        """Return the state after every sweep after `burn_in`: (n, restarts · sweeps, L) int8.

        Successive states are correlated; `estimate` accounts for that. For an unconditioned chain,
        ``joint.sample`` gives independent draws at a lower cost.
        """
        walks = [walk for _, walk in self._walks(joint, greedy_mode(joint), kept=self.sweeps)]
        return np.concatenate([walk.samples for walk in walks], axis=1)

    def estimate(self, joint: JointDistribution, quantity: Quantity) -> Estimate:
        """Estimate a quantity of the distribution from `sample`.

        It is useful where many labels are known late in a long chain, because ``joint.estimate``
        then weighs draws that rarely agree with them. The standard error comes from means over
        stretches of a walk, and accounts for correlation that fades within a stretch.

        Parameters
        ----------
        joint : JointDistribution
        quantity : {"marginals", "pairwise", "cardinality", "cardinality_by_label", "entropy"}
        """
        check_choice(quantity, "quantity", QUANTITIES)
        if self.sweeps < 2:
            raise ValueError(f"sweeps must be at least 2 to estimate; got {self.sweeps}")
        cells = self.restarts * self.sweeps * joint.n_labels
        seeded = replace(self, random_state=resolve_seed(self.random_state))
        value = np.empty(shape(joint, quantity))
        error = np.empty_like(value)
        for block in row_blocks(joint.n_rows, cells):
            part, samples = joint[block], seeded.sample(joint[block])
            value[block], error[block] = mean_of_walks(part, samples, quantity, self.restarts)
        return Estimate(value, error, np.zeros(joint.n_rows, dtype=np.bool_))

    def _walks(
        self, joint: JointDistribution, greedy: Mode, kept: int
    ) -> Iterator[tuple[Labels, Run]]:
        """Yield the start and the run of every restart."""
        linear = isinstance(joint, ChainRule) and joint.conditionals.linear is not None
        run: Callable[..., Run] = run_linear if linear else run_general
        if self.scan == "random":
            run = partial(run_general, random_scan=True)
        seed = resolve_seed(self.random_state)
        for restart in range(self.restarts):
            start = greedy.labels
            if self.start == "random":
                # A separate stream, so that no number is used for both a start and a sweep.
                start = joint.sample(1, derive_seed(seed, 2 + restart))[:, 0]
            yield start, run(joint, start, seed, restart * self._length, self._length, kept)
