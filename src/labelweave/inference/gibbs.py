"""Gibbs sampling: the probabilistic classifier chain via Gibbs sampling (P2CG)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice, check_whole_number
from labelweave._common.seeds import RandomState, derive_seed, resolve_seed
from labelweave.inference.batch_means import estimate_from_chain
from labelweave.inference.gibbs_runs import Run, run
from labelweave.joint import Estimate, JointDistribution, Mode
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.estimate import QUANTITIES, Quantity

STARTS = ("greedy", "random")
KEEPS = ("best", "last")
SCANS = ("systematic", "random")


@dataclass(frozen=True)
class Gibbs:
    """Walk through likely label vectors by resampling one label at a time; keep the best.

    A sweep draws every label anew from its distribution given all other labels. The result is the
    most probable vector visited, and never less probable than the greedy one. Chains with linear
    conditionals run in compiled code; any other distribution works too, only slower, and visits
    the same states for the same random numbers. Labels known by conditioning are never changed.

    Parameters
    ----------
    sweeps : int, default=20
        How often every label is resampled.
    burn_in : int, default=0
        Sweeps before those, whose states are no samples. For the mode they count as visited.
    restarts : int, default=1
        Independent walks; the best of all is kept.
    start : {"greedy", "random"}, default="greedy"
        Where a walk begins: at the greedy vector, or at a draw along the chain.
    keep : {"best", "last"}, default="best"
        The result: the most probable vector visited, or the state of the last sweep, which is a
        draw and not a mode.
    scan : {"systematic", "random"}, default="systematic"
        Which labels a sweep resamples: each once, along the chain, or as many drawn at random, the
        same for all rows. Random scans do not run in compiled code.
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
            raise ValueError("sweeps, burn_in and restarts must make less than 2^32 sweeps in all")
        check_choice(self.start, "start", STARTS)
        check_choice(self.keep, "keep", KEEPS)
        check_choice(self.scan, "scan", SCANS)

    @property
    def _length(self) -> int:
        return self.burn_in + self.sweeps

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best vectors visited, with the upper bound of the greedy search."""
        greedy = joint.greedy_mode()
        labels, log_prob = greedy.labels.copy(), greedy.log_prob.copy()
        for _, walk in self._walks(joint, greedy, kept=0):
            if self.keep == "last":
                labels, log_prob = walk.last, joint.log_prob(walk.last)
                continue
            found = joint.log_prob(walk.best)
            better = found > log_prob
            labels[better], log_prob[better] = walk.best[better], found[better]
        return Mode(labels, log_prob, np.maximum(greedy.upper_bound, log_prob))

    def trace(self, joint: JointDistribution, /) -> Floats:
        """Return the log-probability of the best vector so far: at the start and after every sweep.

        Returns
        -------
        (n, 1 + restarts (burn_in + sweeps)) array
            The walks one after the other. ``np.exp(trace).mean(axis=0)`` is the curve by which
            convergence is judged.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import ChainJoint
        >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
        >>> np.exp(Gibbs(sweeps=3).trace(joint)).mean(axis=0).round(3)
        array([0.275, 0.447, 0.447, 0.447])
        """
        greedy = joint.greedy_mode()
        parts = [greedy.log_prob[:, None]]
        for start, walk in self._walks(joint, greedy, kept=0):
            parts.append(joint.log_prob(start)[:, None] + walk.best_gain)
        return np.asarray(np.maximum.accumulate(np.concatenate(parts, axis=1), axis=1))

    def sample(self, joint: JointDistribution, /) -> Labels:
        """Return the state after every sweep after `burn_in`: (n, restarts · sweeps, L) int8.

        Successive states are alike; `estimate` accounts for that. Independent draws of an
        unconditioned chain are cheaper from ``joint.sample``.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import ChainJoint
        >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
        >>> Gibbs(sweeps=500, burn_in=10, restarts=2).sample(joint).shape
        (1, 1000, 2)
        """
        walks = [walk for _, walk in self._walks(joint, joint.greedy_mode(), kept=self.sweeps)]
        return np.concatenate([walk.samples for walk in walks], axis=1)

    def estimate(self, joint: JointDistribution, quantity: Quantity) -> Estimate:
        """Estimate a quantity of the distribution from `sample`.

        It serves where many labels are known late in a long chain, so that ``joint.estimate`` has
        to weigh draws that rarely agree with them. The standard error is that of means over
        stretches of a walk, which covers the likeness of successive states as long as a stretch
        forgets the one before.

        Parameters
        ----------
        joint : JointDistribution
        quantity : {"marginals", "pairwise", "cardinality", "cardinality_by_label", "entropy"}

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import ChainJoint
        >>> joint = ChainJoint(np.array([[0.0, -2.0]]), np.array([[0.0, 0.0], [4.0, 0.0]]))
        >>> found = Gibbs(sweeps=2000, burn_in=20).estimate(joint, "marginals")
        >>> bool((abs(found.value - joint.marginals()) < 4 * found.standard_error).all())
        True
        """
        check_choice(quantity, "quantity", QUANTITIES)
        if self.sweeps < 2:
            raise ValueError(f"sweeps must be at least 2 to estimate; got {self.sweeps}")
        cells = self.restarts * self.sweeps * joint.n_labels
        seeded = replace(self, random_state=resolve_seed(self.random_state))
        parts = [
            estimate_from_chain(joint[block], seeded.sample(joint[block]), quantity, self.restarts)
            for block in row_blocks(joint.n_rows, cells) or [slice(0, 0)]
        ]
        return Estimate(
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.standard_error for part in parts]),
            np.concatenate([part.exact for part in parts]),
        )

    def _walks(
        self, joint: JointDistribution, greedy: Mode, kept: int
    ) -> Iterator[tuple[Labels, Run]]:
        """Every restart: its start and what it visited."""
        seed = resolve_seed(self.random_state)
        for restart in range(self.restarts):
            begin = self._begin(joint, greedy, seed, restart)
            first_draw = restart * self._length
            drawn = self.scan == "random"
            walk = run(joint, begin, seed, first_draw, self._length, kept, random_scan=drawn)
            yield begin, walk

    def _begin(self, joint: JointDistribution, greedy: Mode, seed: int, restart: int) -> Labels:
        if self.start == "greedy":
            return greedy.labels
        # A stream of its own, so that no number decides a start and a sweep.
        return joint.sample(1, derive_seed(seed, 2 + restart))[:, 0]
