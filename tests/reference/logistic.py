"""Penalised logistic regression by plain Newton steps with the exact Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats


@dataclass(frozen=True)
class Reference:
    """One problem: dense columns A, each with its own penalty, and an intercept without one."""

    A: Floats
    target: NDArray[np.int_]
    penalty: Floats
    weight: Floats

    def objective(self, coef: Floats, intercept: float) -> float:
        z = self.A @ coef + intercept
        loss = np.logaddexp(0.0, z) - self.target * z
        return float(self.weight @ loss + 0.5 * self.penalty @ coef**2)

    def gradient(self, coef: Floats, intercept: float) -> Floats:
        """Return the derivatives by the coefficients, then by the intercept."""
        z = self.A @ coef + intercept
        residual = self.weight * (0.5 * (1.0 + np.tanh(0.5 * z)) - self.target)
        return np.append(self.A.T @ residual + self.penalty * coef, residual.sum())

    def solve(self, n_steps: int = 100) -> tuple[Floats, float]:
        """Coefficients and intercept, to the precision that float64 allows."""
        design = np.column_stack([self.A, np.ones(len(self.A))])
        diagonal = np.diag(np.append(self.penalty, 0.0))
        theta = np.zeros(design.shape[1])
        value = self.objective(theta[:-1], 0.0)
        for _ in range(n_steps):
            p = 0.5 * (1.0 + np.tanh(0.5 * (design @ theta)))
            curvature = self.weight * p * (1.0 - p)
            hessian = (design.T * curvature) @ design + diagonal
            gradient = self.gradient(theta[:-1], theta[-1])
            step = np.linalg.solve(hessian, gradient)
            scale = 1.0
            while gradient @ step > 1e-15 * value and scale > 1e-10:
                trial = theta - scale * step
                after = self.objective(trial[:-1], trial[-1])
                if after <= value - 1e-4 * scale * (gradient @ step):
                    break
                scale *= 0.5
            else:
                break
            theta, value = trial, after
        return theta[:-1], float(theta[-1])


def reference(
    X: object,
    target: object,
    C: float = 1.0,
    *,
    weight: object = None,
    extras: object = None,
    extra_penalty: float = 1.0,
) -> Reference:
    """Return the problem the engine solves, with extra columns simply appended to X."""
    dense = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    A, penalty = dense, np.full(dense.shape[1], 1.0 / C)
    if extras is not None:
        columns = np.asarray(extras, dtype=float)
        A = np.hstack([dense, columns])
        penalty = np.append(penalty, np.full(columns.shape[1], extra_penalty / C))
    weights = np.ones(len(dense)) if weight is None else np.asarray(weight, dtype=float)
    return Reference(A, np.asarray(target, dtype=int), penalty, weights)
