"""How strange a label vector is under P(y|x), and how strange it may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Counts, Floats, Indices, Mask
from labelweave._common.checks import check_number
from labelweave.inference import Auto
from labelweave.joint import JointDistribution

__all__ = ["NONCONFORMITY", "HeldOutScores", "conformal_quantile", "nonconformity"]

#: What is subtracted from -log P(y|x), by the name of the score.
NONCONFORMITY: dict[str, Callable[[JointDistribution], Floats]] = {
    "ratio": lambda joint: -joint.mode(Auto()).log_prob,
    "probability": lambda joint: np.zeros(joint.n_rows),
}
# Log-probabilities that are computed in two ways differ by less than this, relatively: a vector
# exactly at the quantile belongs to the set.
_ROUNDING = 1e-9


def nonconformity(joint: JointDistribution, Y: npt.ArrayLike, score: str = "ratio") -> Floats:
    """Return how strange one label vector of each row is, (n,).

    Parameters
    ----------
    joint : JointDistribution
    Y : (n, L) array of 0/1
    score : {"ratio", "probability"}, default="ratio"
        log P(y*|x) - log P(y|x) with the mode y*, or -log P(y|x).

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint([[0.0, 0.0]])
    >>> nonconformity(joint, [[1, 0]]), nonconformity(joint, [[1, 0]], "probability")
    (array([0.]), array([1.38629436]))
    """
    return -joint.log_prob(Y) - NONCONFORMITY[score](joint)


def _rank(n: int, confidence: float) -> int:
    """Return which of n held-out scores is the conformal quantile, counted from 1.

    Of n + 1 exchangeable scores, any one is among the m smallest with probability m / (n + 1).
    """
    # 0.07 * 100 is slightly above 7: such rounding must not cost a whole rank.
    return math.ceil(confidence * (n + 1) - _ROUNDING)


def conformal_quantile(scores: npt.ArrayLike, confidence: float) -> float:
    """Return the number that a new score exceeds with probability at most 1 - confidence.

    The scores and the new one must be exchangeable, for example independent and of the same
    distribution; the probability is over all of them, and holds for any number of scores.

    Parameters
    ----------
    scores : (n,) array
        Held-out scores, the higher the stranger; they may be infinite.
    confidence : float
        Between 0 and 1.

    Returns
    -------
    float
        Infinite if there are fewer than confidence / (1 - confidence) scores.

    Examples
    --------
    >>> conformal_quantile([3.0, 1.0, 2.0], 0.5), conformal_quantile([3.0, 1.0, 2.0], 0.9)
    (2.0, inf)
    """
    check_number(confidence, "confidence", above=0, below=1)
    values = np.sort(np.asarray(scores, dtype=np.float64).ravel())
    if np.isnan(values).any():
        raise ValueError("scores must be numbers; they contain NaN")
    rank = _rank(len(values), confidence)
    return float(values[rank - 1]) if rank <= len(values) else math.inf


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of held-out rows, by the group of the row and the model that has not seen it.

    Attributes
    ----------
    scores : (m,) array
    folds, groups : (m,) arrays of int
        Numbers of models and of groups.

    Examples
    --------
    >>> zero = np.zeros(3, dtype=int)
    >>> held_out = HeldOutScores(np.array([1.0, 2.0, 3.0]), folds=zero, groups=zero)
    >>> held_out.quantiles(np.array([0, 1]), 0.5)
    array([ 2., inf])
    """

    scores: Floats
    folds: Indices
    groups: Indices

    def quantiles(self, groups: Indices, confidence: float) -> Floats:
        """Return the conformal quantile of each new row's group, (n,), a little rounded up."""
        out = np.empty(len(groups))
        for group in np.unique(groups):
            quantile = conformal_quantile(self.scores[self.groups == group], confidence)
            out[groups == group] = quantile + _ROUNDING * (1 + abs(quantile))
        return out

    def conforms(self, scores: Floats, groups: Indices, confidence: float) -> tuple[Mask, Counts]:
        """Return which vectors belong to the sets of CV+, and how many scores are below theirs.

        Parameters
        ----------
        scores : (V, K) array
            The score of each vector by the model of each fold.
        groups : (V,) array of int
            The group of its row.
        confidence : float
        """
        below = np.zeros(len(scores), dtype=np.int64)
        rank = np.empty(len(scores), dtype=np.int64)
        lowered = scores - _ROUNDING * (1 + np.abs(scores))
        for group in np.unique(groups):
            own, here = self.groups == group, groups == group
            rank[here] = _rank(int(own.sum()), confidence)
            for fold in range(scores.shape[1]):
                held_out = np.sort(self.scores[own & (self.folds == fold)])
                below[here] += np.searchsorted(held_out, lowered[here, fold])
        return below < rank, below
