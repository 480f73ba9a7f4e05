"""Choose penalties by cross-validated log-likelihood at the cost of a few fits.

The search takes few steps: it starts from a guess based on the scale of the features, finds the
right order of magnitude on one fold only, and follows the summed loss until that has turned. Steps
are cheap: solutions are rough, each starts from the last one (those of all folds from the first
fold's), and where there are many problems a sample stands for them. See math.md, 1.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats
from labelweave._common.features import total_variance
from labelweave._common.progress import stage
from labelweave.logistic.cross_validation import Folds, row_weight
from labelweave.logistic.loss_curve import Axis, LossCurve
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.problem_sample import sample_problems

#: Steps of C: coarse ones on one fold, then fine ones on all of them.
COARSE_C = Axis(step=1.0, low=-4.0, high=3.0)
FINE_C = COARSE_C._replace(step=0.25)
#: Steps of C / label_penalty. That is the inverse penalty of labels in units of the loss and not of
#: the features' penalty: the scale of labels is known, that of features is not.
LABELS = Axis(step=0.5, low=-2.5, high=3.5)
#: Where its search begins: on most data sets the choice lies between 0 and 1.5.
FIRST_LABELS = 0.5
# The best C is about this, divided by the total variance of the features.
_TYPICAL_SCALE = 3.0
# What the label penalty is said to be where there is none to choose.
_NO_LABEL_PENALTY = 0.03
# Losses have to be accurate enough to compare penalties. With few rows, where the cross-validation
# is repeated, they also have to be independent of the form of the data (sparse or dense, weighted
# or repeated): small errors may tip the choice there, and fits are cheap.
_TOLERANCE, _REPEATED_TOLERANCE = 3e-3, 1e-4


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

    First the order of magnitude of C is found on the first fold, then the label penalty at that C,
    then C in finer steps around it, on all folds. The last two take the strongest penalty within
    one standard error of the best (of the paired difference over folds). With at most 1500 rows the
    cross-validation is repeated two to five times and the losses are averaged. Of more than 24
    problems a third, but at least 24, stand for all.

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
    if label_penalty == "cv" and not problems.has_extras:
        label_penalty = _NO_LABEL_PENALTY
    if "cv" not in (C, label_penalty):
        return PenaltyChoice(float(C), float(label_penalty))
    sample = sample_problems(problems)
    folds = Folds.of(problems.take(sample.positions), n_folds, seed, n_threads)
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
    """Where a search stands, and the solutions that the next ones start from.

    Attributes
    ----------
    folds : Folds
    counts : (P,) array
        How many problems each problem stands for.
    C_power : float
        C as a power of ten.
    label_penalty : float or None
        None if it is to be chosen, in which case C varies at constant C / label_penalty.
    label_power : float
        C / label_penalty as a power of ten.
    start : (P or F * P, D + 1 + E) array or None
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
