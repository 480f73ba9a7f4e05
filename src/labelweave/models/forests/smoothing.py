"""How far leaf mates can be trusted: chosen by the likelihood of rows that no tree has seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.bernoulli import bernoulli_log_prob
from labelweave.models.forests.leaf_mates import Shares, tempered

# Forests average over many leaves, which makes them less certain than they could be: most
# candidates sharpen.
TEMPERATURES = (1.0, 0.8, 0.65, 0.5, 0.35)
SHRINKAGES = (0.003, 0.01, 0.03, 0.1, 0.3)
# Without rows to judge by.
DEFAULT_SHRINKAGE = 0.1
# Halvings of the interval in which the smooth weight is sought: to the precision of its odds.
_HALVINGS = 50
# A smooth joint that calls the truth impossible has a large loss, but not an infinite one.
_LEAST_LOG_PROB = -700.0


@dataclass(frozen=True)
class Smoothing:
    """P(y) = (1 − weight) · tempered shares of y + weight · smooth P(y).

    Attributes
    ----------
    temperature : float
        Shares are raised to the power of 1 / temperature.
    shrinkage : float
        How far the marginals of independent labels are moved towards the training frequencies.
    weight : float
        Weight of the smooth joint.
    """

    temperature: float
    shrinkage: float
    weight: float


@dataclass(frozen=True)
class HeldOutRows:
    """Training rows with what the others say about them.

    Attributes
    ----------
    shares : (n, V) CSR array
        Probabilities of the vectors, by trees that have not seen the row.
    place : (n,) array
        Where the row's own vector is among the V.
    labels : (n, L) int8 array
    weight : (n,) array
    log_smooth : (n,) array or None
        Held-out log-probability of the labels by the smooth joint; None for independent labels.
    """

    shares: Shares
    place: Indices
    labels: Labels
    weight: Floats
    log_smooth: Floats | None


def choose_smoothing(
    rows: HeldOutRows,
    vectors: Labels,
    frequencies: Floats,
    temperatures: Sequence[float],
    least_weight: float,
) -> Smoothing:
    """Return the temperature, shrinkage and weight under which the rows are most probable."""
    best, best_value = None, -np.inf
    for temperature in temperatures:
        for shrinkage, log_listed, log_smooth in _candidates(
            rows, vectors, frequencies, temperature
        ):
            weight = best_weight(log_listed, log_smooth, rows.weight, least_weight)
            value = float(rows.weight @ _mixed(log_listed, log_smooth, weight))
            if best is None or value > best_value:
                best, best_value = Smoothing(temperature, shrinkage, weight), value
    assert best is not None
    return best


def _candidates(
    rows: HeldOutRows, vectors: Labels, frequencies: Floats, temperature: float
) -> Iterator[tuple[float, Floats, Floats]]:
    """Iterate over shrinkages, with the log-probabilities of the rows by both joints."""
    shares = tempered(rows.shares, temperature)
    with np.errstate(divide="ignore"):
        log_listed = np.log(_entries(shares, rows.place))
    if rows.log_smooth is not None:
        yield 0.0, log_listed, np.maximum(rows.log_smooth, _LEAST_LOG_PROB)
        return
    marginals = listed_marginals(shares, vectors)
    for shrinkage in SHRINKAGES:
        scores = shrunk_scores(marginals, frequencies, shrinkage)
        yield shrinkage, log_listed, bernoulli_log_prob(rows.labels, scores).sum(axis=1)


def listed_marginals(shares: Shares, vectors: Labels) -> Floats:
    """Return the probability of every label under the shares of the vectors, (n, L)."""
    return np.asarray(np.clip(shares @ vectors.astype(np.float64), 0.0, 1.0))


def shrunk_scores(marginals: Floats, frequencies: Floats, shrinkage: float) -> Floats:
    """Return the log-odds of marginals that are shrunk towards the frequencies, (n, L)."""
    present = (1 - shrinkage) * marginals + shrinkage * frequencies
    absent = (1 - shrinkage) * (1 - marginals) + shrinkage * (1 - frequencies)
    return np.asarray(np.log(present) - np.log(absent))


def best_weight(log_listed: Floats, log_smooth: Floats, weight: Floats, least: float) -> float:
    """Return the smooth weight of the largest likelihood, by bisection of its derivative.

    The log-likelihood is concave in the weight.

    Examples
    --------
    Half of the rows are impossible without the smooth joint, and certain with it:

    >>> impossible = np.array([-np.inf, 0.0])
    >>> round(best_weight(impossible, np.array([0.0, -np.inf]), np.ones(2), 0.0), 9)
    0.5
    """
    top = np.maximum(log_listed, log_smooth)
    listed, smooth = np.exp(log_listed - top), np.exp(log_smooth - top)
    low, high = least, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mixed = middle * smooth + (1 - middle) * listed
        if weight @ ((smooth - listed) / mixed) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mixed(log_listed: Floats, log_smooth: Floats, weight: float) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log1p(-weight) + log_listed, np.log(weight) + log_smooth))


def _entries(shares: Shares, place: Indices) -> Floats:
    """Return the entry of every row in its own column."""
    return np.asarray(shares[np.arange(len(place)), place]).ravel()
