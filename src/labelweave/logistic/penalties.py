"""C and label penalty by cross-validated likelihood, at the cost of a few fits.

The search takes few steps. It starts from a guess based on the scale of the features, finds the
order of magnitude of C on one fold only, and follows the summed loss downhill until the loss rises.
Steps are cheap, because solutions are rough, each starts from the last one (all folds start from
the first fold's solution), and a sample represents many problems. A held-out row has weight zero,
so the problems of all folds share X and are solved side by side in the engine, which also scores
the held-out rows. See math.md, 1.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Mask
from labelweave._common.folds import assign_folds
from labelweave._common.matrices import total_variance, without_empty_columns
from labelweave._common.progress import stage
from labelweave._common.row_keys import row_keys
from labelweave.logistic.problem import LogisticProblems, sample_problems
from labelweave.logistic.solver import Solutions, solve_problems

#: Folds of the cross-validation.
N_FOLDS = 3
# With few rows the choice depends on the folds, and repeating the cross-validation is cheap. So up
# to `_MAX_REPEATS` repeats are averaged if they hold out at most `_ENOUGH_ROWS` rows in total.
_MAX_REPEATS = 5
_ENOUGH_ROWS = 3000
_SEED_STEP = 1_000_003


@dataclass(frozen=True)
class Folds:
    """The problems of every fold of every repeat: problem p of fold f is number ``f * P + p``."""

    problems: LogisticProblems
    n_folds: int
    n_repeats: int
    total_weight: float
    n_threads: int

    @classmethod
    def of(cls, problems: LogisticProblems, seed: int, n_threads: int) -> Folds:
        """Deal the rows of the problems into folds."""
        total = row_weight(problems)
        seeds = repeat_seeds(problems.X, total, seed)
        repeats = [assign_folds(problems.X, total, N_FOLDS, one) for one in seeds]
        n_folds = repeats[0][1]
        n_copies = n_folds * len(repeats)
        inside = np.hstack([fold[:, None] != np.arange(n_folds) for fold, _ in repeats])
        repeated = problems.take(np.tile(np.arange(problems.n_problems), n_copies))
        repeated = replace(
            repeated,
            # Every copy of a problem has its own coefficients, so empty columns are left out.
            X=without_empty_columns(problems.X)[0],
            weights=np.where(inside, total[:, None], 0.0),
            weight_of=np.repeat(np.arange(n_copies, dtype=np.int32), problems.n_problems),
            total_weight=total,
        )
        return cls(repeated, n_folds, len(repeats), float(total.sum()), n_threads)

    @property
    def n_copies(self) -> int:
        """The number of times every problem is solved: folds times repeats."""
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
    """Return the weights of the rows, which all problems must share, (n,)."""
    if problems.weights is None:
        return np.ones(len(problems.targets))
    weight: Floats = problems.weights[:, 0]
    return weight


def repeat_seeds(X: Any, weight: Floats, seed: int) -> list[int]:
    """Return one seed per repeat of the cross-validation; few rows have several repeats."""
    n_distinct = len(np.unique(row_keys(X)[weight > 0]))
    n_repeats = min(_MAX_REPEATS, max(1, _ENOUGH_ROWS // max(n_distinct, 1)))
    return [seed + number * _SEED_STEP for number in range(n_repeats)]


class Axis(NamedTuple):
    """The step and the range of a penalty, as powers of ten, from strong to weak."""

    step: float
    low: float
    high: float


class LossCurve(NamedTuple):
    """Held-out losses of every fold, (F, S), along one penalty from strong to weak.

    The penalties are powers of ten with the exponents `powers`, (S,).
    """

    powers: Floats
    losses: Floats

    @classmethod
    def follow(cls, axis: Axis, centre: float, losses: Callable[[Floats], Floats]) -> LossCurve:
        """Take steps downhill from `centre` until the best point lies between two worse ones."""
        powers = centre + axis.step * np.arange(-1.0, 2.0)
        powers = powers[(axis.low <= powers) & (powers <= axis.high)]
        curve = cls(powers, losses(powers))
        while True:
            best = curve.best()
            down, up = best == 0, best == len(curve.powers) - 1
            further = curve.powers[[best]] + (axis.step if up else -axis.step)
            if not (down or up) or not axis.low <= further[0] <= axis.high:
                return curve
            added = cls(further, losses(further))
            curve = curve.joined(added) if up else added.joined(curve)

    def best(self) -> int:
        """Return the index of the smallest loss, summed over folds."""
        return int(self.losses.sum(axis=0).argmin())

    def strongest_good(self, n_folds: int) -> int:
        """Return the first index whose loss is within one standard error of the best."""
        difference = self.losses - self.losses[:, [self.best()]]
        # Repeats on the same rows are not independent, so they do not shrink the error of the mean.
        error: Floats = difference.std(axis=0, ddof=1) / np.sqrt(n_folds)
        good: Mask = difference.mean(axis=0) <= error
        return int(np.argmax(good))

    def refined(self, parts: int) -> LossCurve:
        """Add points next to the best one, on the parabola through it and its two neighbours."""
        best = self.best()
        if not 0 < best < len(self.powers) - 1:
            return self
        before, centre, after = self.losses[:, best - 1 : best + 2].T[:, :, None]
        at = np.arange(-parts, parts + 1) / parts
        near = centre + at * (after - before) / 2 + at**2 * (before - 2 * centre + after) / 2
        powers = self.powers[best] + at * (self.powers[best + 1] - self.powers[best])
        left, right = slice(0, best - 1), slice(best + 2, None)
        middle = LossCurve(self.powers[left], self.losses[:, left]).joined(LossCurve(powers, near))
        return middle.joined(LossCurve(self.powers[right], self.losses[:, right]))

    def joined(self, weaker: LossCurve) -> LossCurve:
        """Return this curve and the points of weaker penalties after it."""
        return LossCurve(
            np.concatenate([self.powers, weaker.powers]),
            np.concatenate([self.losses, weaker.losses], axis=1),
        )


#: The search for C takes coarse steps on one fold, then fine steps on all folds.
COARSE_C = Axis(step=1.0, low=-4.0, high=3.0)
FINE_C = COARSE_C._replace(step=0.25)
#: The search for the label penalty takes steps of C / label_penalty. This is the inverse penalty of
#: labels in units of the loss, not of the features' penalty, because the scale of labels is known
#: and the scale of features is not.
LABELS = Axis(step=0.5, low=-2.5, high=3.5)
#: The search begins here, as the choice lies between 0 and 1.5 on most data sets.
FIRST_LABELS = 0.5
# The best C is about this, divided by the total variance of the features.
_TYPICAL_SCALE = 3.0
# The label penalty that is reported if the problems have none.
_NO_LABEL_PENALTY = 0.03
# Losses have to be accurate enough to compare penalties. With few rows, where the cross-validation
# is repeated, small errors may change the choice. There, losses also have to be independent of the
# form of the data (sparse or dense, weighted or repeated), and fits are cheap.
_TOLERANCE, _REPEATED_TOLERANCE = 3e-3, 1e-4


@dataclass(frozen=True)
class PenaltyChoice:
    """Penalties chosen by cross-validation.

    The loss is the mean held-out loss per row, summed over the targets. It is NaN if nothing had to
    be chosen.
    """

    C: float
    label_penalty: float
    loss: float = float("nan")


def choose_penalties(
    problems: LogisticProblems,
    *,
    C: float | str = "cv",
    label_penalty: float | str = "cv",
    seed: int = 0,
    n_threads: int = 1,
) -> PenaltyChoice:
    """Choose one C and one label penalty for all problems by cross-validation.

    The order of magnitude of C is found on the first fold. Then the label penalty is chosen at that
    C, and C in finer steps around it, both on all folds. These two choices take the strongest
    penalty within one standard error of the best (of the paired difference over folds). With at
    most 1500 rows the cross-validation is repeated two to five times and the losses are averaged.
    If there are more than 24 problems, a sample of a third, but at least 24, represents all.
    """
    if label_penalty == "cv" and not problems.has_extras:
        label_penalty = _NO_LABEL_PENALTY
    if "cv" not in (C, label_penalty):
        return PenaltyChoice(float(C), float(label_penalty))
    sample = sample_problems(problems)
    folds = Folds.of(problems.take(sample.positions), seed, n_threads)
    if folds.n_folds < 2:  # all rows are equal: nothing can be held out
        return PenaltyChoice(_number(C, 1.0), _number(label_penalty, _NO_LABEL_PENALTY))
    first = _first_power(problems) if C == "cv" else float(np.log10(float(C)))
    given = None if label_penalty == "cv" else float(label_penalty)
    search = _Search(folds, sample.counts, first, given)
    with stage("choosing penalties", 2 * (C == "cv") + (label_penalty == "cv")) as advance:
        if C == "cv":
            search.find_magnitude_of_C()
            advance()
        if label_penalty == "cv":
            loss = search.choose_label_penalty()
            advance()
        if C == "cv":
            loss = search.choose_C()
            advance()
    chosen_C, chosen_label_penalty = search.penalties(search.C_power, search.label_power).tolist()
    return PenaltyChoice(_number(C, chosen_C), chosen_label_penalty, loss)


@dataclass
class _Search:
    """The state of a search, and the solutions from which the next ones start.

    Each problem represents a number of problems, `counts`. C and C / label_penalty are powers of
    ten with the exponents `C_power` and `label_power`. If `label_penalty` is None, the search
    chooses it, and C varies at a constant C / label_penalty.
    """

    folds: Folds
    counts: Floats
    C_power: float
    label_penalty: float | None
    label_power: float = FIRST_LABELS
    start: Floats | None = None

    def find_magnitude_of_C(self) -> None:
        """Find the order of magnitude of C, by the first fold of every repeat."""
        first = self.folds.first()
        curve = LossCurve.follow(
            COARSE_C, self.C_power, lambda at: self._losses(at, self.label_power, first)
        ).refined(parts=4)
        self.C_power = float(curve.powers[curve.best()])

    def choose_label_penalty(self) -> float:
        """Choose the label penalty at this C; return its loss per row."""
        curve = LossCurve.follow(
            LABELS, self.label_power, lambda at: self._losses(self.C_power, at, self.folds)
        ).refined(parts=2)
        self.label_power, loss = self._choice(curve)
        return loss

    def choose_C(self) -> float:
        """Choose C in fine steps; return its loss per row."""
        curve = LossCurve.follow(
            FINE_C, self.C_power, lambda at: self._losses(at, self.label_power, self.folds)
        )
        self.C_power, loss = self._choice(curve)
        return loss

    def penalties(self, C_power: ArrayLike, label_power: ArrayLike) -> Floats:
        """Return C and the label penalty of powers of ten, (2,) or (S, 2)."""
        C = 10.0 ** np.asarray(C_power, dtype=np.float64)
        relative = 10.0 ** (np.asarray(C_power) - np.asarray(label_power))
        if self.label_penalty is not None:
            relative = np.float64(self.label_penalty)
        return np.stack(np.broadcast_arrays(C, relative), axis=-1)

    def _losses(self, C_power: ArrayLike, label_power: ArrayLike, folds: Folds) -> Floats:
        """Return the held-out losses of all folds along a path, (F, S)."""
        path = self.penalties(C_power, label_power)
        tol = _TOLERANCE if folds.n_repeats == 1 else _REPEATED_TOLERANCE
        solutions = folds.solve(path, tol=tol, start=self.start)
        self.start = np.hstack([solutions.coef, solutions.intercept[:, None], solutions.extra_coef])
        losses: Floats = np.einsum("p,fps->fs", self.counts, folds.losses(solutions))
        return losses

    def _choice(self, curve: LossCurve) -> tuple[float, float]:
        """Return the chosen power of ten and its loss per row."""
        at = curve.strongest_good(self.folds.n_folds)
        total = self.folds.n_repeats * self.folds.total_weight
        return float(curve.powers[at]), float(curve.losses[:, at].sum() / total)


def _first_power(problems: LogisticProblems) -> float:
    """Return a guess of C that follows the scale of the features, as a power of ten."""
    variance = total_variance(problems.X, row_weight(problems))
    if not 0 < variance < np.inf:
        return 0.0
    guess = np.round(2 * np.log10(_TYPICAL_SCALE / variance)) / 2
    return float(np.clip(guess, COARSE_C.low + COARSE_C.step, COARSE_C.high - COARSE_C.step))


def _number(given: Any, otherwise: float) -> float:
    return otherwise if given == "cv" else float(given)
