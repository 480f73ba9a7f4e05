"""Exact inference at any cost: by a search without a budget, or by enumeration."""

from __future__ import annotations

from dataclasses import dataclass

from labelweave.joint import JointDistribution, Mode


@dataclass(frozen=True)
class Exhaustive:
    """The mode, proven by looking at every label vector that could be it.

    For chains with linear conditionals it is `BestFirst` without a budget: branches that an upper
    bound rules out are skipped, and few vectors are left to look at. ``prune=False`` enumerates all
    2^L vectors, as exact inference for classifier chains was published; other forms are enumerated
    in any case.

    Parameters
    ----------
    max_labels : int, default=20
        Most unknown labels a row may have; every label more doubles the work of the worst case.
        Enumeration holds a row's 2^L probabilities in memory, 32 MB for 22 labels.
    prune : bool, default=True
        Whether chains skip what an upper bound rules out.

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
    prune: bool = True

    def check_labels(self, n_labels: int) -> None:
        """Refuse distributions of more labels than ``max_labels`` before one is made.

        Examples
        --------
        >>> Exhaustive(max_labels=20).check_labels(45)
        Traceback (most recent call last):
        ...
        ValueError: inference=Exhaustive(max_labels=20, prune=True) cannot decide 45 labels: use ...
        """
        if n_labels > self.max_labels:
            raise ValueError(
                f"inference={self!r} cannot decide {n_labels} labels: use inference='auto' "
                "(method auto on the command line), or a larger max_labels"
            )

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the modes; ValueError if a row has more unknown labels than ``max_labels``."""
        return joint.exhaustive_mode(self.max_labels, prune=self.prune)
