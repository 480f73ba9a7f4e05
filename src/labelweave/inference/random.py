"""MonteCarlo: the most probable of some draws. Annealing: a random walk that cools down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import RandomState, check_number, check_whole_number, resolve_seed
from labelweave._common.presets import Preset, Presets, published
from labelweave._core import native
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.capabilities import greedy_mode, trees_of
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.results import TIE


@dataclass(frozen=True)
class Annealing(Inference):
    """The best vector visited by a random walk of single flips that cools down.

    The walk starts from the `Greedy` vector, so the result is never worse than this vector and has
    the same upper bound. Each step proposes to flip one label, and accepts a flip that lowers log
    P(y) by d with probability exp(-d / T). Every step multiplies the temperature T by ``cooling``;
    every ``reanneal`` steps T returns to its start.

    Competing vectors differ by fractions of a nat, so the last temperatures must be that low: by
    default each round goes from 0.5 to 0.02. ``Annealing.preset("published")`` is the schedule of
    the authors of the mixture of trees, from 100 to 8: it accepts nearly every flip and finds
    little beyond its start. Walks over mixtures of trees and of independent labels are compiled;
    for other distributions, every flip needs the probability of a whole vector.

    Parameters
    ----------
    steps : int, default=150
        Flips proposed for each row.
    temperature : float, default=0.5
        Temperature at the start and after every ``reanneal`` steps, in nats.
    reanneal : int, default=50
        Steps from one start temperature to the next.
    cooling : float, default=0.935
        Factor of the temperature from one step to the next.
    random_state : int, Generator, RandomState or None, default=0
        As in `Gibbs`.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint, MixtureJoint
    >>> joint = MixtureJoint(
    ...     [0.5, 0.5], [IndependentJoint([[0.4, 4.0, 4.0]]), IndependentJoint([[-4.0, 4.0, -0.4]])]
    ... )
    >>> Annealing()(joint).labels
    array([[0, 1, 1]], dtype=int8)
    """

    preset = Preset()
    presets: ClassVar[Presets] = published(steps=150, temperature=100.0, reanneal=50, cooling=0.95)

    steps: int = 150
    temperature: float = 0.5
    reanneal: int = 50
    cooling: float = 0.935
    random_state: RandomState = 0

    def __post_init__(self) -> None:
        check_whole_number(self.steps, "steps", 0, 2**32 - 1)
        check_whole_number(self.reanneal, "reanneal")
        check_number(self.temperature, "temperature", above=0.0, finite=False)
        check_number(self.cooling, "cooling", above=0.0, maximum=1.0)

    def _search(self, joint: JointDistribution) -> Mode:
        """Return the best vectors visited, with the upper bound of the greedy search."""
        greedy = greedy_mode(joint)
        seed, trees = resolve_seed(self.random_state), trees_of(joint)
        walk = _walk_of_vectors if trees is None else trees.anneal
        best = walk(joint, greedy.labels, self._temperatures(), seed)
        return greedy.or_vectors(best, joint.log_prob(best))

    def _temperatures(self) -> Floats:
        since = np.arange(self.steps) % self.reanneal
        return np.asarray(self.temperature * float(self.cooling) ** since, dtype=np.float64)


def _walk_of_vectors(
    joint: JointDistribution, start: Labels, temperatures: Floats, seed: int
) -> Labels:
    """Walk all rows together, with the steps of the compiled walk, from whole vectors."""
    rows = np.arange(joint.n_rows)
    known = joint.known >= 0
    n_open = (~known).sum(axis=1)
    candidates = np.argsort(known, axis=1, kind="stable")  # the labels that may flip come first
    y, best = start.copy(), start.copy()
    present = joint.log_prob(y)
    highest = present.copy()
    uniforms = np.empty((joint.n_rows, 2))
    for step, temperature in enumerate(temperatures):
        native.fill_uniform(seed, joint.row_ids, step, uniforms, joint.n_threads)
        pick = np.minimum((uniforms[:, 0] * n_open).astype(np.int64), np.maximum(n_open - 1, 0))
        label = candidates[rows, pick]
        y[rows, label] ^= 1
        proposed = joint.log_prob(y)
        with np.errstate(invalid="ignore"):  # from one impossible vector to another
            uphill = proposed - present > temperature * np.log(uniforms[:, 1])
        taken = ((proposed >= present) | uphill) & (n_open > 0)
        y[rows[~taken], label[~taken]] ^= 1
        present = np.where(taken, proposed, present)
        better = present > highest + TIE
        best[better], highest[better] = y[better], present[better]
    return best


@dataclass(frozen=True)
class MonteCarlo(Inference):
    """The most probable among draws from the joint and the greedy vector.

    Draws of a chain are ancestral, one label after the other. They probably contain the mode unless
    its probability is small compared with one over the number of draws.

    Parameters
    ----------
    samples : int, default=100
        Draws for each row.
    random_state : int, Generator, RandomState or None, default=0
        Random numbers belong to (seed, row id, draw, label).

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> MonteCarlo(samples=20)(joint).labels
    array([[0, 0]], dtype=int8)
    """

    samples: int = 100
    random_state: RandomState = 0

    def __post_init__(self) -> None:
        check_whole_number(self.samples, "samples")

    def _search(self, joint: JointDistribution) -> Mode:
        """Return the best vectors drawn, with the upper bound of greedy inference."""
        seed, greedy = resolve_seed(self.random_state), greedy_mode(joint)
        labels, log_prob = np.empty_like(greedy.labels), np.empty_like(greedy.log_prob)
        for block in row_blocks(joint.n_rows, 2 * self.samples * joint.n_labels):
            part = joint[block]
            draws = part.weighted_sample(self.samples, seed)[0]
            scores = part.log_prob(draws)
            best = scores.argmax(axis=1)[:, None]
            labels[block] = np.take_along_axis(draws, best[:, :, None], axis=1)[:, 0]
            log_prob[block] = np.take_along_axis(scores, best, axis=1)[:, 0]
        return greedy.or_vectors(labels, log_prob)
