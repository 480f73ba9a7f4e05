"""The labels of a test set with the highest expected AUC when rows are independent.

The area under the ROC curve of labels, 0 or 1 as scores, is the mean of the shares of positive rows
that get the label and of negative rows that do not. With T the number of positive rows among n,

    E[AUC] = ½ + ½ Σ_{i labelled} (E[y_i / T] − E[(1 − y_i) / (n − T)]),

so every row is judged by itself. As 1/T = ∫₀¹ t^(T−1) dt, the first expectation is
∫₀¹ p_i Π_{j≠i} (1 − p_j + p_j t) dt; the second is the same with 1 − p in place of p. Both are
polynomials of degree n − 1, which n/2 nodes of Gauss–Legendre quadrature integrate exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats
from labelweave.decision.expected_f import descending_columns, unit_nodes
from labelweave.decision.probabilities import Scores, check_probabilities, like
from labelweave.decision.threshold_rule import Draw, ThresholdRule, cut_between

# Error of an expectation: as small as rounding.
_TOLERANCE = 1e-15


@dataclass(frozen=True)
class ExpectedAUC(ThresholdRule):
    """The threshold with the highest expected AUC of the labels, for independent rows.

    The AUC of labels is also known as balanced accuracy: rare labels are given to far more rows
    than have them. A test set where all rows have a label, or none, counts ½.

    Examples
    --------
    >>> scores = [[0.3], [0.15], [0.05], [0.01]]
    >>> ExpectedAUC().label(scores).ravel()
    array([1, 1, 0, 0], dtype=int8)
    """

    needs_probabilities: ClassVar[bool] = True
    by_label: ClassVar[bool] = True

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the thresholds with the highest expected AUC, (L,)."""
        del draw
        columns = zip(*descending_columns(scores), strict=True)
        # The gain of a row grows with its probability: those that gain are the first.
        cuts = [cut_between(ranked, int((_gains(p) > 0).sum())) for ranked, p in columns]
        return like(scores, np.array(cuts))


def expected_auc(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the expected AUC of a labelling of independent rows.

    Parameters
    ----------
    probabilities : (n,) array
        The probability of each row to have the label.
    labels : (n,) array of 0/1
        The rows that get it.

    Examples
    --------
    >>> expected_auc([1.0, 0.5, 0.0], [1, 0, 0])
    0.875
    """
    p = check_probabilities(np.reshape(probabilities, (-1, 1)))[:, 0]
    return float(0.5 + 0.5 * _gains(p) @ np.asarray(labels, dtype=np.float64))


def _gains(p: Floats) -> Floats:
    """E[y_i / T] − E[(1 − y_i) / (n − T)], (n,); rows where T is 0 or n have nothing to gain."""
    # With all rows alike there is no AUC: what they would count is taken out again.
    all_positive, all_negative = np.prod(p), np.prod(1 - p)
    n = max(1, len(p))
    return (_shares(p) - all_positive / n) - (_shares(1 - p) - all_negative / n)


def _shares(p: Floats) -> Floats:
    """E[y_i / T; T > 0] for every row."""
    total = np.zeros(len(p))
    for node, weight in zip(*unit_nodes(len(p), _TOLERANCE), strict=True):
        factors = 1 - (1 - node) * p
        total += weight * np.exp(np.log(factors).sum()) * p / factors
    return total
