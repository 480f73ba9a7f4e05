"""Output codes from a metric, their error variances, and the cross-validated margin weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from labelweave._common.arrays import Floats, Mask, Positions
from labelweave.baselines._box_qp import solve_boxes
from labelweave.baselines._local_search import descend
from labelweave.baselines._max_margin_metric import MarginRisk, learn_metrics

# Margin weights that "cv" chooses from.
MARGIN_WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0)
# Eigenvalues below this are noise of the metric's solver, whose gap is of this size. Margins are
# numbers of labels, so the metric itself is of order 1 or more.
_WORTHLESS = 1e-3
# Smallest error variance of a code of unit length, so that no code is trusted without limit.
_LEAST_VARIANCE = 1e-3


@dataclass(frozen=True)
class OutOfFold:
    """Predictions for training rows by regressions and classifiers fitted to the other folds.

    Attributes
    ----------
    labels : (n, L) float array of 0/1
        The true labels.
    predicted : (n, L) array
        Predictions of the labels' linear regressions.
    log_odds : (n, L) array
        Predictions of the labels' classifiers.
    weight : (n,) array
    fold : (n,) array of int
    """

    labels: Floats
    predicted: Floats
    log_odds: Floats
    weight: Floats
    fold: Positions

    def __getitem__(self, rows: Mask) -> OutOfFold:
        return OutOfFold(
            self.labels[rows],
            self.predicted[rows],
            self.log_odds[rows],
            self.weight[rows],
            self.fold[rows],
        )

    def risk(self) -> MarginRisk:
        """Return the margin risk on these rows."""
        return MarginRisk(self.labels, self.predicted, self.weight / self.weight.sum())


@dataclass(frozen=True)
class Codes:
    """Projections of label vectors, and the error variances of their predictions.

    Attributes
    ----------
    projections : (L, d) array
        V of Q = VVᵀ, columns by decreasing norm.
    variances : (d,) array
        Out-of-fold mean squared error of each code.
    """

    projections: Floats
    variances: Floats

    @classmethod
    def of(cls, metric: Floats, rows: OutOfFold, most: int | None) -> Self:
        """Take the leading codes of a metric, with their error variances on these rows."""
        values, vectors = np.linalg.eigh(metric)
        kept = np.flatnonzero(values > _WORTHLESS * max(values[-1], 1.0))[::-1][:most]
        errors = ((rows.labels - rows.predicted) @ vectors[:, kept]) ** 2
        mean = rows.weight @ errors / rows.weight.sum()
        return cls(
            np.asarray(vectors[:, kept] * np.sqrt(values[kept])),
            np.asarray(values[kept] * np.maximum(mean, _LEAST_VARIANCE)),
        )

    def metric(self) -> Floats:
        """Return Σ_k v_k v_kᵀ / 2σ_k²: squared distances become negative log-likelihoods."""
        return np.asarray((self.projections / (2 * self.variances)) @ self.projections.T)


def decode(metric: Floats, linear: Floats) -> Floats:
    """Minimise yᵀQy − 2cᵀy over label vectors: relax to the box, round, search locally; (n, L)."""
    relaxed = solve_boxes(metric, linear, tolerance=1e-6)
    return descend(metric, linear, (relaxed > 0.5).astype(np.float64))


def choose_margin_weight(
    rows: OutOfFold, candidates: Sequence[float], most: int | None, decoding_weight: float
) -> float:
    """Return the margin weight of most exact matches by cross-validation.

    Parameters
    ----------
    rows : OutOfFold
    candidates : sequence of float
        Ties go to the first.
    most : int, optional
        Maximum number of codes.
    decoding_weight : float
        Weight of the log-odds in decoding.
    """
    matches = np.zeros(len(candidates))
    for fold in np.unique(rows.fold):
        learned, asked = rows[rows.fold != fold], rows[rows.fold == fold]
        for k, metric in enumerate(learn_metrics(learned.risk(), candidates)):
            Q = Codes.of(metric, learned, most).metric()
            found = decode(Q, asked.predicted @ Q + decoding_weight / 2 * asked.log_odds)
            matches[k] += asked.weight @ (found == asked.labels).all(axis=1)
    # Sums of the same weights in a different order count as equal.
    return candidates[int(np.argmax(matches >= matches.max() * (1 - 1e-9)))]
