"""The gate of a mixture: mixing weights λ_k(x) by logistic stick-breaking.

Component k is chosen with probability σ(g_k(x)) if none before it was; the last one takes the rest
of the stick. Each break is a logistic regression, so the gate is fitted by the same engine as
everything else. Constant mixing weights are the case without features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.logistic import LinearConditionals

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

    @classmethod
    def constant(cls, shares: Floats, n_features: int, C: float | None) -> Gate:
        """Return constant mixing weights, in proportion to the sums of (n, K) shares."""
        taken = shares[:, :-1].sum(axis=0)
        left = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1][:, 1:].sum(axis=0)
        with np.errstate(divide="ignore"):
            odds = np.log(taken) - np.log(left)
        odds = np.clip(np.nan_to_num(odds, nan=0.0), -_SURE, _SURE)
        return cls(np.zeros((len(odds), n_features)), odds, C)

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


def stick_breaks(shares: Floats) -> tuple[Floats, Floats]:
    """Return which part of the rest each break takes, and how much that rest is, (n, K - 1) each.

    Examples
    --------
    >>> stick_breaks(np.array([[0.5, 0.25, 0.25]]))
    (array([[0.5, 0.5]]), array([[1. , 0.5]]))
    """
    left = np.cumsum(shares[:, ::-1], axis=1)[:, :0:-1]
    taken = np.divide(shares[:, :-1], left, out=np.zeros_like(left), where=left > 0)
    return taken, left
