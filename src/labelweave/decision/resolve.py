"""From what a user writes to a decision."""

from __future__ import annotations

from labelweave.decision.losses import Decision, HammingLoss, SubsetLoss
from labelweave.inference import Inference


def resolve_decision(decision: str | Decision, inference: Inference | None = None) -> Decision:
    """Return the decision a name stands for; a callable is returned as it is.

    Parameters
    ----------
    decision : {"subset", "hamming"} or Decision
    inference : Inference, optional
        How "subset" looks for the mode. A decision that is given as an object has settings of its
        own, and "hamming" needs no search: both leave ``inference`` unused.

    Examples
    --------
    >>> from labelweave.inference import Greedy
    >>> resolve_decision("subset", Greedy())
    SubsetLoss(inference=Greedy())
    >>> resolve_decision("hamming")
    HammingLoss()
    """
    if decision == "subset":
        return SubsetLoss(inference)
    if decision == "hamming":
        return HammingLoss()
    if isinstance(decision, (str, type)) or not callable(decision):
        raise ValueError(
            f"decision must be 'subset', 'hamming' or a callable such as SubsetLoss(); "
            f"got {decision!r}"
        )
    return decision
