"""Exact inference by looking at all label vectors."""

from __future__ import annotations

from dataclasses import dataclass

from labelweave.inference.result import Mode
from labelweave.joint import JointDistribution


@dataclass(frozen=True)
class Exhaustive:
    """The mode, proven by looking at every label vector that could be it.

    Chains with linear conditionals skip the branches that an upper bound rules out.

    Parameters
    ----------
    max_labels : int, default 20
        Most unknown labels a row may have; every label more doubles the work of the worst case.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> mode = Exhaustive()(joint)
    >>> mode.labels, mode.optimal
    (array([[0, 0]], dtype=int8), array([ True]))
    """

    max_labels: int = 20

    def check_labels(self, n_labels: int) -> None:
        """Refuse distributions of more labels than ``max_labels`` before one is made.

        Examples
        --------
        >>> Exhaustive(max_labels=20).check_labels(45)
        Traceback (most recent call last):
        ...
        ValueError: inference=Exhaustive(max_labels=20) cannot decide 45 labels: use ...
        """
        if n_labels > self.max_labels:
            raise ValueError(
                f"inference={self!r} cannot decide {n_labels} labels: use inference='auto' "
                "(method auto on the command line), or a larger max_labels"
            )

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the modes; ValueError if a row has more unknown labels than ``max_labels``."""
        return joint._exhaustive_mode(self.max_labels)
