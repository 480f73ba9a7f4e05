"""Calibration of marginals, label by label: a sigmoid, or any increasing function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

from labelweave._common.arrays import Floats, Indicators, Labels

__all__ = ["MarginalCalibration", "fit_marginal_calibration"]

# Probabilities beyond are moved to these: few sets have so many rows that they could tell more.
_LEAST = 1e-6
# By how much marginals beyond are told apart, in log-odds.
_SPREAD = 1e-6
# Rows of either class from which on a label has an isotonic function of its own.
MIN_FOR_ISOTONIC = 50.0
# Newton's method takes about eight steps, hardly ever halved.
_MAX_STEPS, _SMALLEST_STEP = 50, 1e-9
# A label's marginals rank its rows: few rows must not turn their order round.
_LEAST_SLOPE = 0.05


@dataclass(frozen=True)
class MarginalCalibration:
    """What is made of the marginals of each label.

    Attributes
    ----------
    slope, intercept : (L,) arrays
        The sigmoid of a label is σ(slope log(p / (1 − p)) + intercept).
    knots : tuple of L arrays (2, K)
        An isotonic function, linear between the points (p, calibrated p); empty (K = 0) for labels
        that have a sigmoid.

    Examples
    --------
    >>> halved = MarginalCalibration(np.array([0.5]), np.array([0.0]), (np.empty((2, 0)),))
    >>> halved(np.array([[0.9], [0.5]]))
    array([[0.75],
           [0.5 ]])
    """

    slope: Floats
    intercept: Floats
    knots: tuple[Floats, ...]

    def log_odds(self, log_odds: Floats) -> Floats:
        """Return calibrated log-odds, (n, L), given those of the marginals.

        Sigmoids keep the order of rows, also of those whose marginals are all moved to the same
        one: their log-odds are spread by so little that no probability changes visibly.
        """
        clipped = np.clip(log_odds, *_log_odds(np.array([0.0, 1.0])))
        beyond = np.nan_to_num(log_odds) - clipped
        calibrated: Floats = self.slope * clipped + self.intercept
        calibrated += _SPREAD * np.sign(beyond) * np.log1p(np.abs(beyond))
        for label, (p, value) in enumerate(self.knots):
            if len(p):
                calibrated[:, label] = logit(np.interp(expit(log_odds[:, label]), p, value))
        return calibrated

    def __call__(self, marginals: Floats) -> Floats:
        """Return calibrated marginals, (n, L)."""
        calibrated: Floats = expit(self.slope * _log_odds(marginals) + self.intercept)
        for label, (p, value) in enumerate(self.knots):
            if len(p):
                calibrated[:, label] = np.interp(marginals[:, label], p, value)
        return calibrated


def fit_marginal_calibration(
    marginals: Floats, labels: Labels | Indicators, weight: Floats, *, isotonic: bool = False
) -> MarginalCalibration:
    """Fit a function for each label to marginals of rows that a model has not learned from.

    Parameters
    ----------
    marginals : (n, L) array
    labels : (n, L) array of 0/1
    weight : (n,) array
    isotonic : bool, default=False
        Whether labels with at least 50 rows of either class have an isotonic function.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(4000, 1))
    >>> labels = (rng.random(z.shape) < expit(z)).astype(np.int8)
    >>> too_sure = expit(2 * z + 1)
    >>> found = fit_marginal_calibration(too_sure, labels, np.ones(len(z)))
    >>> found.slope.round(1), found.intercept.round(1)
    (array([0.5]), array([-0.5]))
    """
    slope, intercept = _fit_sigmoids(_log_odds(marginals), labels, weight)
    n_labels = labels.shape[1]
    knots = [np.empty((2, 0)) for _ in range(n_labels)]
    positive = weight @ labels
    fewest = np.minimum(positive, weight.sum() - positive)
    for label in np.flatnonzero(isotonic & (fewest >= MIN_FOR_ISOTONIC)):
        knots[label] = _fit_isotonic(marginals[:, label], labels[:, label], weight)
    return MarginalCalibration(slope, intercept, tuple(knots))


def _log_odds(marginals: Floats) -> Floats:
    return np.asarray(logit(np.clip(marginals, _LEAST, 1 - _LEAST)))


def _fit_sigmoids(z: Floats, labels: Labels | Indicators, weight: Floats) -> tuple[Floats, Floats]:
    """Fit slopes a and intercepts b with the penalty ((a − 1)² + b²) / 2, by Newton's method.

    So labels with few positives, which say little, keep the marginals about as they are.
    """
    w = weight[:, None]

    def loss(a: Floats, b: Floats) -> Floats:
        u = a * z + b
        likelihood = (w * (labels * u - np.logaddexp(0.0, u))).sum(axis=0)
        return np.asarray(((a - 1) ** 2 + b**2) / 2 - likelihood)

    a, b = np.ones(z.shape[1]), np.zeros(z.shape[1])
    present = loss(a, b)
    for _ in range(_MAX_STEPS):
        p = expit(a * z + b)
        step_a, step_b = _newton_step(a, b, z, w * (p - labels), w * p * (1 - p))
        for _ in range(_MAX_STEPS):
            found = loss(a - step_a, b - step_b)
            worse = found > present
            if not worse.any():
                break
            step_a, step_b = np.where(worse, [step_a / 2, step_b / 2], [step_a, step_b])
        a, b = np.where(worse, [a, b], [a - step_a, b - step_b])
        present = np.where(worse, present, found)
        if np.abs(np.where(worse, 0.0, [step_a, step_b])).max() < _SMALLEST_STEP:
            break
    for label in np.flatnonzero(a < _LEAST_SLOPE):
        a[label] = _LEAST_SLOPE
        b[label] = _fit_intercept(_LEAST_SLOPE * z[:, label], labels[:, label], weight)
    return a, b


def _fit_intercept(z: Floats, label: Labels | Indicators, weight: Floats) -> float:
    """Fit the intercept alone, with the same penalty: the zero of an increasing derivative."""
    end = float(weight.sum()) + 1.0  # the penalty's part of the derivative outweighs all rows there
    return float(brentq(lambda b: weight @ (expit(z + b) - label) + b, -end, end))


def _newton_step(
    a: Floats, b: Floats, z: Floats, residual: Floats, curvature: Floats
) -> tuple[Floats, Floats]:
    """Return the steps of slopes and intercepts down to the minimum of a quadratic model."""
    gradient_a = (residual * z).sum(axis=0) + a - 1
    gradient_b = residual.sum(axis=0) + b
    aa, ab = (curvature * z**2).sum(axis=0) + 1, (curvature * z).sum(axis=0)
    bb = curvature.sum(axis=0) + 1
    determinant = aa * bb - ab**2
    return (
        (bb * gradient_a - ab * gradient_b) / determinant,
        (aa * gradient_b - ab * gradient_a) / determinant,
    )


def _fit_isotonic(p: Floats, label: Labels | Indicators, weight: Floats) -> Floats:
    """Fit an increasing function to Platt's targets, so that it is never 0 nor 1.

    The targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) are Laplace's estimates of labels that are always
    or never there.
    """
    positive = float(weight @ label)
    negative = float(weight.sum()) - positive
    target = np.where(label == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    fitted = IsotonicRegression(out_of_bounds="clip").fit(p, target, sample_weight=weight)
    return np.stack([fitted.X_thresholds_, fitted.y_thresholds_])
