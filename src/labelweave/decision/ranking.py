"""The ranking loss: how many pairs of labels are in the wrong order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_flag, check_labels
from labelweave.decision.top_k import weighted_by_cardinality
from labelweave.joint import JointDistribution


@dataclass(frozen=True)
class RankingLoss:
    """Pairs of a true and a false label of which the false one is ranked first; minimised exactly.

    A pair of equal rank counts one half. `scores` is what to rank the labels by: no other order has
    a smaller expected loss (Dembczyński, Waegeman, Cheng and Hüllermeier, 2012). A label vector is
    a ranking too, of the predicted labels before the others; called, the loss returns the best of
    these, the labels whose score is above the row's mean. Exact wherever
    ``joint.cardinality_by_label()`` is, or ``joint.marginals()`` without normalisation.

    Parameters
    ----------
    normalized : bool, default=True
        Whether to divide by the number of pairs, s·(L−s) if s of L labels are true; a row without
        pairs has no loss.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[1 / 3, 1.0, 3.0]]))
    >>> RankingLoss(normalized=False).scores(joint)
    array([[0.25, 0.5 , 0.75]])
    >>> RankingLoss().ranking_risk(joint, RankingLoss().scores(joint))
    array([0.15625])
    >>> RankingLoss()(joint)
    array([[0, 0, 1]], dtype=int8)
    >>> RankingLoss().risk(joint, [[0, 0, 1]])
    array([0.21875])
    """

    normalized: bool = True

    def __post_init__(self) -> None:
        check_flag(self.normalized, "normalized")

    def scores(self, joint: JointDistribution, /) -> Floats:
        """Return the scores to rank labels by, (n, L): Σ_s w(s) P(y_j = 1, |y| = s)."""
        return weighted_by_cardinality(joint, self._weights(joint.n_labels)[1:])

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels that score above the mean of the row."""
        scores = self.scores(joint)
        return np.asarray(scores > scores.mean(axis=1, keepdims=True), dtype=np.int8)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected loss of ranking ``labels`` before all others, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        return self.ranking_risk(joint, chosen)

    def ranking_risk(self, joint: JointDistribution, scores: npt.ArrayLike) -> Floats:
        """Return the expected loss of ranking labels by the (n, L) ``scores``, highest first, (n,).

        If all labels had the same rank, half of the pairs would be lost. A label that is ranked
        before b others and after a wins (b − a)/2 times its own score.
        """
        values = np.asarray(scores)
        if values.shape != (joint.n_rows, joint.n_labels) or np.isnan(values).any():
            raise ValueError(
                f"scores must be numbers of shape ({joint.n_rows}, {joint.n_labels}), one for each "
                f"label of each row; its shape is {values.shape}"
            )
        n_labels, true = joint.n_labels, np.arange(joint.n_labels + 1)
        pairs = joint.cardinality() @ (self._weights(n_labels) * true * (n_labels - true))
        lead = rankdata(values, axis=1) - (n_labels + 1) / 2
        return np.asarray(pairs / 2 - (self.scores(joint) * lead).sum(axis=1))

    def _weights(self, n_labels: int) -> Floats:
        """Return what a pair counts if s = 0 … L labels are true."""
        true = np.arange(n_labels + 1.0)
        pairs = true * (n_labels - true)
        if not self.normalized:
            return np.ones(n_labels + 1)
        return np.divide(1.0, pairs, out=np.zeros(n_labels + 1), where=pairs > 0)
