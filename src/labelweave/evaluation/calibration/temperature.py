"""The temperature of a joint distribution: how sure it should be of what it predicts."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from labelweave._common.checks import check_labels
from labelweave.joint import JointDistribution
from labelweave.models.label_classifier import checked_weight

__all__ = ["best_temperature", "fit_temperature"]

#: The largest temperature, and one over the smallest. Data that are separated, or that a model
#: knows nothing about, would have none.
MAX_TEMPERATURE = 100.0
# Of log T: less than what thousands of held-out rows can tell.
_TOLERANCE = 1e-3
_FIRST_STEP = 0.25
# The prior of 1/T is that of two pseudo-rows, for each of which the variance of log P(y) is one: a
# gamma distribution with its mode at T = 1. Without it, the two wrong rows of a set of two would
# heat the distribution until nothing is left of it, and labels that never vary would freeze it.
# Some hundred rows outweigh it. Unlike a normal prior of log T, it is log-concave in 1/T like the
# likelihood, so that there is still one hill.
_PRIOR_ROWS = 2.0
# Draws for each row of long chains: the error of a sum over rows is far below that of a row.
SAMPLES = 128


def fit_temperature(
    joint: JointDistribution, Y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the temperature at which true label vectors are most probable.

    It is larger than 1 if the joint distribution is too sure of itself. A weak prior, worth about
    two rows, keeps it near 1 if there are few. Label vectors of probability zero do not count, as
    no temperature makes them possible; since the others alone make the distribution look too
    cautious, the temperature is then not below 1, and a warning says how many there are.

    Parameters
    ----------
    joint : JointDistribution
        What a model predicts for rows that it has not learned from.
    Y : (n, L) array of 0/1
        Their labels.
    sample_weight : (n,) array, optional

    Returns
    -------
    float
        Between 0.01 and 100; ``joint.tempered(temperature)`` is the calibrated distribution.

    Examples
    --------
    Rain falls on three of four days for which the forecast says nine of ten:

    >>> from labelweave.joint import IndependentJoint
    >>> forecast = IndependentJoint(np.full((4000, 1), np.log(9)))
    >>> temperature = fit_temperature(forecast, [[1], [1], [1], [0]] * 1000)
    >>> round(temperature, 2), forecast.tempered(temperature).marginals()[0].round(3)
    (2.0, array([0.75]))
    """
    labels = check_labels(Y, joint.n_rows, joint.n_labels)
    weight = checked_weight(labels, sample_weight)
    possible = np.isfinite(joint.log_prob(labels))
    mass = np.ones(joint.n_rows) if weight is None else weight
    n_impossible = int((~possible & (mass > 0)).sum())
    part = joint[possible]

    def log_likelihood(temperature: float) -> float:
        return float(
            mass[possible] @ part.tempered(temperature, samples=SAMPLES).log_prob(labels[possible])
        )

    return best_temperature(log_likelihood, n_impossible=n_impossible)


def best_temperature(log_likelihood: Callable[[float], float], *, n_impossible: int = 0) -> float:
    """Return the temperature of the highest posterior probability, by Brent's method.

    The log-likelihood and the logarithm of the prior are concave in 1/T (docs/design/math.md,
    section 14), hence there is one hill.

    Parameters
    ----------
    log_likelihood : callable
        Of the temperature.
    n_impossible : int, default=0
        Number of rows that it leaves out because their labels have probability zero. If there are
        any, T is at least 1.

    Examples
    --------
    >>> round(best_temperature(lambda t: -1e4 * (1 / t - 0.5) ** 2), 2)
    2.0
    """

    @cache
    def loss(log_t: float) -> float:
        prior = _PRIOR_ROWS * (math.exp(-log_t) - 1.0 + log_t)
        return prior - log_likelihood(math.exp(log_t))

    found: Any = minimize_scalar(
        loss, bounds=_bracket(loss), method="bounded", options={"xatol": _TOLERANCE}
    )
    # Where the temperature makes no difference, it stays as it is.
    gain = loss(0.0) - float(found.fun)
    best = math.exp(float(found.x)) if gain > 1e-9 * (1.0 + abs(loss(0.0))) else 1.0
    if n_impossible == 0:
        return best
    warnings.warn(
        f"{n_impossible} held-out row(s) have labels of probability 0, which no temperature "
        "changes: it is fitted to the others, and at least 1. Choose a smoother estimator, such as "
        "JointClassifierCV, or calibrate marginals: joint=None, marginals='sigmoid'",
        UserWarning,
        stacklevel=2,
    )
    # Surprises are what makes a distribution too sure, and the greatest of them are left out.
    return max(best, 1.0)


def _bracket(loss: Callable[[float], float]) -> tuple[float, float]:
    """Return bounds of the valley of a function of log T, by growing steps away from T = 1."""
    step = _FIRST_STEP if loss(_FIRST_STEP) < loss(-_FIRST_STEP) else -_FIRST_STEP
    before, here, largest = -step, 0.0, math.log(MAX_TEMPERATURE)
    while abs(here) < largest:
        beyond = math.copysign(min(abs(here + step), largest), step)
        if loss(beyond) >= loss(here):
            break
        before, here, step = here, beyond, 2 * step
    else:
        beyond = here
    return min(before, beyond), max(before, beyond)
