"""From what a user writes as ``decision=`` to a decision: one registry of names."""

from __future__ import annotations

from collections.abc import Callable

from labelweave.decision.cardinality_threshold import CardinalityThreshold
from labelweave.decision.class_mass_normalization import ClassMassNormalization
from labelweave.decision.expected_auc import ExpectedAUC
from labelweave.decision.expected_f import ExpectedF
from labelweave.decision.f_measure import FLoss
from labelweave.decision.losses import Decision, HammingLoss, SubsetLoss
from labelweave.decision.micro_f1_threshold import MicroF1Threshold
from labelweave.decision.minimum_bayes_risk import JaccardLoss
from labelweave.decision.ranking import RankingLoss
from labelweave.decision.sampled_f import SampledF
from labelweave.decision.threshold_rule import FixedThreshold, ThresholdRule
from labelweave.decision.tuned_thresholds import TunedThresholds

#: Losses by name.
_LOSSES: dict[str, Callable[[], Decision]] = {
    "subset": SubsetLoss,
    "hamming": HammingLoss,
    "f1": FLoss,
    "jaccard": JaccardLoss,
    "ranking": RankingLoss,
}
# Chosen on genbase, cal500, imdb, tmc2007-500 and synthetic data; 10 to 30 are alike.
_SMOOTHING = 30.0


def _even(probabilities: bool) -> float:
    """Return the score above which a label is likelier than not."""
    return 0.5 if probabilities else 0.0


def _macro_f1(probabilities: bool) -> TunedThresholds:
    return TunedThresholds(smoothing=_SMOOTHING if probabilities else 0.0)


#: Rules for whole test sets by name, each made for scores that are probabilities or are not.
_THRESHOLD_RULES: dict[str, Callable[[bool], ThresholdRule]] = {
    "cmn": lambda probabilities: ClassMassNormalization(fallback=_even(probabilities)),
    "lcard": lambda _: CardinalityThreshold(),
    "sample": lambda _: SampledF(),
    "expected_f": lambda _: ExpectedF(),
    "expected_auc": lambda _: ExpectedAUC(),
    "fixed": lambda probabilities: FixedThreshold(_even(probabilities)),
    "macro_f1": _macro_f1,
    "micro_f1": lambda _: MicroF1Threshold(),
    "scut": _macro_f1,
}
#: The names that `resolve_decision` knows.
DECISION_NAMES = (*_LOSSES, *_THRESHOLD_RULES)
#: Those of them that decide row by row.
LOSS_NAMES = tuple(_LOSSES)


def resolve_decision(decision: str | Decision) -> Decision:
    """Return the decision that a name stands for; a callable is returned as it is.

    Parameters
    ----------
    decision : str or Decision
        "subset" (`SubsetLoss`), "hamming" (`HammingLoss`), "f1" (`FLoss`), "jaccard"
        (`JaccardLoss`) and "ranking" (`RankingLoss`) decide row by row. The rules for whole test
        sets are "cmn" (`ClassMassNormalization`), "lcard" (`CardinalityThreshold`), "sample"
        (`SampledF`), "expected_f" (`ExpectedF`), "expected_auc" (`ExpectedAUC`), "fixed"
        (`FixedThreshold` at one half), and two that estimators tune on rows which `fit` holds out:
        "micro_f1" (`MicroF1Threshold`) and "macro_f1" (`TunedThresholds`, also called "scut").

    Examples
    --------
    >>> resolve_decision("subset")
    SubsetLoss(inference=None)
    >>> resolve_decision("fixed")
    FixedThreshold(threshold=0.5)
    """
    if isinstance(decision, str) and decision in _LOSSES:
        return _LOSSES[decision]()
    if isinstance(decision, str) and decision in _THRESHOLD_RULES:
        return _THRESHOLD_RULES[decision](True)
    if isinstance(decision, (str, type)) or not callable(decision):
        names = ", ".join(map(repr, DECISION_NAMES))
        raise ValueError(
            f"decision must be {names} or a callable such as SubsetLoss(); got {decision!r}"
        )
    return decision


def resolve_score_rule(decision: str | ThresholdRule) -> ThresholdRule:
    """Return the threshold rule that a name stands for, for scores that are not probabilities.

    Parameters
    ----------
    decision : {"scut", "macro_f1", "micro_f1", "cmn", "lcard", "fixed"} or ThresholdRule
        As in `resolve_decision`, except that 0 takes the place of one half. Rules that maximise an
        expectation are refused.

    Examples
    --------
    >>> resolve_score_rule("fixed")
    FixedThreshold(threshold=0.0)
    """
    rule = decision
    if isinstance(decision, str) and decision in _THRESHOLD_RULES:
        rule = _THRESHOLD_RULES[decision](False)
    if isinstance(rule, ThresholdRule) and rule.needs_probabilities:
        raise ValueError(
            f"decision {type(rule).__name__} needs probabilities, but there are only scores: "
            "choose 'scut', 'micro_f1', 'cmn', 'lcard' or 'fixed'"
        )
    if not isinstance(rule, ThresholdRule):
        raise ValueError(
            "decision must be 'scut', 'micro_f1', 'cmn', 'lcard', 'fixed' or a rule such as "
            f"TunedThresholds(); got {decision!r}"
        )
    return rule
