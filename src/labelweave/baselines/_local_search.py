"""Local search for the label vector of smallest quadratic cost, by flips of one or two labels."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Mask, Positions

# A flip must gain more than rounding, or two flips might undo each other forever: this share of the
# largest terms of the cost.
_ROUNDING = 1e-12
# Numbers per block when pairs of flips are evaluated.
_BLOCK = 1 << 21


def flip_costs(Q: Floats, linear: Floats, labels: Floats) -> Floats:
    """Return the increase of yᵀQy − 2cᵀy by flipping each label, (n, L)."""
    return _costs(np.diag(Q), labels, _slope(Q, linear, labels))


def descend(Q: Floats, linear: Floats, start: Floats) -> Floats:
    """Flip labels as long as that lowers yᵀQy − 2cᵀy, for every row c of ``linear``, (n, L).

    The best single flip is made until none improves, then the best flip of two labels. The result
    is a local minimum within two flips, and that of a row does not depend on the other rows.

    Parameters
    ----------
    Q : (L, L) array
        Symmetric.
    linear : (n, L) array
    start : (n, L) array of 0.0 and 1.0
    """
    labels = start.copy()
    rows = np.arange(len(labels))
    least = _ROUNDING * (np.abs(Q).sum(axis=1).max() + np.abs(linear).max(axis=1))
    while len(rows):
        y, slope = labels[rows], _slope(Q, linear[rows], labels[rows])
        _single_flips(Q, y, slope, least[rows])
        better = _pair_flips(Q, y, slope, least[rows])
        labels[rows] = y
        rows = rows[better]
    return labels


def _slope(Q: Floats, linear: Floats, labels: Floats) -> Floats:
    slope = -linear
    for j in range(len(Q)):  # not a matrix product: the same bits in every batch
        slope = slope + labels[:, j, None] * Q[j]
    return slope


def _costs(diagonal: Floats, y: Floats, slope: Floats) -> Floats:
    return np.asarray(2 * (1 - 2 * y) * slope + diagonal)


def _single_flips(Q: Floats, y: Floats, slope: Floats, least: Floats) -> None:
    """Make the best single flip of each row, in place, until none improves."""
    rows, diagonal = np.arange(len(y)), np.diag(Q)
    while len(rows):
        costs = _costs(diagonal, y[rows], slope[rows])
        best = costs.argmin(axis=1)
        better = costs[np.arange(len(rows)), best] < -least[rows]
        rows = rows[better]
        _flip(Q, y, slope, rows, best[better])


def _pair_flips(Q: Floats, y: Floats, slope: Floats, least: Floats) -> Mask:
    """Make the best flip of two labels, in place; return the rows that it improves."""
    first, second = np.triu_indices(len(Q), 1)
    flipped = np.zeros(len(y), dtype=bool)
    step = max(1, _BLOCK // max(1, len(first)))
    for begin in range(0, len(y) if len(first) else 0, step):
        block = slice(begin, begin + step)
        costs, sign = _costs(np.diag(Q), y[block], slope[block]), 1 - 2 * y[block]
        pairs = sign[:, first] * sign[:, second] * (2 * Q[first, second])
        pairs += costs[:, first]
        pairs += costs[:, second]
        best = pairs.argmin(axis=1)
        better = pairs[np.arange(len(best)), best] < -least[block]
        rows = begin + np.flatnonzero(better)
        flipped[rows] = True
        for ends in (first, second):
            _flip(Q, y, slope, rows, ends[best[better]])
    return flipped


def _flip(Q: Floats, y: Floats, slope: Floats, rows: Positions, labels: Positions) -> None:
    change = 1 - 2 * y[rows, labels]
    y[rows, labels] += change
    slope[rows] += change[:, None] * Q[labels]
