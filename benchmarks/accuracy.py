"""How far a set of logistic solutions is from the optimum, certified without trusting a solver.

For any weights w, with the intercept b that is optimal for them, the residuals r = C (p - t) sum
to zero and so are a feasible point of the dual problem. Its value lies |grad_w F|^2 / 2 below
F(w, b) (Fenchel-Young holds with equality at r), hence

    F(w, b) - |grad_w F(w, b)|^2 / 2  <=  F*  <=  F(w, b).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from labelweave._common.arrays import Floats


@dataclass(frozen=True)
class Problem:
    """All labels of a data set, each a logistic regression on the same X with the same C."""

    name: str
    X: Any  # (n, D), dense or CSR
    T: NDArray[np.int8]  # (n, L), both classes in every column
    C: float = 1.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, features, labels."""
        return (*self.X.shape, self.T.shape[1])

    def objective(self, coef: Floats, intercept: Floats) -> Floats:
        """Return C sum [softplus(z) - t z] + |w|^2 / 2 of every label."""
        Z = self.X @ coef.T + intercept
        loss = np.logaddexp(0, Z) - self.T * Z
        return self.C * loss.sum(axis=0) + 0.5 * (coef**2).sum(axis=1)


def lower_bound(problem: Problem, coef: Floats, intercept: Floats) -> Floats:
    """Return certified lower bounds of the optima; the tighter, the better the solutions given."""
    scores = problem.X @ coef.T
    intercept = _optimal_intercept(scores, problem.T, intercept)
    residual = problem.C * (expit(scores + intercept) - problem.T)
    gradient = (problem.X.T @ residual).T + coef
    return problem.objective(coef, intercept) - 0.5 * (gradient**2).sum(axis=1)


def excess(problem: Problem, coef: Floats, intercept: Floats, bound: Floats) -> float:
    """Return the largest relative excess (F - F*) / F* over the labels, F* from below."""
    excesses = (problem.objective(coef, intercept) - bound) / bound
    if excesses.min() < -1e-12:  # rounding of a sum of n terms; more refutes the bound
        raise AssertionError(f"{problem.name}: a solution lies {-excesses.min():.1e} below F*")
    return float(excesses.max())


def _optimal_intercept(scores: Floats, targets: NDArray[np.int8], start: Floats) -> Floats:
    # Newton in one dimension, started next to the solution; steps are cut since far from it the
    # curvature vanishes.
    intercept = start.copy()
    for _ in range(100):
        p = expit(scores + intercept)
        step = (p - targets).sum(axis=0) / (p * (1 - p)).sum(axis=0)
        intercept -= np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-14 * (1 + np.abs(intercept).max()):
            break
    return intercept
