"""Edge weights by scikit-learn, pair by pair, with its fastest solver; and by converged fits."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from labelweave._common.arrays import Floats
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems

Pairs = NDArray[np.intp]  # (P, 2): parent, target; parent -1 stands for none

#: What edge weights have to be accurate to, and the tolerances that are tried for it.
ACCURACY = 1e-3
GRID = [10.0 ** (-k / 2) for k in range(0, 15)]
SOLVERS: dict[str, dict[str, Any]] = {
    "lbfgs": {},
    "newton-cg": {},
    "newton-cholesky": {},
    "liblinear": {"intercept_scaling": 30.0},  # it penalises the intercept: this makes it little
}


@dataclass(frozen=True)
class Problem:
    """A data set, its split, and penalties."""

    name: str
    X: Any
    Y: NDArray[np.int8]
    held_out: NDArray[np.bool_]
    C: float = 1.0
    label_penalty: float = 0.1

    def pairs(self) -> Pairs:
        """All pairs and every label alone, without labels constant where they are fitted."""
        inside = self.Y[~self.held_out]
        proper = np.flatnonzero(inside.min(axis=0) != inside.max(axis=0))
        both = [(j, i) for j in [-1, *proper] for i in proper if i != j]
        return np.array(both, dtype=np.intp)


@dataclass(frozen=True)
class Setting:
    """A solver, the loosest tolerance that makes it accurate enough, and its seconds per fit."""

    solver: str
    tol: float
    seconds: float
    error: float


def converged(problem: Problem, pairs: Pairs) -> Floats:
    """Weights of fits made to a relative decrease of the objective of 1e-12, by the engine."""
    n_labels = problem.Y.shape[1]
    mask = np.zeros((len(pairs), n_labels), dtype=bool)
    with_parent = pairs[:, 0] >= 0
    mask[np.flatnonzero(with_parent), pairs[with_parent, 0]] = True
    shape = (len(pairs), 1)
    problems = LogisticProblems(
        X=problem.X,
        targets=problem.Y,
        target_of=pairs[:, 1].astype(np.int32),
        C=np.full(shape, problem.C),
        extras=sp.csr_array(problem.Y, dtype=np.float64),
        extra_mask=mask,
        extra_penalty=np.full(shape, problem.label_penalty),
        weights=np.where(problem.held_out, 0.0, 1.0)[:, None],
    )
    held_out = solve_problems(problems, tol=1e-12, n_threads=2, keep_coef=False).held_out
    weights: Floats = -held_out[:, 0]
    return weights


def fit_pairs(problem: Problem, pairs: Pairs, solver: str, tol: float) -> Floats:
    """Weights of some pairs by scikit-learn; pairs of one parent are best given together.

    A column of penalty k is the column divided by the root of k with penalty one.
    """
    weights = np.empty(len(pairs))
    parent, parts = -2, (problem.X, problem.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # accuracy is measured instead
        for k, (j, i) in enumerate(pairs):
            if j != parent:
                parent, parts = j, _with_parent(problem, j)
            options = SOLVERS[solver]
            model = LogisticRegression(
                C=problem.C, solver=solver, tol=tol, max_iter=1000, **options
            )
            model.fit(parts[0], problem.Y[~problem.held_out, i])
            z = model.decision_function(parts[1])
            weights[k] = -np.sum(np.logaddexp(0.0, z) - problem.Y[problem.held_out, i] * z)
    return weights


def _with_parent(problem: Problem, parent: int) -> tuple[Any, Any]:
    A = problem.X
    if parent >= 0:
        column = problem.Y[:, [parent]] / np.sqrt(problem.label_penalty)
        sparse = sp.issparse(A)
        A = sp.hstack([A, sp.csr_array(column)], format="csr") if sparse else np.hstack([A, column])
    return A[~problem.held_out], A[problem.held_out]


def best_setting(problem: Problem, sample: Pairs, exact: Floats) -> list[Setting]:
    """Every solver at its loosest accurate tolerance on a sample of pairs, the fastest first."""
    found = []
    for solver in SOLVERS:
        for tol in GRID:
            start = time.process_time()
            error = np.max(np.abs(fit_pairs(problem, sample, solver, tol) / exact - 1.0))
            seconds = (time.process_time() - start) / len(sample)
            if error <= ACCURACY:
                found.append(Setting(solver, tol, seconds, float(error)))
                break
            if found and seconds > 4 * min(other.seconds for other in found):
                break
    return sorted(found, key=lambda setting: setting.seconds)


def sharpened(problem: Problem, pairs: Pairs, exact: Floats, setting: Setting) -> Setting:
    """Tighten a solver's tolerance until all of these pairs are accurate, not only a few."""
    for tol in (tol for tol in GRID if tol <= setting.tol):
        error = np.max(np.abs(fit_pairs(problem, pairs, setting.solver, tol) / exact - 1.0))
        if error <= ACCURACY:
            break
    return replace(setting, tol=tol, error=float(error))


class TwoCores:
    """Two warm worker processes that take half of the pairs each; a context manager."""

    def __enter__(self) -> TwoCores:
        """Start the workers."""
        with parallel_config(backend="loky", inner_max_num_threads=1):
            self._pool = Parallel(n_jobs=2)
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the workers."""
        self._pool.__exit__(*error)

    def weights(self, problem: Problem, pairs: Pairs, setting: Setting) -> Floats:
        """Weights of the pairs, in their order."""
        halves = np.array_split(np.arange(len(pairs)), 2)
        jobs = (delayed(fit_pairs)(problem, pairs[h], setting.solver, setting.tol) for h in halves)
        joined: Floats = np.concatenate(self._pool(jobs))
        return joined
