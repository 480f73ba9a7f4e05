"""What models of linear conditionals have in common, whatever their structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave.logistic import LinearConditionals


@dataclass(frozen=True)
class LinearMembers:
    """P(y|x) = Σ_k λ_k(x) Π_j P_k(y_j | x, parents of j) with linear log-odds, for n rows.

    Attributes
    ----------
    features : (n, S) array or CSR
        What the conditionals see of the rows: their D features, or several functions of each.
    conditionals : sequence of K LinearConditionals
    log_weights : (n, K) array
        log λ_k(x).
    """

    features: Any
    conditionals: Sequence[LinearConditionals]
    log_weights: Floats

    @classmethod
    def alone(cls, features: Any, conditionals: LinearConditionals) -> LinearMembers:
        """Return the mixture of a single member."""
        return cls(features, (conditionals,), np.zeros((features.shape[0], 1)))

    def log_odds(self, labels: Labels | Floats) -> Floats:
        """Return every label's log-odds in every member given the others, (K, n, L)."""
        given = np.ascontiguousarray(labels, dtype=np.float64)
        return np.stack([member.scores(self.features, given) for member in self.conditionals])
