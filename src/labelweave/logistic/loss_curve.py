"""Held-out losses along one penalty: following them downhill, and choosing from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from labelweave._common.arrays import Floats, Mask


class Axis(NamedTuple):
    """A penalty from strong to weak, as powers of ten: the length of a step, and the range."""

    step: float
    low: float
    high: float


class LossCurve(NamedTuple):
    """Losses along one penalty, from strong to weak.

    Attributes
    ----------
    powers : (S,) array
        The penalties, as powers of ten.
    losses : (F, S) array
        Held-out loss of every fold.
    """

    powers: Floats
    losses: Floats

    @classmethod
    def follow(cls, axis: Axis, centre: float, losses: Callable[[Floats], Floats]) -> LossCurve:
        """Take steps downhill from `centre` until the best point lies between two worse ones.

        Examples
        --------
        >>> curve = LossCurve.follow(Axis(1.0, -9.0, 9.0), 0.0, lambda at: (at[None] - 2.2) ** 2)
        >>> curve.powers
        array([-1.,  0.,  1.,  2.,  3.])
        >>> fine = curve.refined(parts=4)
        >>> float(fine.powers[fine.best()])
        2.25
        """
        powers = centre + axis.step * np.arange(-1.0, 2.0)
        powers = powers[(axis.low <= powers) & (powers <= axis.high)]
        curve = cls(powers, losses(powers))
        while True:
            best = curve.best()
            down, up = best == 0, best == len(curve.powers) - 1
            further = curve.powers[[best]] + (axis.step if up else -axis.step)
            if not (down or up) or not axis.low <= further[0] <= axis.high:
                return curve
            added = cls(further, losses(further))
            curve = curve.joined(added) if up else added.joined(curve)

    def best(self) -> int:
        """Return the place of the smallest loss, summed over folds."""
        return int(self.losses.sum(axis=0).argmin())

    def strongest_good(self, n_folds: int) -> int:
        """Return the first place whose loss is within one standard error of the best."""
        difference = self.losses - self.losses[:, [self.best()]]
        # Repeats on the same rows are not independent: they do not shrink the error of the mean.
        error: Floats = difference.std(axis=0, ddof=1) / np.sqrt(n_folds)
        good: Mask = difference.mean(axis=0) <= error
        return int(np.argmax(good))

    def refined(self, parts: int) -> LossCurve:
        """Divide the steps next to the best point, by the parabola through these three."""
        best = self.best()
        if not 0 < best < len(self.powers) - 1:
            return self
        before, centre, after = self.losses[:, best - 1 : best + 2].T[:, :, None]
        at = np.arange(-parts, parts + 1) / parts
        near = centre + at * (after - before) / 2 + at**2 * (before - 2 * centre + after) / 2
        powers = self.powers[best] + at * (self.powers[best + 1] - self.powers[best])
        left, right = slice(0, best - 1), slice(best + 2, None)
        middle = LossCurve(self.powers[left], self.losses[:, left]).joined(LossCurve(powers, near))
        return middle.joined(LossCurve(self.powers[right], self.losses[:, right]))

    def joined(self, weaker: LossCurve) -> LossCurve:
        """Return this curve and the points of weaker penalties after it."""
        return LossCurve(
            np.concatenate([self.powers, weaker.powers]),
            np.concatenate([self.losses, weaker.losses], axis=1),
        )
