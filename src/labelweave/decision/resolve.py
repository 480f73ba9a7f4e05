"""From what a user writes to a decision."""

from __future__ import annotations

from labelweave.decision.expected_auc import ExpectedAUC
from labelweave.decision.expected_f import ExpectedF
from labelweave.decision.labelling import Fixed, Labelling
from labelweave.decision.losses import Decision, HammingLoss, SubsetLoss
from labelweave.decision.sampled_f import SampledF
from labelweave.decision.thresholds import CardinalityMatching, TunedThresholds
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


_LABELLINGS: dict[str, type[Labelling]] = {
    "cmn": CardinalityMatching,
    "sample": SampledF,
    "expected_f": ExpectedF,
    "expected_auc": ExpectedAUC,
    "fixed": Fixed,
    "scut": TunedThresholds,
}


def resolve_labelling(labelling: str | Labelling) -> Labelling:
    """Return the rule a name stands for; a rule is returned as it is.

    Parameters
    ----------
    labelling : {"cmn", "sample", "expected_f", "expected_auc", "fixed", "scut"} or Labelling
        `CardinalityMatching`, `SampledF`, `ExpectedF`, `ExpectedAUC`, `Fixed` at one half,
        `TunedThresholds`.

    Examples
    --------
    >>> resolve_labelling("fixed")
    Fixed(threshold=0.5)
    """
    if isinstance(labelling, Labelling):
        return labelling
    if isinstance(labelling, str) and labelling in _LABELLINGS:
        return _LABELLINGS[labelling]()
    names = ", ".join(map(repr, _LABELLINGS))
    raise ValueError(
        f"labelling must be one of {names} or a rule such as CardinalityMatching(); "
        f"got {labelling!r}"
    )
