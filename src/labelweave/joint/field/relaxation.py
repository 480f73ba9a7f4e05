"""An upper bound on the energy of a field, row by row.

Every coupling is replaced by terms of single labels that are never smaller, so a maximum label by
label bounds the field from above:

    v > 0:   v y_i y_j  ≤  t y_i + (v − t) y_j          0 ≤ t ≤ v
    v < 0:   v y_i y_j  ≤  a − a y_i − a y_j            0 ≤ a ≤ −v

The splits t and a are chosen row by row to make the bound small (the dual of the linear programme
over pairs of labels, by coordinate descent). What a split gives away comes back as soon as both
labels are fixed, or one of them: so bounds of partial vectors are tighter than that of none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelweave._common.arrays import Floats, Labels, Mask

# Passes over all couplings that choose their splits; later passes hardly lower the bound.
PASSES = 12


@dataclass(frozen=True)
class Relaxation:
    """A field in which no coupling can add to what the labels give on their own.

    Attributes
    ----------
    constant : (n,) array
    gain : (n, L) array
        What label j adds when it is positive; with it every coupling is at most zero.
    loss : (n, L, 2, L, 2) array
        ``loss[:, i, a, j, b]`` is what the coupling of i and j adds at y_i = a, y_j = b.
    """

    constant: Floats
    gain: Floats
    loss: Floats

    def bound(self) -> Floats:
        """No label vector's energy is above this, (n,)."""
        return np.asarray(self.constant + np.maximum(self.gain, 0.0).sum(axis=1))


def relax(scores: Floats, coupling: Floats, known: Labels) -> Relaxation:
    """Choose the splits of all couplings between labels that are not known."""
    free = known < 0
    # A known label takes no part: its value counts as 0, and what it adds is in the scores.
    gain, constant = np.where(free, scores, -np.inf), np.zeros(len(scores))
    edges = [_Edge(i, j, coupling[i, j], free) for i, j in np.argwhere(np.triu(coupling, 1))]
    for edge in edges:
        edge.give(gain, constant, np.where(edge.positive, edge.v / 2, 0.0))
    for _ in range(PASSES):
        for edge in edges:
            edge.balance(gain, constant)
    n, n_labels = scores.shape
    loss = np.zeros((n, n_labels, 2, n_labels, 2))
    for edge in edges:
        pair = edge.loss()
        loss[:, edge.i, :, edge.j, :] = pair
        loss[:, edge.j, :, edge.i, :] = pair.transpose(0, 2, 1)
    return Relaxation(constant, gain, loss)


class _Edge:
    """A coupling in all rows: its value where both labels are unknown, and its split."""

    def __init__(self, i: np.int64, j: np.int64, value: np.float64, free: Mask) -> None:
        self.i, self.j = int(i), int(j)
        self.v: Floats = np.where(free[:, i] & free[:, j], value, 0.0)
        self.positive = self.v > 0
        self.share = np.zeros(len(self.v))

    def give(self, gain: Floats, constant: Floats, share: Floats, sign: float = 1.0) -> None:
        """Add the terms of the split ``share`` to the labels (or take them back)."""
        gain[:, self.i] += sign * np.where(self.positive, share, -share)
        gain[:, self.j] += sign * np.where(self.positive, self.v - share, -share)
        constant += sign * np.where(self.positive, 0.0, share)
        self.share = share

    def balance(self, gain: Floats, constant: Floats) -> None:
        """Choose the best split while all others stay.

        Both labels are left with the same where that is possible: a minimum of the bound, and one
        from which the next coupling can go on.
        """
        self.give(gain, constant, self.share, -1.0)
        coupled = self.v != 0
        own, other = (np.where(coupled, gain[:, label], 0.0) for label in (self.i, self.j))
        best = np.where(self.positive, (other + self.v - own) / 2, (own + other) / 2)
        self.give(gain, constant, np.clip(best, 0.0, np.abs(self.v)))

    def loss(self) -> Floats:
        """Return the coupling minus its split, (n, 2, 2): never positive."""
        pair = np.zeros((len(self.v), 2, 2))
        pair[:, 0, 0] = np.where(self.positive, 0.0, -self.share)
        pair[:, 1, 0] = np.where(self.positive, -self.share, 0.0)
        pair[:, 0, 1] = np.where(self.positive, self.share - self.v, 0.0)
        pair[:, 1, 1] = np.where(self.positive, 0.0, self.v + self.share)
        return pair
