"""Metrics of probabilities: the log-likelihood of the true labels, joint and label by label."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats
from labelweave.evaluation.metrics.validation import check_labels, check_scored, check_weight
from labelweave.inference.search import greedy_path
from labelweave.joint import JointDistribution

__all__ = ["SupportsLogProb", "cll_loss", "cll_loss_path", "cll_loss_row", "log_loss"]


class SupportsLogProb(Protocol):
    """What these metrics need of a joint distribution: one log-probability per row."""

    def log_prob(self, Y: Any, /) -> Any:
        """Return log P(y_n | x_n) for every row n."""
        ...


def _log_likelihoods(Y_true: ArrayLike, joint: SupportsLogProb) -> Floats:
    truth = check_labels(Y_true, "Y_true")
    values = np.asarray(joint.log_prob(truth), dtype=np.float64)
    if values.shape != (len(truth),):
        raise ValueError(
            f"joint.log_prob(Y_true) must return one number per row, got shape {values.shape} "
            f"for {len(truth)} row(s); was the joint predicted from the same rows?"
        )
    return values


def cll_loss(Y_true: ArrayLike, joint: SupportsLogProb) -> float:
    """Conditional log-likelihood loss, −Σ_n log P(y_n | x_n), summed over the test set.

    Parameters
    ----------
    Y_true : array-like of shape (n, L)
        The true labels.
    joint : JointDistribution
        The predicted distribution of the same rows: ``model.predict_joint(X)``.

    Examples
    --------
    >>> class FairCoins:
    ...     def log_prob(self, Y):
    ...         return np.full(len(Y), -Y.shape[1] * np.log(2))
    >>> round(cll_loss([[1, 0], [0, 1]], FairCoins()), 4)
    2.7726
    """
    # 0.0 − x, so that the loss of a perfect joint is 0 and not −0.
    return 0.0 - float(_log_likelihoods(Y_true, joint).sum())


def cll_loss_row(Y_true: ArrayLike, joint: SupportsLogProb) -> float:
    """CLL-loss per row, which is comparable between test sets of different sizes.

    Examples
    --------
    >>> class FairCoins:
    ...     def log_prob(self, Y):
    ...         return np.full(len(Y), -Y.shape[1] * np.log(2))
    >>> round(cll_loss_row([[1, 0], [0, 1]], FairCoins()), 4)
    1.3863
    """
    return 0.0 - float(_log_likelihoods(Y_true, joint).mean())


def log_loss(
    Y_true: ArrayLike, scores: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Log-loss of the marginals, −log P(y_nj | x_n) averaged over rows and labels.

    Parameters
    ----------
    Y_true : array-like of shape (n, L)
        The true labels.
    scores : array-like of shape (n, L)
        Marginal probabilities; the loss of other scores is nan. As in scikit-learn, probabilities
        of 0 and 1 are moved by 2⁻⁵².
    sample_weight : array-like of shape (n,), optional

    Examples
    --------
    >>> round(log_loss([[1, 0], [1, 1]], [[0.9, 0.1], [0.8, 0.8]]), 4)
    0.1643
    """
    truth, values = check_scored(Y_true, np.asarray(scores))  # no log-odds: they are to be judged
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        return float("nan")
    smallest = np.finfo(np.float64).eps
    right = np.clip(np.where(truth == 1, values, 1.0 - values), smallest, 1.0 - smallest)
    weight = check_weight(sample_weight, len(truth))
    return float(np.average(-np.log(right).mean(axis=1), weights=weight))


def cll_loss_path(Y_true: ArrayLike, joint: SupportsLogProb) -> float:
    """CLL-loss per row of the product of conditionals along a chain's greedy path.

    Papers report it for classifier chains (CC), which do not use P(y|x) itself. For distributions
    without a greedy path it equals `cll_loss_row`.

    Examples
    --------
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint([[1.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]])
    >>> round(cll_loss_path([[0, 0]], joint), 4), round(cll_loss_row([[0, 0]], joint), 4)
    (3.4402, 2.0064)
    """
    path = greedy_path(joint) if isinstance(joint, JointDistribution) else joint
    return cll_loss_row(Y_true, path)
