"""Dependence of pairs of labels, from how often they occur alone and together."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from labelweave._common.arrays import Floats


def pair_cells(pairs: Floats, total: float = 1.0) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the two-by-two tables of all pairs: both labels, only the first or second, neither."""
    alone = np.diagonal(pairs, axis1=-2, axis2=-1)
    first = _difference(alone[..., :, None], pairs)
    second = _difference(alone[..., None, :], pairs)
    neither = _difference(np.asarray(total), alone[..., :, None] + second)
    return pairs, first, second, neither


def _difference(whole: Floats, part: Floats) -> Floats:
    """Subtract a part; a remainder within rounding counts as zero."""
    rest = whole - part
    return np.where(rest > 4 * np.finfo(np.float64).eps * whole, rest, 0.0)


def mutual_information(pairs: Floats, total: float = 1.0) -> Floats:
    """Return the mutual information of all pairs in nats; entropies on the diagonal.

    Parameters
    ----------
    pairs, total
        As in `pair_cells`.

    Examples
    --------
    >>> mutual_information(np.array([[2.0, 2.0], [2.0, 2.0]]), 4).round(3)
    array([[0.693, 0.693],
           [0.693, 0.693]])
    """
    positive = np.diagonal(pairs, axis1=-2, axis2=-1) / total
    information = np.zeros(pairs.shape)
    margins = [(p, q) for p in (positive, 1.0 - positive) for q in (positive, 1.0 - positive)]
    for cell, (p, q) in zip(pair_cells(pairs, total), margins, strict=True):
        share = cell / total
        # A pair of values that never occurs contributes zero, even if neither value occurs.
        expected = np.where(share > 0, p[..., :, None] * q[..., None, :], 1.0)
        information += xlogy(share, np.where(share > 0, share / expected, 1.0))
    return np.maximum(information, 0.0)


def log_odds_ratios(pairs: Floats, total: float = 1.0, *, prior: float = 0.0) -> Floats:
    """Return log p₁₁p₀₀/(p₁₀p₀₁) of all pairs; 0 where one of the labels is certain."""
    both, first, second, neither = (cell + prior for cell in pair_cells(pairs, total))
    return log_ratio(both * neither, first * second)


def log_ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Return the logarithm of a ratio of products of probabilities; 0 for 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result = np.log(numerator) - np.log(denominator)
    return np.where((numerator == 0) & (denominator == 0), 0.0, result)
