"""The F-measure of a row, and the label vector that maximises its expectation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_labels, check_number
from labelweave._core import native
from labelweave.joint import JointDistribution
from labelweave.joint.capabilities import independent_log_odds
from labelweave.joint.enumeration import row_blocks


@dataclass(frozen=True)
class FLoss:
    """One minus the F-measure of a row, (1+β²)·|y ∧ ŷ| / (β²·|y| + |ŷ|); minimised exactly.

    A row without labels for which none are predicted has F-measure 1. The best k labels are those
    with the largest Σ_s P(y_j = 1, |y| = s)·(1+β²) / (β²·s + k), and the best of these L + 1
    vectors is the optimum (Dembczyński et al., 2011): exact wherever
    ``joint.cardinality_by_label()`` is. Where labels are independent, the best k are the k most
    probable ones, and a much shorter way leads to their expected F-measure.

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
        check_number(self.beta, "beta", above=0, maximum=1e100)

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the label vectors of largest expected F-measure."""
        scores = independent_log_odds(joint)
        if scores is not None:
            labels = np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)
            native.best_independent_f_measure(scores, float(self.beta), labels, joint.n_threads)
            return labels
        return self._by_blocks(joint, None)[0]

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected F-measure of ``labels`` in each row, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        scores = independent_log_odds(joint)
        if scores is not None:
            expected = np.empty(joint.n_rows)
            native.expected_independent_f_measure(
                scores, np.ascontiguousarray(chosen), float(self.beta), expected, joint.n_threads
            )
            return 1.0 - expected
        return self._by_blocks(joint, chosen)[1]

    def labels_and_risk(self, joint: JointDistribution) -> tuple[Labels, Floats]:
        """Return the best label vectors and their risk: what both take is computed once."""
        if independent_log_odds(joint) is not None:
            labels = self(joint)
            return labels, self.risk(joint, labels)
        return self._by_blocks(joint, None)

    def _by_blocks(self, joint: JointDistribution, labels: Labels | None) -> tuple[Labels, Floats]:
        """Return ``labels``, or else the best ones, and their risk, one block of rows at a time."""
        chosen = np.zeros((joint.n_rows, joint.n_labels), np.int8) if labels is None else labels
        risk = np.empty(joint.n_rows)
        for rows in row_blocks(joint.n_rows, joint.n_labels**2):
            by_label = np.ascontiguousarray(joint[rows].cardinality_by_label())
            sizes = _sizes(by_label)
            if labels is None:
                native.best_f_measure(
                    by_label, sizes, float(self.beta), chosen[rows], joint.n_threads
                )
            risk[rows] = self._risk(by_label, sizes[:, 0], chosen[rows])
        return chosen, risk

    def _risk(self, by_label: Floats, none: Floats, chosen: Labels) -> Floats:
        """Return the risk by P(y_j = 1, |y| = s) and by ``none``, P(|y| = 0)."""
        size = chosen.sum(axis=1, dtype=np.int64)
        found = np.einsum("nj,njs->ns", chosen, by_label)[:, 1:]
        expected = (found * self._shares(size, chosen.shape[1])).sum(axis=1)
        # No labels are right where there are none.
        return np.asarray(1.0 - np.where(size > 0, expected, none))

    def _shares(self, sizes: npt.NDArray[np.int64], n_labels: int) -> Floats:
        """Return what a label found among ``sizes`` predicted ones counts if s are true, (n, L)."""
        true = np.arange(1, n_labels + 1)
        return np.asarray((1 + self.beta**2) / (self.beta**2 * true + sizes[:, None]))


def _sizes(by_label: Floats) -> Floats:
    """Return P(|y| = s), (n, L + 1), since s of s labels are among the true ones."""
    n_rows, n_labels, _ = by_label.shape
    sizes = np.empty((n_rows, n_labels + 1))
    sizes[:, 1:] = by_label[:, :, 1:].sum(axis=1) / np.arange(1, n_labels + 1)
    sizes[:, 0] = np.maximum(0.0, 1.0 - sizes[:, 1:].sum(axis=1))
    return sizes
