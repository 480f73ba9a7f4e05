"""Partial abstention: labels of which a model is not sure enough stay open."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_number
from labelweave.decision.losses import HammingLoss
from labelweave.joint import JointDistribution

#: The value of a label that stays open.
OPEN = -1


@dataclass(frozen=True)
class PartialAbstention:
    """Leave a label open, -1, where deciding it would cost more on average than its price.

    Parameters
    ----------
    price : float
        What an open label costs, from 0, where all that is not certain stays open; a wrong one
        costs 1 unless `loss` says otherwise, and then nothing stays open from a price of one half.
    loss : HammingLoss, optional
        What wrong labels cost.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[19.0, 3.0, 1 / 9]]))  # probabilities .95, .75 and .1
    >>> PartialAbstention(price=0.2)(joint)
    array([[ 1, -1,  0]], dtype=int8)
    >>> PartialAbstention(price=0.2).risk(joint, [[1, -1, 0]]).round(4)
    array([0.1167])
    """

    price: float
    loss: HammingLoss = field(default_factory=HammingLoss)

    def __post_init__(self) -> None:
        check_number(self.price, "price", minimum=0)

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return 0, 1 or -1 (open) for each label."""
        labels = self.loss(joint)
        return np.where(self.loss.costs(joint, labels) > self.price, OPEN, labels).astype(np.int8)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected cost per label, open ones at their price, (n,)."""
        chosen = np.asarray(labels)
        is_open = chosen == OPEN
        costs = self.loss.costs(joint, np.where(is_open, 0, chosen))
        return np.asarray(np.where(is_open, self.price, costs).mean(axis=1))
