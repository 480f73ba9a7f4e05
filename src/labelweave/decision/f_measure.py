"""The F-measure of a row, and the label vector that maximises its expectation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_labels, check_number
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import row_blocks


@dataclass(frozen=True)
class FLoss:
    """One minus the F-measure of a row, (1+β²)·|y ∧ ŷ| / (β²·|y| + |ŷ|); minimised exactly.

    A row without labels for which none are predicted has F-measure 1. The best k labels are those
    with the largest Σ_s P(y_j = 1, |y| = s)·(1+β²) / (β²·s + k), and the best of these L + 1
    vectors is the optimum (Dembczyński et al., 2011): exact wherever
    ``joint.cardinality_by_label()`` is.

    Parameters
    ----------
    beta : float, default=1.0
        How many times as important recall is as precision.

    Examples
    --------
    Labels of probability 0.45 and 0.3 are both worth predicting:

    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[0.45 / 0.55, 0.3 / 0.7]]))
    >>> FLoss()(joint)
    array([[1, 1]], dtype=int8)
    >>> FLoss().risk(joint, [[1, 1]]).round(3)
    array([0.545])
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.beta, "beta", above=0)

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the label vectors of largest expected F-measure."""
        labels = np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)
        for rows in row_blocks(joint.n_rows, joint.n_labels**2):
            labels[rows] = self._best(joint[rows])
        return labels

    def _best(self, joint: JointDistribution) -> Labels:
        n_rows, n_labels = joint.n_rows, joint.n_labels
        gains = self._gains(joint)
        order = np.argsort(-gains, axis=1, kind="stable")
        ranked = np.take_along_axis(gains, order, axis=1)
        # Of k labels the expectation is the sum of the k largest gains.
        expected = np.cumsum(ranked, axis=1)[:, np.arange(n_labels), np.arange(n_labels)]
        empty = joint.cardinality()[:, :1]
        sizes = np.argmax(np.hstack([empty, expected]), axis=1)
        labels = np.zeros((n_rows, n_labels), dtype=np.int8)
        for row, size in enumerate(sizes):
            labels[row, order[row, :size, size - 1]] = 1
        return labels

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected F-measure of ``labels`` in each row, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        expected = joint.cardinality()[:, 0].copy()
        for rows in row_blocks(joint.n_rows, joint.n_labels**2):
            part = chosen[rows]
            sizes = part.sum(axis=1, dtype=np.int64)
            gains = self._gains(joint[rows])[np.arange(len(part)), :, sizes - 1]
            expected[rows] = np.where(sizes > 0, (gains * part).sum(axis=1), expected[rows])
        return 1.0 - expected

    def _gains(self, joint: JointDistribution) -> Floats:
        """Return what a label adds to the expectation among k predicted ones, (n, L, k − 1)."""
        sizes = np.arange(1, joint.n_labels + 1)
        share = (1 + self.beta**2) / (self.beta**2 * sizes[:, None] + sizes)
        return np.asarray(joint.cardinality_by_label()[:, :, 1:] @ share)
