"""Reliability of probabilities: of what was predicted with p, a share p should come true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from labelweave._common.arrays import Counts, Floats, Indicators, Mask
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave.evaluation.metrics.validation import check_labels, check_scored
from labelweave.inference import Auto

__all__ = [
    "ReliabilityCurve",
    "calibration_error",
    "joint_calibration_error",
    "reliability_curve",
    "wilson_interval",
]

STRATEGIES = ("uniform", "quantile")


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted against observed rates, bin by bin; bins without predictions are left out.

    Attributes
    ----------
    p : (B,) array
        Mean prediction of each bin, increasing.
    rate : (B,) array
        Share of the bin that came true.
    n : (B,) int array
        Number of predictions in the bin.
    low, high : (B,) arrays
        Interval that holds the rate which the bin would have if it had more predictions.

    Examples
    --------
    >>> curve = reliability_curve([0.1, 0.3, 0.8, 0.9], [0, 1, 1, 1], n_bins=2)
    >>> round(curve.error, 3)
    0.225
    """

    p: Floats
    rate: Floats
    n: Counts
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.n)

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of p and rate, weighted by n."""
        return float(self.n @ np.abs(self.p - self.rate) / self.n.sum())


def reliability_curve(
    scores: ArrayLike,
    truth: ArrayLike,
    n_bins: int = 10,
    *,
    strategy: str = "uniform",
    level: float = 0.95,
) -> ReliabilityCurve:
    """Compare probabilities with how often what they are about came true.

    For marginals, pass one column for the reliability of a label, or whole matrices to pool all
    labels. For a joint distribution, pass the probabilities of the predicted label vectors,
    ``np.exp(joint.log_prob(predicted))``, and whether all labels of the row were right.

    Parameters
    ----------
    scores : array-like of any shape
        Probabilities.
    truth : array-like of the same shape
        0 or 1: whether it came true.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Whether bins have the same width, or the same number of predictions as far as ties allow:
        most probabilities of rare labels lie close to 0, in one bin of equal width.
    level : float, default=0.95
        Confidence level of the intervals (Wilson's). They take predictions to be independent;
        the labels of one row are not, so that those of pooled labels are somewhat too narrow.

    Returns
    -------
    ReliabilityCurve

    Examples
    --------
    >>> curve = reliability_curve([0.1, 0.3, 0.8, 0.9], [0, 1, 1, 1], n_bins=2)
    >>> curve.p, curve.rate, curve.n
    (array([0.2 , 0.85]), array([0.5, 1. ]), array([2, 2]))
    """
    probability, outcome = _check_pair(scores, truth)
    n_bins = check_whole_number(n_bins, "n_bins")
    check_choice(strategy, "strategy", STRATEGIES)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(probability, edges)
    # As in scikit-learn's calibration_curve: a bin includes its left edge, the last one both.
    place = np.searchsorted(edges[1:-1], probability, side="right")
    n = np.bincount(place, minlength=n_bins)
    filled = n > 0
    count = n[filled].astype(np.int64)
    right = np.bincount(place, weights=outcome, minlength=n_bins)[filled]
    low, high = wilson_interval(right, count, level)
    total = np.bincount(place, weights=probability, minlength=n_bins)[filled]
    return ReliabilityCurve(total / count, right / count, count, low, high)


def calibration_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Return the expected calibration error of marginals, all labels pooled, over ten bins.

    Parameters
    ----------
    Y_true : array-like of shape (n, L)
        The true labels.
    scores : array-like of shape (n, L)
        Marginal probabilities; the error of other scores is nan.

    Examples
    --------
    >>> round(calibration_error([[1, 0], [1, 1]], [[0.9, 0.1], [0.8, 0.8]]), 3)
    0.15
    """
    truth, values = check_scored(Y_true, np.asarray(scores))  # no log-odds: they are to be judged
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        return float("nan")
    return reliability_curve(values, truth).error


def joint_calibration_error(Y_true: ArrayLike, joint: Any) -> float:
    """Return the expected calibration error of the most probable vectors, over ten bins.

    Of the vectors that are predicted with probability 0.8, eight of ten should be right.

    Parameters
    ----------
    Y_true : array-like of shape (n, L)
        The true labels.
    joint : JointDistribution
        The predicted distribution of the same rows; the error is nan if it has no ``mode``.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.full((2, 1), np.log(4)))
    >>> round(joint_calibration_error([[1], [0]], joint), 3)
    0.3
    """
    truth = check_labels(Y_true, "Y_true")
    if not hasattr(joint, "mode"):
        return float("nan")
    mode = joint.mode(Auto())
    if mode.labels.shape != truth.shape:
        raise ValueError(
            f"Y_true must have the shape of the joint's labels, {mode.labels.shape}; its shape is "
            f"{truth.shape}. Was the joint predicted from the same rows?"
        )
    confidence = np.minimum(np.exp(mode.log_prob), 1.0)
    return reliability_curve(confidence, (mode.labels == truth).all(axis=1)).error


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return Wilson's interval of a share: within [0, 1], and sound for few trials too.

    Parameters
    ----------
    successes, trials : array-like
        Counts; no interval is given (nan) where there are no trials.
    level : float, default=0.95
        Confidence level.

    Examples
    --------
    >>> low, high = wilson_interval([0, 5], [10, 10])
    >>> low.round(3), high.round(3)
    (array([0.   , 0.237]), array([0.278, 0.763]))
    """
    check_number(level, "level", above=0, below=1)
    found, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    z = float(stats.norm.isf((1.0 - level) / 2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (found + z**2 / 2.0) / (n + z**2)
        half = z * np.sqrt(found * (n - found) / n + z**2 / 4.0) / (n + z**2)
    # Exact at the ends, where centre and half are equal up to rounding.
    low = np.where(found == 0, 0.0, centre - half)
    high = np.where(found == n, 1.0, centre + half)
    nothing: Mask = n == 0
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)


def _check_pair(scores: ArrayLike, truth: ArrayLike) -> tuple[Floats, Indicators]:
    """Return probabilities and outcomes as flat arrays of the same length."""
    probability, outcome = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if probability.shape != outcome.shape:
        raise ValueError(
            f"scores and truth must have the same shape, got {probability.shape} and "
            f"{outcome.shape}"
        )
    if probability.size == 0:
        raise ValueError(f"scores are empty (shape {probability.shape}); pass at least one")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("scores must be probabilities, from 0 to 1")
    if not np.isin(outcome, (0, 1)).all():
        raise ValueError("truth must contain only 0 and 1")
    return probability.ravel(), outcome.ravel().astype(np.int64)
