"""Searches for the mode of a field: relaxation, branch and bound, and climbing.

An upper bound on the energy of a field, row by row: every coupling is replaced by terms of single
labels that are never smaller, so a maximum label by label bounds the field from above:

    v > 0:   v y_i y_j  ≤  t y_i + (v − t) y_j          0 ≤ t ≤ v
    v < 0:   v y_i y_j  ≤  a − a y_i − a y_j            0 ≤ a ≤ −v

The splits t and a are chosen row by row to make the bound small (the dual of the linear programme
over pairs of labels, by coordinate descent). What a split gives away comes back as soon as both
labels are fixed, or one of them: so bounds of partial vectors are tighter than the bound of none.
Branch and bound fixes label after label, in all rows at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.results import TIE

# Passes over all couplings that choose their splits; later passes hardly lower the bound.
PASSES = 12


def climb(scores: Floats, coupling: Floats, known: Labels, start: Labels) -> Labels:
    """Flip single labels of (n, L) vectors as long as one of them makes a row more probable."""
    labels = start.copy()
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


# ---------------------------------------------------------------------- the bound


@dataclass(frozen=True)
class Relaxation:
    """A field in which no coupling can add to what the labels give on their own.

    A positive label j adds ``gain[:, j]`` to the ``constant`` (n,), and the coupling of i and j
    adds ``loss[:, i, a, j, b]``, which is at most zero, at y_i = a and y_j = b.
    """

    constant: Floats
    gain: Floats
    loss: Floats

    def bound(self) -> Floats:
        """Return an energy (n,) that no label vector exceeds."""
        return np.asarray(self.constant + np.maximum(self.gain, 0.0).sum(axis=1))


def relax(scores: Floats, coupling: Floats, known: Labels) -> Relaxation:
    """Choose the splits of all couplings between labels that are not known."""
    splits = _Splits(scores, coupling, known)
    for _ in range(PASSES):
        for edge in splits.edges:
            splits.balance(edge)
    n, n_labels = scores.shape
    loss = np.zeros((n, n_labels, 2, n_labels, 2))
    for edge in splits.edges:
        pair = edge.loss()
        loss[:, edge.i, :, edge.j, :] = pair
        loss[:, edge.j, :, edge.i, :] = pair.transpose(0, 2, 1)
    return Relaxation(splits.constant, splits.gain, loss)


class _Edge:
    """A coupling in all rows: its value where both labels are unknown, and its split."""

    def __init__(self, i: np.int64, j: np.int64, value: np.float64, free: Mask) -> None:
        self.i, self.j = int(i), int(j)
        self.v: Floats = np.where(free[:, i] & free[:, j], value, 0.0)
        self.positive = self.v > 0
        self.share = np.zeros(len(self.v))

    def loss(self) -> Floats:
        """Return the coupling minus its split, (n, 2, 2): never positive."""
        pair = np.zeros((len(self.v), 2, 2))
        pair[:, 0, 0] = np.where(self.positive, 0.0, -self.share)
        pair[:, 1, 0] = np.where(self.positive, -self.share, 0.0)
        pair[:, 0, 1] = np.where(self.positive, self.share - self.v, 0.0)
        pair[:, 1, 1] = np.where(self.positive, 0.0, self.v + self.share)
        return pair


class _Splits:
    """The splits of all couplings, and what they add to each label and to the constant."""

    def __init__(self, scores: Floats, coupling: Floats, known: Labels) -> None:
        free = known < 0
        # A known label takes no part: its value counts as 0, and what it adds is in the scores.
        self.gain: Floats = np.where(free, scores, -np.inf)
        self.constant = np.zeros(len(scores))
        pairs = np.argwhere(np.triu(coupling, 1))
        self.edges = [_Edge(i, j, coupling[i, j], free) for i, j in pairs]
        for edge in self.edges:
            self._give(edge, np.where(edge.positive, edge.v / 2, 0.0))

    def _give(self, edge: _Edge, share: Floats, sign: float = 1.0) -> None:
        """Add the terms of the split ``share`` to the labels (or take them back)."""
        self.gain[:, edge.i] += sign * np.where(edge.positive, share, -share)
        self.gain[:, edge.j] += sign * np.where(edge.positive, edge.v - share, -share)
        self.constant += sign * np.where(edge.positive, 0.0, share)
        edge.share = share

    def balance(self, edge: _Edge) -> None:
        """Choose the best split while all others stay.

        Both labels are left with the same where that is possible: a minimum of the bound, and one
        from which the next coupling can go on.
        """
        self._give(edge, edge.share, -1.0)
        coupled = edge.v != 0
        own, other = (np.where(coupled, self.gain[:, label], 0.0) for label in (edge.i, edge.j))
        best = np.where(edge.positive, (other + edge.v - own) / 2, (own + other) / 2)
        self._give(edge, np.clip(best, 0.0, np.abs(edge.v)))


# ---------------------------------------------------------------------- branch and bound


@dataclass(frozen=True)
class Frontier:
    """The best complete vectors (n, w, L) a search ends with, in decreasing ``energy`` (n, w).

    Rows that ran out of vectors repeat any with energy -inf. No vector that was given up for lack
    of room has an energy above ``dropped``; ``nodes`` partial vectors were looked at.
    """

    labels: Labels
    energy: Floats
    dropped: Floats
    nodes: Indices


def branch_and_bound(field: Relaxation, order: Indices, width: int, floor: Floats) -> Frontier:
    """Fix label after label, keep the ``width`` partial vectors of the highest bounds."""
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
