"""Losses, and the label vectors that minimise them in expectation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_labels
from labelweave.decision.proof import warn_unless_proven
from labelweave.inference import Inference
from labelweave.joint import JointDistribution


class Decision(Protocol):
    """A callable that turns joint distributions into one label vector a row, (n, L) int8.

    Examples
    --------
    >>> from labelweave.decision import Decision, HammingLoss
    >>> decide: Decision = HammingLoss()
    """

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels to output."""
        ...


class Loss(Decision, Protocol):
    """A loss: called, it decides; `risk` is what a decision costs on average.

    Examples
    --------
    >>> from labelweave.decision import Loss, SubsetLoss
    >>> loss: Loss = SubsetLoss()
    """

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected loss of ``labels`` in each row, (n,)."""
        ...


@dataclass(frozen=True)
class SubsetLoss:
    """One unless the whole label vector is right; minimised by the mode.

    Parameters
    ----------
    inference : Inference, optional
        How to look for the mode; by default the exact algorithm of the joint's form.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import TableJoint
    >>> joint = TableJoint(np.log([[0.4, 0.3, 0.001, 0.299]]))
    >>> SubsetLoss()(joint)
    array([[0, 0]], dtype=int8)
    >>> SubsetLoss().risk(joint, [[0, 0]])
    array([0.6])
    """

    inference: Inference | None = None

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the most probable label vectors; warns if a proof was sought and not found."""
        mode = joint.mode(self.inference)
        if self.inference is None or getattr(self.inference, "seeks_proof", False):
            warn_unless_proven(mode)
        return mode.labels

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the probability that ``labels`` is not the whole truth, (n,)."""
        return np.asarray(-np.expm1(joint.log_prob(labels)))


@dataclass(frozen=True)
class HammingLoss:
    """The share of labels that are wrong; minimised label by label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import TableJoint
    >>> joint = TableJoint(np.log([[0.4, 0.3, 0.001, 0.299]]))
    >>> HammingLoss()(joint)
    array([[1, 0]], dtype=int8)
    >>> HammingLoss().risk(joint, [[1, 0]]).round(4)
    array([0.3505])
    """

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels whose marginal is above one half."""
        return (joint.marginals() > 0.5).astype(np.int8)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected share of wrong labels, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        marginals = joint.marginals()
        wrong = np.where(chosen == 1, 1 - marginals, marginals)
        return np.asarray(wrong.mean(axis=1))
