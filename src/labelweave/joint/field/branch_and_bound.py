"""The mode of a field with cycles: branch and bound over all rows at once, and hill climbing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.field.relaxation import Relaxation

# A bound above a vector's value by less than this may be rounding.
TIE = 1e-9


@dataclass(frozen=True)
class Frontier:
    """The best complete vectors a search ends with.

    Attributes
    ----------
    labels : (n, w, L) int8 array
        Decreasing in energy; rows that ran out of vectors repeat any with energy -inf.
    energy : (n, w) array
    dropped : (n,) array
        No vector that was given up for lack of room has a higher energy.
    nodes : (n,) int64 array
        Partial vectors looked at.
    """

    labels: Labels
    energy: Floats
    dropped: Floats
    nodes: Indices


def branch_and_bound(field: Relaxation, order: Indices, width: int, floor: Floats) -> Frontier:
    """Fix label after label, keep the ``width`` partial vectors of the highest bounds.

    Parameters
    ----------
    field : Relaxation
    order : (L,) array
        In which the labels are fixed.
    width : int
    floor : (n,) array
        Partial vectors that cannot lead above this are left out.
    """
    n, n_labels = field.gain.shape
    labels = np.zeros((n, 1, n_labels), dtype=np.int8)
    value = field.constant[:, None].copy()
    gains = np.zeros((n, 1, n_labels, 2))
    gains[:, 0, :, 1] = field.gain
    dropped = np.full(n, -np.inf)
    nodes = np.zeros(n, dtype=np.int64)
    for position, label in enumerate(order):
        rest = order[position + 1 :]
        labels = np.concatenate([labels, labels], axis=1)
        labels[:, labels.shape[1] // 2 :, label] = 1
        value = np.concatenate([value + gains[:, :, label, a] for a in (0, 1)], axis=1)
        gains = np.concatenate(
            [gains + field.loss[:, None, label, a, :, :] for a in (0, 1)], axis=1
        )
        bound = value + gains[:, :, rest].max(axis=3).sum(axis=2)
        bound[bound <= floor[:, None] + TIE] = -np.inf
        nodes += np.isfinite(bound).sum(axis=1)
        kept = np.argsort(-bound, axis=1, kind="stable")
        if kept.shape[1] > width:
            first_out = np.take_along_axis(bound, kept[:, width : width + 1], axis=1)[:, 0]
            dropped = np.maximum(dropped, first_out)
            kept = kept[:, :width]
        # Nothing is gained by carrying partial vectors that are dead in every row.
        alive = np.isfinite(np.take_along_axis(bound, kept, axis=1)).sum(axis=1)
        kept = kept[:, : max(1, int(alive.max(initial=1)))]
        dead = ~np.isfinite(np.take_along_axis(bound, kept, axis=1))
        labels = np.take_along_axis(labels, kept[:, :, None], axis=1)
        value = np.where(dead, -np.inf, np.take_along_axis(value, kept, axis=1))
        gains = np.take_along_axis(gains, kept[:, :, None, None], axis=1)
    best = np.argsort(-value, axis=1, kind="stable")
    return Frontier(
        np.take_along_axis(labels, best[:, :, None], axis=1),
        np.take_along_axis(value, best, axis=1),
        dropped,
        nodes,
    )


def climb(labels: Labels, scores: Floats, coupling: Floats, known: Labels) -> Labels:
    """Flip single labels of (n, L) ``labels`` as long as one of them makes a row more probable."""
    labels = labels.copy()
    free = known < 0
    field = scores.copy()
    for label in range(labels.shape[1]):
        active = labels[:, label] * free[:, label]
        field += active[:, None] * coupling[label]
    rows = np.arange(len(labels))
    while len(rows):
        gain = np.where(labels[rows] == 1, -field[rows], field[rows])
        gain = np.where(free[rows], gain, -np.inf)
        best = gain.argmax(axis=1)
        improves = gain[np.arange(len(rows)), best] > TIE
        rows, best = rows[improves], best[improves]
        sign = 1.0 - 2.0 * labels[rows, best]
        labels[rows, best] ^= 1
        field[rows] += sign[:, None] * coupling[best]
    return labels
