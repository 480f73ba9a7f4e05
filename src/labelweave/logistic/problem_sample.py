"""A sample of problems that stands for all of them where a loss is summed over problems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelweave._common.arrays import Floats, Positions
from labelweave.logistic.problem import LogisticProblems

# At least this many problems are sampled, and one in this many.
_LEAST = 24
_ONE_IN = 3


class ProblemSample(NamedTuple):
    """Sampled problems, and how many problems each of them stands for."""

    positions: Positions
    counts: Floats


def sample_problems(problems: LogisticProblems) -> ProblemSample:
    """Sample problems with probabilities proportional to the entropies of their targets.

    The held-out loss of a problem is about proportional to that entropy, so sums over the sample,
    weighted by inverse probabilities, vary little. Sampling is systematic along decreasing entropy:
    frequent and rare targets are all represented, and there is nothing random about it.

    Examples
    --------
    >>> from labelweave.logistic import LogisticProblems
    >>> targets = np.arange(8)[:, None] < np.repeat([4, 1], [20, 100])
    >>> problems = LogisticProblems(
    ...     X=np.zeros((8, 1)),
    ...     targets=targets.astype(np.int8),
    ...     target_of=np.arange(120, dtype=np.int32),
    ...     C=np.ones((120, 1)),
    ... )
    >>> sample = sample_problems(problems)
    >>> len(sample.positions), float(sample.counts.sum().round(1))
    (40, 119.6)
    """
    n_problems = problems.n_problems
    n_wanted = max(_LEAST, -(-n_problems // _ONE_IN))
    sizes = _entropies(problems)
    if n_problems <= n_wanted or np.count_nonzero(sizes) <= n_wanted:
        return ProblemSample(np.arange(n_problems), np.ones(n_problems))
    share = _inclusion(sizes, n_wanted)
    order = np.argsort(-sizes, kind="stable")
    passed = np.floor(np.cumsum(share[order]) + 0.5)
    chosen = np.sort(order[np.diff(passed, prepend=0.0) > 0])
    return ProblemSample(chosen, 1.0 / share[chosen])


def _entropies(problems: LogisticProblems) -> Floats:
    """Return the entropy of every target, times its weight."""
    negative, positive = problems.class_weights()
    total = negative + positive
    entropies: Floats = np.zeros(len(total))
    for part in (negative, positive):
        inside = part > 0
        entropies[inside] -= part[inside] * np.log(part[inside] / total[inside])
    return entropies


def _inclusion(sizes: Floats, n_wanted: int) -> Floats:
    """Return inclusion probabilities proportional to size, at most one, that sum to `n_wanted`."""
    order = np.argsort(-sizes, kind="stable")
    rest = np.cumsum(sizes[order][::-1])[::-1]  # of the problems from each place on
    # The largest ones are certain: each that would have a probability above one.
    places = np.arange(len(sizes))
    certain = (places < n_wanted) & ((n_wanted - places) * sizes[order] >= rest)
    n_certain = int(np.argmin(certain))
    share = np.ones(len(sizes))
    others = order[n_certain:]
    share[others] = (n_wanted - n_certain) * sizes[others] / rest[n_certain]
    return share
