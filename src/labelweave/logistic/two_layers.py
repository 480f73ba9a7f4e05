"""Two layers of logistic regressions; the second uses the estimates of the first.

The estimates for training rows come from fits to the other folds, so they are as accurate as the
estimates for new rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats
from labelweave._common.folds import Fold
from labelweave._common.matrices import linear_scores
from labelweave.logistic.conditionals import (
    FINAL_TOLERANCE,
    LinearConditionals,
    warn_unless_converged,
)
from labelweave.logistic.penalties import PenaltyChoice, choose_penalties
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve_problems

# The second layer magnifies errors of the first layer's solutions.
_TOLERANCE = FINAL_TOLERANCE / 100
# Range of penalties that can be absorbed into the scale of the columns without loss of digits.
_SCALED_PENALTIES = (1e-8, 1e8)


def fit_on_estimates(
    X: Any,
    estimates: Floats,
    Y: ArrayLike,
    *,
    C: float | str = "cv",
    label_penalty: float | str = "cv",
    sample_weight: ArrayLike | None = None,
    start: LinearConditionals | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> LinearConditionals:
    """Fit P(y_j | x, estimates of all labels) for every label j by logistic regression."""
    problems = LogisticProblems.per_label(X, Y, sample_weight)
    problems = replace(problems, extras=sp.csr_array(estimates))
    chosen = choose_penalties(
        problems, C=C, label_penalty=label_penalty, seed=seed, n_threads=n_threads
    )
    solutions = _solve_second(problems, estimates, chosen, start, n_threads)
    warn_unless_converged(solutions)
    return LinearConditionals.of(solutions, chosen)


def _solve_second(
    problems: LogisticProblems,
    estimates: Floats,
    chosen: PenaltyChoice,
    start: LinearConditionals | None,
    n_threads: int,
) -> Solutions:
    """Solve the problems of a second layer at the chosen penalties.

    The engine's preconditioner knows the correlations among dense columns of X, but not their
    correlations with extra columns, and estimates are functions of the features. So if X is dense,
    the estimates become columns of X, scaled by the inverse root of their relative penalty.
    """
    shape = (problems.n_problems, 1)
    problems = replace(
        problems, C=np.full(shape, chosen.C), extra_penalty=np.full(shape, chosen.label_penalty)
    )
    low, high = _SCALED_PENALTIES
    widens = isinstance(problems.X, np.ndarray) and low <= chosen.label_penalty <= high
    scale = 1 / np.sqrt(chosen.label_penalty) if widens else 1.0
    if widens:
        problems = replace(problems, X=np.hstack([problems.X, scale * estimates]), extras=None)
    if start is not None:
        weights, intercept = start.weights, start.intercept[:, None]
        coupling = start.coupling / scale
        columns = (weights, coupling, intercept) if widens else (weights, intercept, coupling)
        problems = replace(problems, start=np.hstack(columns))
    solutions = solve_problems(problems, tol=_TOLERANCE, n_threads=n_threads)
    if not widens:
        return solutions
    coef, extra_coef = np.hsplit(solutions.coef, [-estimates.shape[1]])
    return replace(solutions, coef=coef.copy(), extra_coef=scale * extra_coef)


def fit_cross_fitted(
    X: Any,
    Y: ArrayLike,
    folds: Sequence[Fold],
    *,
    C: float | str = "cv",
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> tuple[LinearConditionals, Floats]:
    """Fit P(y_j | x) for every label, and score each row by the fit that has not seen its fold.

    Without folds, the fit to all rows scores its own training rows.
    """
    problems = LogisticProblems.per_label(X, Y, sample_weight)
    n_rows, n_labels = problems.targets.shape
    held_out = [fold.held_out for fold in folds]
    if held_out and not np.array_equal(np.sort(np.concatenate(held_out)), np.arange(n_rows)):
        raise ValueError("cv must hold out each row once")
    chosen = choose_penalties(problems, C=C, label_penalty=1.0, seed=seed, n_threads=n_threads)
    solutions = _fit_folds(problems, folds, chosen.C, n_threads)
    *parts, whole = np.split(np.arange((len(folds) + 1) * n_labels), len(folds) + 1)
    conditionals = LinearConditionals.of(solutions, chosen, whole)
    scores = conditionals.scores(problems.X, n_threads=n_threads)
    for rows, part in zip(held_out, parts, strict=True):
        coef, intercept = solutions.coef[part], solutions.intercept[part]
        scores[rows] = linear_scores(problems.X[rows], coef, intercept, n_threads)
    return conditionals, scores


def _fit_folds(
    problems: LogisticProblems, folds: Sequence[Fold], C: float, n_threads: int
) -> Solutions:
    """Solve the problems with each fold left out in turn, and finally with all rows."""
    total = np.ones(len(problems.targets))
    if problems.total_weight is not None:
        total = problems.total_weight
    # Rows that are left out have weight zero, so the problems of all folds share X.
    weights = np.zeros((len(total), len(folds) + 1))
    for column, fold in zip(weights.T, folds, strict=False):
        column[fold.train] = total[fold.train]
    weights[:, -1] = total
    n_fits = weights.shape[1]
    solutions = solve_problems(
        replace(
            problems,
            target_of=np.tile(problems.target_of, n_fits),
            C=np.full((n_fits * problems.n_problems, 1), C),
            weights=weights,
            weight_of=np.repeat(np.arange(n_fits, dtype=np.int32), problems.n_problems),
            total_weight=total,
        ),
        tol=_TOLERANCE,
        n_threads=n_threads,
    )
    warn_unless_converged(solutions)
    return solutions
