"""Choose penalties by cross-validated log-likelihood, for all folds and targets at once.

Leaving a row out is giving it weight zero, so the problems of all folds share X and follow their
regularisation paths side by side in the engine, which scores the held-out rows on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Mask
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds, row_keys
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems

#: Candidates for C, from strong to weak: a coarse grid, then steps around its best.
C_GRID: Floats = 10.0 ** np.arange(-3.5, 3.1, 0.5)
C_STEPS: Floats = 10.0 ** np.arange(-0.5, 0.3, 0.25)
#: Candidates for the label penalty, from strong to weak.
LABEL_PENALTY_GRID: Floats = 10.0 ** np.arange(0, -4.1, -0.5)
# The label penalty at which C is chosen; labels are few and informative, so it is weak.
_FIRST_LABEL_PENALTY = 0.03
# Losses along a path must be accurate enough to compare penalties, and independent of the form of
# the data (sparse or dense, weighted or repeated).
_PATH_TOLERANCE = 1e-4
# After two consecutive rises the loss along a path is assumed to go on rising.
_PATIENCE = 2
# With few rows the choice depends on the folds, and repeating the cross-validation is cheap: up to
# this many repeats are averaged, as long as they hold out no more than this many rows in total.
_MAX_REPEATS = 5
_ENOUGH_ROWS = 3000
_SEED_STEP = 1_000_003


@dataclass(frozen=True)
class PenaltyChoice:
    """Penalties chosen by cross-validation.

    Attributes
    ----------
    C : float
    label_penalty : float
    loss : float
        Mean held-out loss per row, summed over the targets; NaN if nothing had to be chosen.
    """

    C: float
    label_penalty: float
    loss: float = float("nan")


def choose_penalties(
    problems: LogisticProblems,
    *,
    C: float | str = "cv",
    label_penalty: float | str = "cv",
    n_folds: int = 3,
    seed: int = 0,
    n_threads: int = 1,
) -> PenaltyChoice:
    """Choose one C and one label penalty for all problems by cross-validation.

    First C is chosen from a coarse grid at a weak label penalty, then the label penalty at that C,
    then C again from a fine grid. Among all candidates within one standard error of the best (of
    the paired difference over folds), the strongest penalty is taken. With at most 1500 rows the
    cross-validation is repeated two to five times and the losses are averaged.

    Parameters
    ----------
    problems : LogisticProblems
        One problem per target; its own penalties are ignored.
    C, label_penalty : float or "cv"
        A number is used as given.
    n_folds : int
        Reduced to the number of distinct rows if there are fewer.
    seed : int
        Seeds the assignment of rows to folds.
    """
    chosen = PenaltyChoice(
        C=1.0 if C == "cv" else float(C),
        label_penalty=_FIRST_LABEL_PENALTY if label_penalty == "cv" else float(label_penalty),
    )
    choose_label_penalty = label_penalty == "cv" and problems.has_extras
    if C != "cv" and not choose_label_penalty:
        return chosen
    folds = _Folds.of(problems, n_folds, seed, n_threads)
    if folds.n_folds < 2:  # all rows are equal: nothing can be held out
        return chosen
    with stage("choosing penalties", 2 * (C == "cv") + choose_label_penalty) as advance:
        if C == "cv":
            chosen = folds.choose(C_GRID, [chosen.label_penalty])
            advance()
        if choose_label_penalty:
            chosen = folds.choose([chosen.C], LABEL_PENALTY_GRID, cautious=True)
            advance()
        if C == "cv":
            chosen = folds.choose(chosen.C * C_STEPS, [chosen.label_penalty], cautious=True)
            advance()
    return chosen


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
    folds = _Folds.of(problems, n_folds, seed, n_threads)
    # Losses of structures differ by less than losses of penalties do.
    losses = folds.losses(np.array([C]), np.array([label_penalty]), 1e-5)
    summed: Floats = losses.sum(axis=(0, 2)) / folds.n_repeats
    return summed


@dataclass(frozen=True)
class _Folds:
    """The problems of every fold: problem p of fold f is number ``f * P + p``."""

    problems: LogisticProblems
    n_folds: int
    n_repeats: int
    total_weight: float
    n_threads: int

    @classmethod
    def of(cls, problems: LogisticProblems, n_folds: int, seed: int, n_threads: int) -> _Folds:
        n_rows, n_problems = len(problems.targets), problems.n_problems
        total = np.ones(n_rows) if problems.weights is None else problems.weights[:, 0]
        seeds = repeat_seeds(problems.X, total, seed)
        repeats = [assign_folds(problems.X, total, n_folds, one) for one in seeds]
        n_folds = repeats[0][1]
        n_copies = n_folds * len(repeats)
        inside = np.hstack([fold[:, None] != np.arange(n_folds) for fold, _ in repeats])
        extra_mask = problems.extra_mask
        repeated = replace(
            problems,
            target_of=np.tile(problems.target_of, n_copies),
            extra_mask=None if extra_mask is None else np.tile(extra_mask, (n_copies, 1)),
            weights=np.where(inside, total[:, None], 0.0),
            weight_of=np.repeat(np.arange(n_copies, dtype=np.int32), n_problems),
            total_weight=total,
        )
        return cls(repeated, n_folds, len(repeats), float(total.sum()), n_threads)

    def choose(
        self, C: ArrayLike, label_penalty: ArrayLike, cautious: bool = False
    ) -> PenaltyChoice:
        """Choose from a path of penalties, strong to weak, of which one is fixed."""
        C_path, label_path = np.broadcast_arrays(C, label_penalty)
        losses = self.losses(C_path, label_path, _PATH_TOLERANCE).sum(axis=1)
        best = int(losses.sum(axis=0).argmin())
        if cautious:
            best = _strongest_good(losses, best, self.n_folds)
        return PenaltyChoice(
            C=float(C_path[best]),
            label_penalty=float(label_path[best]),
            loss=float(losses[:, best].sum() / (self.n_repeats * self.total_weight)),
        )

    def losses(self, C: Floats, label_penalty: Floats, tol: float) -> Floats:
        """Return the held-out loss of each fold of each repeat, problem and stage, (F, P, S)."""
        shape = (self.problems.n_problems, len(C))
        solutions = solve_problems(
            replace(
                self.problems,
                C=np.broadcast_to(C, shape),
                extra_penalty=np.broadcast_to(label_penalty, shape),
            ),
            tol=tol,
            patience=_PATIENCE,
            n_threads=self.n_threads,
            keep_coef=False,
        )
        held_out = _extrapolate(solutions.held_out)
        return held_out.reshape(self.n_folds * self.n_repeats, -1, len(C))


def repeat_seeds(X: Any, weight: Floats, seed: int) -> list[int]:
    """Return one seed per repeat of the cross-validation: several if there are few rows."""
    n_distinct = len(np.unique(row_keys(X)[weight > 0]))
    n_repeats = min(_MAX_REPEATS, max(1, _ENOUGH_ROWS // max(n_distinct, 1)))
    return [seed + number * _SEED_STEP for number in range(n_repeats)]


def _extrapolate(losses: Floats) -> Floats:
    """Extrapolate the losses of the stages that a path skipped along its last slope."""
    filled = losses.copy()
    for place in range(2, losses.shape[1]):
        slope = np.maximum(filled[:, place - 1] - filled[:, place - 2], 0.0)
        missing = np.isnan(filled[:, place])
        filled[missing, place] = (filled[:, place - 1] + slope)[missing]
    return filled


def _strongest_good(losses: Floats, best: int, n_folds: int) -> int:
    """Return the first stage whose loss is within one standard error of the best."""
    difference = losses - losses[:, [best]]
    # Repeats on the same rows are not independent: they do not shrink the error of the mean.
    error: Floats = difference.std(axis=0, ddof=1) / np.sqrt(n_folds)
    good: Mask = difference.mean(axis=0) <= error
    return int(np.argmax(good))
