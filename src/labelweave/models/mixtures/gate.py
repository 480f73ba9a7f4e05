"""The gate of a mixture: mixing weights λ_k(x) by logistic stick-breaking.

Component k is chosen with probability σ(g_k(x)) if none before it was; the last one takes the rest
of the stick. Each break is a logistic regression, so the gate is fitted by the same engine as
everything else. Constant mixing weights are the case without features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelweave._common.arrays import Floats
from labelweave._common.features import as_features
from labelweave.logistic import LinearConditionals, LogisticProblems, solve_problems

# Log-odds of a break beyond which a component is practically always or never chosen.
_SURE = 700.0


@dataclass(frozen=True)
class Gate:
    """Logistic regressions of the breaks of the stick.

    Attributes
    ----------
    weights : (K - 1, D) array
    intercept : (K - 1,) array
    C : float or None
        Inverse penalty of the weights; None if the mixing weights are constant.

    Examples
    --------
    >>> gate = Gate(np.zeros((1, 2)), np.log([3.0]), C=None)
    >>> np.exp(gate.log_weights(np.zeros((1, 2)))).round(2)
    array([[0.75, 0.25]])
    """

    weights: Floats
    intercept: Floats
    C: float | None

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return len(self.intercept) + 1

    @property
    def penalty(self) -> float:
        """The penalty of the weights."""
        return 0.0 if self.C is None else float((self.weights**2).sum()) / (2.0 * self.C)

    def log_weights(self, X: Any, n_threads: int = 1) -> Floats:
        """Return log λ_k(x) of every row and component, (n, K)."""
        n_rows, n_breaks = X.shape[0], len(self.intercept)
        if n_breaks == 0:
            return np.zeros((n_rows, 1))
        if self.C is None:
            breaks = np.tile(self.intercept, (n_rows, 1))
        else:
            empty = np.zeros((n_breaks, n_breaks))
            lines = LinearConditionals(self.weights, self.intercept, empty, self.C, 1.0)
            breaks = lines.scores(X, n_threads=n_threads)
        taken = np.hstack([-np.logaddexp(0.0, -breaks), np.zeros((n_rows, 1))])
        passed = np.cumsum(-np.logaddexp(0.0, breaks), axis=1)
        taken[:, 1:] += passed
        return taken


@dataclass(frozen=True)
class GateProblem:
    """Rows that a gate is fitted to: each row twice, as chosen and as passed on.

    Attributes
    ----------
    X : (2n, D) array or CSR, or None
        None for constant weights.
    n_features : int
    C : float or None
    n_threads : int
    """

    X: Any
    n_features: int
    C: float | None
    n_threads: int

    @classmethod
    def of(cls, X: Any, C: float | None, n_threads: int) -> GateProblem:
        """Prepare the rows of X; C is None for constant weights."""
        if C is None:
            return cls(None, X.shape[1], None, n_threads)
        twice = np.vstack([X, X]) if isinstance(X, np.ndarray) else sp.vstack([X, X], format="csr")
        return cls(as_features(twice), X.shape[1], C, n_threads)

    def fit(self, responsibilities: Floats, start: Gate | None = None, tol: float = 1e-7) -> Gate:
        """Fit the gate to (n, K) responsibilities."""
        n_breaks = responsibilities.shape[1] - 1
        taken = responsibilities[:, :-1]
        left = np.cumsum(responsibilities[:, ::-1], axis=1)[:, ::-1][:, 1:]
        if n_breaks == 0:
            return Gate(np.zeros((0, self.n_features)), np.zeros(0), self.C)
        if self.C is None:
            with np.errstate(divide="ignore"):
                odds = np.log(taken.sum(axis=0)) - np.log(left.sum(axis=0))
            odds = np.clip(np.nan_to_num(odds, nan=0.0), -_SURE, _SURE)
            return Gate(np.zeros((n_breaks, self.n_features)), odds, None)
        n_rows = len(responsibilities)
        problems = LogisticProblems(
            X=self.X,
            targets=np.repeat(np.array([[1], [0]], dtype=np.int8), n_rows, axis=0),
            target_of=np.zeros(n_breaks, dtype=np.int32),
            C=np.full((n_breaks, 1), self.C),
            weights=np.vstack([taken, left]),
            weight_of=np.arange(n_breaks, dtype=np.int32),
            start=None if start is None else np.column_stack([start.weights, start.intercept]),
        )
        solutions = solve_problems(problems, tol=tol, n_threads=self.n_threads)
        return Gate(solutions.coef, solutions.intercept, self.C)
