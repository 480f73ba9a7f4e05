"""The mode, if it is probable enough."""

from __future__ import annotations

import math
from dataclasses import dataclass

from labelweave._common.checks import check_number
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.capabilities import SearchesBestFirst
from labelweave.joint.mode import SearchLimits


@dataclass(frozen=True)
class EpsilonApproximate:
    """The mode of a chain if its probability is at least epsilon, else about the greedy vector.

    The ε-approximate inference of Dembczyński, Waegeman and Hüllermeier (2012): only prefixes of
    probability epsilon or more are followed. There are at most 1/ε of them at each label, so the
    work is bounded whatever the row. With linear conditionals the upper bound of `BestFirst` leaves
    out most of them. Where nothing survives the result is the greedy vector, or a better one that
    turned up on the way, and ε itself bounds the mode.

    All other forms get the mode that `Auto` finds.

    Parameters
    ----------
    epsilon : float, default=0.01
        In (0, 1]; from 0.5 on the result is the greedy vector wherever that is not the mode.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> joint.mode().log_prob.round(3)
    array([-0.805])
    >>> EpsilonApproximate(0.4)(joint).labels, EpsilonApproximate(0.5)(joint).labels
    (array([[0, 0]], dtype=int8), array([[1, 0]], dtype=int8))
    """

    epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_number(self.epsilon, "epsilon", above=0.0, maximum=1.0)

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the modes of rows where one reaches epsilon, greedy vectors elsewhere."""
        if not isinstance(joint, SearchesBestFirst):
            return joint.mode()
        # "At least" includes a mode of exactly that probability, hence the last bits off.
        floor = math.log(self.epsilon) - 1e-12
        found = joint.best_first(SearchLimits(budget=2**63, floor=floor))
        return Mode(found.labels, found.log_prob, found.upper_bound)
