"""What the choice of penalties by cross-validation costs, as a multiple of one fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.accuracy import Problem
from benchmarks.measure import Timing, race
from labelweave.logistic import fit_conditionals

REPEATED_BELOW = 2.0  # seconds; long runs are steady enough to need only one


@dataclass(frozen=True)
class PathCost:
    """A fit at C = 1, and the same with C (and the label penalty) chosen."""

    fixed: Timing
    chosen: Timing

    @property
    def multiple(self) -> float:
        """How many fits at C = 1 the chosen one costs, its own last fit included."""
        return self.chosen.median / self.fixed.median


def path_costs(problem: Problem, rounds: int) -> dict[str, PathCost]:
    """Measure it on two cores for independent labels and for a chain in the order of the file."""
    n_labels = problem.T.shape[1]
    chain = np.tri(n_labels, k=-1, dtype=bool)
    return {
        "independent": _cost(problem, None, rounds),
        "chain": _cost(problem, chain, rounds),
    }


def _cost(problem: Problem, parents: Any, rounds: int) -> PathCost:
    fit = partial(fit_conditionals, problem.X, problem.T, parents, n_threads=2)
    fixed = partial(fit, C=problem.C, label_penalty=1.0)
    chosen = {"chosen": partial(fit, C="cv", label_penalty="cv")}
    timings = race(fixed, chosen, rounds=1)
    if timings["chosen"].best < REPEATED_BELOW:
        timings = race(fixed, chosen, rounds)
    return PathCost(timings["ours"], timings["chosen"])
