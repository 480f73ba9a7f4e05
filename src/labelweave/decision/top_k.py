"""Decisions that predict a fixed number of labels, and rank them.

All of them give a label what it adds on average, a weighted sum Σ_s w(s) P(y_j = 1, |y| = s) over
the number s of true labels, and predict the k labels to which that is highest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_labels, check_whole_number
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import row_blocks


def weighted_by_cardinality(joint: JointDistribution, weights: Floats) -> Floats:
    """Return Σ_s weights_s P(y_j = 1, |y| = s) over s = 1 … L, (n, L)."""
    if (weights == weights[0]).all():  # the number of labels does not matter
        return np.asarray(weights[0] * joint.marginals())
    scores = np.empty((joint.n_rows, joint.n_labels))
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        scores[rows] = joint[rows].cardinality_by_label()[:, :, 1:] @ weights
    return scores


@dataclass(frozen=True)
class TopK(ABC):
    """Base of the losses that predict exactly ``k`` labels (all labels, if there are fewer)."""

    k: int

    def __post_init__(self) -> None:
        check_whole_number(self.k, "k")

    @abstractmethod
    def _weights(self, n_labels: int) -> Floats:
        """Return w(s) for s = 1 … L: what a label found among the first counts."""

    def _discounts(self, n_labels: int) -> Floats:
        """Return the factor of each of the first k ranks."""
        return np.ones(min(self.k, n_labels))

    def scores(self, joint: JointDistribution, /) -> Floats:
        """Return what each label adds on average, (n, L): the scores to rank labels by."""
        return weighted_by_cardinality(joint, self._weights(joint.n_labels))

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the k labels that add most, the first ones among equals."""
        best = np.argsort(-self._ranked(joint), axis=1, kind="stable")[:, : self.k]
        labels = np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)
        np.put_along_axis(labels, best, 1, axis=1)
        return labels

    def _ranked(self, joint: JointDistribution) -> Floats:
        """Return numbers in the order of the scores, (n, L)."""
        return self.scores(joint)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected measure of ``labels``, ranked as well as possible, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        gains = -np.sort(-self.scores(joint) * chosen, axis=1)
        discounts = self._discounts(joint.n_labels)
        return 1.0 - self._certain(joint) - gains[:, : len(discounts)] @ discounts

    def _certain(self, joint: JointDistribution) -> Floats:
        """Return what counts whatever is predicted: rows without labels, (n,)."""
        return joint.cardinality()[:, 0]


@dataclass(frozen=True)
class PrecisionAtK(TopK):
    """One minus the share of the k predicted labels that are true; minimised exactly.

    Parameters
    ----------
    k : int
        Number of labels to predict; all of them, if there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[1 / 3, 1.0, 3.0]]))
    >>> PrecisionAtK(2)(joint)
    array([[0, 1, 1]], dtype=int8)
    >>> PrecisionAtK(2).risk(joint, [[0, 1, 1]])
    array([0.375])
    """

    def _weights(self, n_labels: int) -> Floats:
        return np.full(n_labels, 1.0 / min(self.k, n_labels))

    def _ranked(self, joint: JointDistribution) -> Floats:
        return joint.marginal_log_odds()  # marginals near 1 may be rounded to the same number

    def _certain(self, joint: JointDistribution) -> Floats:
        return np.zeros(joint.n_rows)


@dataclass(frozen=True)
class RecallAtK(TopK):
    """One minus the share of the true labels that are among k predicted ones; minimised exactly.

    A row without labels has recall 1.

    Parameters
    ----------
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.1, 0.4, 0.1, 0.4]]))  # 00, 10, 01, 11
    >>> RecallAtK(1)(joint)
    array([[1, 0]], dtype=int8)
    >>> RecallAtK(1).risk(joint, [[1, 0]])
    array([0.3])
    """

    def _weights(self, n_labels: int) -> Floats:
        return 1.0 / np.arange(1, n_labels + 1)


@dataclass(frozen=True)
class NDCGAtK(TopK):
    """One minus the normalised discounted cumulative gain of k ranked labels; minimised exactly.

    A label found at rank r counts 1/log₂(r + 1), divided by what the best ranking has. A row
    without labels has an nDCG of 1. `scores` is what to rank the labels by.

    Parameters
    ----------
    k : int

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[1 / 3, 1.0, 3.0]]))
    >>> NDCGAtK(2)(joint)
    array([[0, 1, 1]], dtype=int8)
    """

    def _discounts(self, n_labels: int) -> Floats:
        return np.asarray(1.0 / np.log2(np.arange(2, min(self.k, n_labels) + 2)))

    def _weights(self, n_labels: int) -> Floats:
        best = np.cumsum(self._discounts(n_labels))
        return 1.0 / best[np.minimum(np.arange(n_labels), len(best) - 1)]
