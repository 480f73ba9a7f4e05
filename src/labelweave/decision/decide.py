"""The table of the names that ``decision=`` accepts, and `decide`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labelweave._common.arrays import Floats, Labels
from labelweave.decision.expected import ExpectedAUC, ExpectedF, SampledF
from labelweave.decision.losses import Decision, HammingLoss, Loss, RankingLoss, SubsetLoss
from labelweave.decision.rules import (
    CardinalityThreshold,
    ClassMassNormalization,
    FixedThreshold,
    ThresholdRule,
)
from labelweave.decision.tuned import TunedThresholds
from labelweave.decision.utilities import FLoss, JaccardLoss
from labelweave.joint import JointDistribution

# Chosen on genbase, cal500, imdb, tmc2007-500 and synthetic data; values from 10 to 30 are alike.
_SMOOTHING = 30.0


def _even(probabilities: bool) -> float:
    """Return the score above which a label is likelier than not."""
    return 0.5 if probabilities else 0.0


#: Decisions row by row, by name.
_LOSSES: dict[str, Callable[[], Loss]] = {
    "subset": SubsetLoss,
    "hamming": HammingLoss,
    "f1": FLoss,
    "jaccard": JaccardLoss,
    "ranking": RankingLoss,
}
#: Rules for whole test sets by name; each is made for probabilities or for other scores.
_RULES: dict[str, Callable[[bool], ThresholdRule]] = {
    "cmn": lambda probabilities: ClassMassNormalization(fallback=_even(probabilities)),
    "lcard": lambda _: CardinalityThreshold(),
    "sample": lambda _: SampledF(),
    "expected_f": lambda _: ExpectedF(),
    "expected_auc": lambda _: ExpectedAUC(),
    "fixed": lambda probabilities: FixedThreshold(_even(probabilities)),
    "macro_f1": lambda probabilities: TunedThresholds(
        smoothing=_SMOOTHING if probabilities else 0.0
    ),
    "micro_f1": lambda _: TunedThresholds(average="micro"),
}
#: The names that `resolve_decision` accepts, and the names of row-by-row decisions among them.
DECISION_NAMES = (*_LOSSES, *_RULES)
LOSS_NAMES = tuple(_LOSSES)


@dataclass(frozen=True)
class Decided:
    """Labels that were decided for a loss, and their expected cost.

    Attributes
    ----------
    labels : (n, L) array
    risk : (n,) array
        The expected loss of each row.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> IndependentJoint([[1.0, -2.0]]).decide("subset").labels
    array([[1, 0]], dtype=int8)
    """

    labels: Labels
    risk: Floats

    @property
    def score(self) -> Floats:
        """The expected score, one minus the risk: exact match, F1, a utility, (n,).

        It may be negative if labels have costs.
        """
        return 1.0 - self.risk


def decide(joint: JointDistribution, loss: str | Decision) -> Decided:
    """Return the labels of least expected loss, and that loss."""
    names = ", ".join(map(repr, LOSS_NAMES))
    if isinstance(loss, str) and loss not in DECISION_NAMES:
        raise ValueError(f"loss must be {names} or a loss such as FLoss(beta=2); got {loss!r}")
    decision = resolve_decision(loss)
    if not hasattr(decision, "risk"):
        raise ValueError(
            f"loss {loss!r} has no expected value for a single row: use one that decides row by "
            f"row, such as {names}"
        )
    checked: Loss = decision  # type: ignore[assignment]
    if type(checked) is FLoss:  # a subclass may decide, or weigh, in its own way
        return Decided(*checked.labels_and_risk(joint))
    labels = checked(joint)
    return Decided(labels, checked.risk(joint, labels))


def resolve_decision(decision: str | Decision) -> Decision:
    """Return the decision that a name stands for; a callable is returned as it is."""
    if isinstance(decision, str) and decision in _LOSSES:
        return _LOSSES[decision]()
    if isinstance(decision, str) and decision in _RULES:
        return _RULES[decision](True)
    if isinstance(decision, (str, type)) or not callable(decision):
        names = ", ".join(map(repr, DECISION_NAMES))
        raise ValueError(
            f"decision must be {names} or a callable such as SubsetLoss(); got {decision!r}"
        )
    return decision


def resolve_score_rule(decision: str | ThresholdRule) -> ThresholdRule:
    """Return the threshold rule of a name for scores, where 0 replaces the probability ½."""
    rule = decision
    if isinstance(decision, str) and decision in _RULES:
        rule = _RULES[decision](False)
    if isinstance(rule, ThresholdRule) and "probabilities" in rule.needs:
        raise ValueError(
            f"decision {type(rule).__name__} needs probabilities, but the model has only scores: "
            "choose 'macro_f1', 'micro_f1', 'cmn', 'lcard' or 'fixed'"
        )
    if not isinstance(rule, ThresholdRule):
        raise ValueError(
            "decision must be 'macro_f1', 'micro_f1', 'cmn', 'lcard', 'fixed' or a rule such as "
            f"TunedThresholds(); got {decision!r}"
        )
    return rule
