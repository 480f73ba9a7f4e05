"""Beam search: a few prefixes side by side."""

from __future__ import annotations

from dataclasses import dataclass

from labelweave._common.checks import check_whole_number
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.capabilities import BranchesAndBounds, SearchesBeam


@dataclass(frozen=True)
class Beam:
    """The best vector found when the most probable prefixes survive each label of a chain.

    A width of one is greedy inference. Every vector that is missed was dropped at some label; the
    best of what was dropped bounds the mode, so wide beams often come with a proof. Time grows in
    proportion to the width and, unlike that of `BestFirst`, does not depend on how hard a row is.

    In a field of pairwise couplings those partial vectors survive that have the highest bounds.
    All other forms get the mode that `Auto` finds.

    Parameters
    ----------
    width : int, default=16
        Prefixes that survive each label; each takes 8 bytes per label in every thread.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> Beam(width=1)(joint).labels, Beam(width=2)(joint).labels
    (array([[1, 0]], dtype=int8), array([[0, 0]], dtype=int8))
    """

    width: int = 16

    def __post_init__(self) -> None:
        check_whole_number(self.width, "width", 1, 2**20)

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best survivors, with the bound that follows from what was dropped."""
        if isinstance(joint, SearchesBeam):
            return joint.beam(int(self.width))
        if isinstance(joint, BranchesAndBounds):
            return joint.branch_and_bound(int(self.width))
        return joint.mode()
