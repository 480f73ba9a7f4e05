"""Output codes from a metric, their errors, and the weight of the margin that suits unseen rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from labelweave._common.arrays import Floats, Mask, Positions
from labelweave.baselines._box_qp import solve_boxes
from labelweave.baselines._local_search import descend
from labelweave.baselines._max_margin_metric import MarginRisk, learn_metrics

# What "cv" chooses the weight of the margin from.
MARGIN_WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0)
# Eigenvalues below this are what the metric's solver leaves: its gap is of this size. Margins are
# numbers of labels, so the metric itself is of the size of 1 or more.
_WORTHLESS = 1e-3
# Least variance of an error, for a code of unit length: no code is trusted without bounds.
_LEAST_VARIANCE = 1e-3


@dataclass(frozen=True)
class Unseen:
    """What is said of training rows by regressions and classifiers that did not learn from them.

    Attributes
    ----------
    labels : (n, L) float array of 0/1
        The truth.
    predicted : (n, L) array
        By linear regressions of the labels.
    log_odds : (n, L) array
        By the labels' classifiers.
    weight : (n,) array
    fold : (n,) array of int
    """

    labels: Floats
    predicted: Floats
    log_odds: Floats
    weight: Floats
    fold: Positions

    def __getitem__(self, rows: Mask) -> Unseen:
        return Unseen(
            self.labels[rows],
            self.predicted[rows],
            self.log_odds[rows],
            self.weight[rows],
            self.fold[rows],
        )

    def risk(self) -> MarginRisk:
        """Violation of the margin on these rows."""
        return MarginRisk(self.labels, self.predicted, self.weight / self.weight.sum())


@dataclass(frozen=True)
class Codes:
    """Projections of label vectors, and how well they are predicted.

    Attributes
    ----------
    projections : (L, d) array
        V of Q = VVᵀ, its columns by decreasing length.
    variances : (d,) array
        Mean squares of the errors on rows that the regressions have not seen.
    """

    projections: Floats
    variances: Floats

    @classmethod
    def of(cls, metric: Floats, rows: Unseen, most: int | None) -> Self:
        """Take the strongest codes of a metric; their errors are those on these rows."""
        values, vectors = np.linalg.eigh(metric)
        kept = np.flatnonzero(values > _WORTHLESS * max(values[-1], 1.0))[::-1][:most]
        errors = ((rows.labels - rows.predicted) @ vectors[:, kept]) ** 2
        mean = rows.weight @ errors / rows.weight.sum()
        return cls(
            np.asarray(vectors[:, kept] * np.sqrt(values[kept])),
            np.asarray(values[kept] * np.maximum(mean, _LEAST_VARIANCE)),
        )

    def metric(self) -> Floats:
        """Return Σ_k v_k v_kᵀ / 2σ_k²: distances to the prediction as minus log-likelihoods."""
        return np.asarray((self.projections / (2 * self.variances)) @ self.projections.T)


def decode(metric: Floats, linear: Floats) -> Floats:
    """Minimise yᵀQy − 2cᵀy over label vectors: over the box, rounded, then by flips; (n, L)."""
    relaxed = solve_boxes(metric, linear, tolerance=1e-6)
    return descend(metric, linear, (relaxed > 0.5).astype(np.float64))


def choose_margin_weight(
    rows: Unseen, candidates: Sequence[float], most: int | None, decoding_weight: float
) -> float:
    """Return the weight whose codes, learned without a fold, give it most exact matches.

    Parameters
    ----------
    rows : Unseen
    candidates : sequence of float
        The first of equals is taken.
    most : int, optional
        How many codes to keep.
    decoding_weight : float
        Of the log-odds.
    """
    matches = np.zeros(len(candidates))
    for fold in np.unique(rows.fold):
        learned, asked = rows[rows.fold != fold], rows[rows.fold == fold]
        for k, metric in enumerate(learn_metrics(learned.risk(), candidates)):
            Q = Codes.of(metric, learned, most).metric()
            found = decode(Q, asked.predicted @ Q + decoding_weight / 2 * asked.log_odds)
            matches[k] += asked.weight @ (found == asked.labels).all(axis=1)
    # Sums of the same weights in another order are equal, too.
    return candidates[int(np.argmax(matches >= matches.max() * (1 - 1e-9)))]
