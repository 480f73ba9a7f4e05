"""Held-out losses of many problems over all folds at once.

Leaving a row out is giving it weight zero, so the problems of all folds share X and are solved side
by side in the engine, which scores the held-out rows on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.features import without_empty_columns
from labelweave._common.row_keys import assign_folds, row_keys
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve_problems

# With few rows the choice depends on the folds, and repeating the cross-validation is cheap: up to
# this many repeats are averaged, as long as they hold out no more than this many rows in total.
_MAX_REPEATS = 5
_ENOUGH_ROWS = 3000
_SEED_STEP = 1_000_003
# Losses of structures differ by less than losses of penalties do.
_STRUCTURE_TOLERANCE = 1e-5


def held_out_losses(
    problems: LogisticProblems,
    *,
    C: float,
    label_penalty: float,
    n_folds: int = 3,
    seed: int = 0,
    n_threads: int = 1,
) -> Floats:
    """Return the cross-validated loss of every problem at given penalties, (P,)."""
    folds = Folds.of(problems, n_folds, seed, n_threads)
    path = np.array([[C, label_penalty]])
    solutions = folds.solve(path, tol=_STRUCTURE_TOLERANCE, keep_coef=False)
    summed: Floats = folds.losses(solutions).sum(axis=(0, 2)) / folds.n_repeats
    return summed


@dataclass(frozen=True)
class Folds:
    """The problems of every fold of every repeat: problem p of fold f is number ``f * P + p``.

    Attributes
    ----------
    problems : LogisticProblems
        The problems of all folds.
    n_folds, n_repeats : int
    total_weight : float
        Of all rows.
    n_threads : int
    """

    problems: LogisticProblems
    n_folds: int
    n_repeats: int
    total_weight: float
    n_threads: int

    @classmethod
    def of(cls, problems: LogisticProblems, n_folds: int, seed: int, n_threads: int) -> Folds:
        """Deal the rows of the problems into folds."""
        total = row_weight(problems)
        seeds = repeat_seeds(problems.X, total, seed)
        repeats = [assign_folds(problems.X, total, n_folds, one) for one in seeds]
        n_folds = repeats[0][1]
        n_copies = n_folds * len(repeats)
        inside = np.hstack([fold[:, None] != np.arange(n_folds) for fold, _ in repeats])
        repeated = problems.take(np.tile(np.arange(problems.n_problems), n_copies))
        repeated = replace(
            repeated,
            # Every copy of a problem has coefficients of its own: empty columns are left out.
            X=without_empty_columns(problems.X)[0],
            weights=np.where(inside, total[:, None], 0.0),
            weight_of=np.repeat(np.arange(n_copies, dtype=np.int32), problems.n_problems),
            total_weight=total,
        )
        return cls(repeated, n_folds, len(repeats), float(total.sum()), n_threads)

    @property
    def n_copies(self) -> int:
        """How many times every problem is solved: folds times repeats."""
        return self.n_folds * self.n_repeats

    def first(self) -> Folds:
        """Return the problems of the first fold of every repeat."""
        number = np.arange(self.problems.n_problems).reshape(self.n_repeats, self.n_folds, -1)
        return replace(self, problems=self.problems.take(number[:, 0].ravel()), n_folds=1)

    def solve(
        self, path: Floats, *, tol: float, start: Floats | None = None, keep_coef: bool = True
    ) -> Solutions:
        """Solve all problems along a path of (C, label penalty), (S, 2).

        A `start` (see `LogisticProblems`) of fewer folds is used again for the others.
        """
        n_problems = self.problems.n_problems
        shape = (n_problems, len(path))
        if start is not None:
            start = np.tile(start, (n_problems // len(start), 1))
        problems = replace(
            self.problems,
            C=np.broadcast_to(path[:, 0], shape),
            extra_penalty=np.broadcast_to(path[:, 1], shape),
            start=start,
        )
        return solve_problems(problems, tol=tol, n_threads=self.n_threads, keep_coef=keep_coef)

    def losses(self, solutions: Solutions) -> Floats:
        """Return the held-out loss of each fold of each repeat, problem and stage, (F, P, S)."""
        held_out = solutions.held_out
        return held_out.reshape(self.n_copies, -1, held_out.shape[1])


def row_weight(problems: LogisticProblems) -> Floats:
    """Return the weight of every row, of problems that have the same, (n,)."""
    if problems.weights is None:
        return np.ones(len(problems.targets))
    weight: Floats = problems.weights[:, 0]
    return weight


def repeat_seeds(X: Any, weight: Floats, seed: int) -> list[int]:
    """Return one seed per repeat of the cross-validation: several if there are few rows."""
    n_distinct = len(np.unique(row_keys(X)[weight > 0]))
    n_repeats = min(_MAX_REPEATS, max(1, _ENOUGH_ROWS // max(n_distinct, 1)))
    return [seed + number * _SEED_STEP for number in range(n_repeats)]
