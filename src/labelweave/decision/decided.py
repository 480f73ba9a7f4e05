"""Decide for a loss, with what the decision is expected to score."""

from __future__ import annotations

from dataclasses import dataclass

from labelweave._common.arrays import Floats, Labels
from labelweave.decision.f_measure import FLoss
from labelweave.decision.losses import Decision, Loss
from labelweave.decision.registry import DECISION_NAMES, LOSS_NAMES, resolve_decision
from labelweave.joint import JointDistribution


@dataclass(frozen=True)
class Decided:
    """Labels that were decided for a loss, and what they are expected to cost.

    Attributes
    ----------
    labels : (n, L) array
    risk : (n,) array
        The expected loss of each row.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> decided = IndependentJoint(np.log([[3.0, 1 / 3]])).decide("subset")
    >>> decided.labels, decided.score
    (array([[1, 0]], dtype=int8), array([0.5625]))
    """

    labels: Labels
    risk: Floats

    @property
    def score(self) -> Floats:
        """The expected score, one minus the risk: exact match, F1, a utility, (n,).

        Where labels have costs of their own it may be negative.
        """
        return 1.0 - self.risk


def decide(joint: JointDistribution, loss: str | Decision) -> Decided:
    """Return the labels of least expected loss, and that loss.

    Parameters
    ----------
    joint : JointDistribution
    loss : str or Loss
        A name such as "f1", or a loss such as ``FLoss(beta=2)``, ``PrecisionAtK(3)`` or
        ``PartialAbstention(price=0.2)``.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[0.45 / 0.55, 0.3 / 0.7]]))
    >>> decide(joint, "hamming").labels, decide(joint, "f1").labels
    (array([[0, 0]], dtype=int8), array([[1, 1]], dtype=int8))
    """
    if isinstance(loss, str) and loss not in DECISION_NAMES:
        names = ", ".join(map(repr, LOSS_NAMES))
        raise ValueError(f"loss must be {names} or a loss such as FLoss(beta=2); got {loss!r}")
    decision = resolve_decision(loss)
    if not hasattr(decision, "risk"):
        raise ValueError(
            f"loss {loss!r} has no expected value for a single row: use one that decides row by "
            "row, such as 'subset', 'hamming', 'f1' or 'jaccard'"
        )
    checked: Loss = decision  # type: ignore[assignment]
    if type(checked) is FLoss:  # a subclass may decide, or weigh, in its own way
        return Decided(*checked.labels_and_risk(joint))
    labels = checked(joint)
    return Decided(labels, checked.risk(joint, labels))
