"""Let the library choose how to look for the mode."""

from __future__ import annotations

from dataclasses import dataclass

from labelweave.inference.exhaustive import Exhaustive
from labelweave.inference.greedy import Greedy
from labelweave.inference.result import Mode
from labelweave.joint import JointDistribution


@dataclass(frozen=True)
class Auto:
    """Exact where that is cheap, greedy beyond.

    Parameters
    ----------
    max_labels : int, default=20
        Up to so many labels the search is exhaustive, and every row is certified optimal. Beyond,
        it is greedy and the mode's ``gap`` says how far from optimal each row may be.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> Auto()(IndependentJoint(np.array([[1.0, -2.0]]))).labels
    array([[1, 0]], dtype=int8)
    """

    max_labels: int = 20

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the mode, with its bound."""
        if joint.n_labels <= self.max_labels:
            return Exhaustive(self.max_labels)(joint)
        return Greedy()(joint)
