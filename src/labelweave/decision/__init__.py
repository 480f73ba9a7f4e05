"""Decisions: the label vector to output, given a joint distribution and a loss.

Losses decide row by row; a `Labelling` decides for a whole test set.
"""

from labelweave.decision.expected_auc import ExpectedAUC, expected_auc
from labelweave.decision.expected_f import ExpectedF, expected_f1
from labelweave.decision.labelling import Fixed, Labelling, apply_thresholds
from labelweave.decision.losses import Decision, HammingLoss, Loss, SubsetLoss
from labelweave.decision.proof import UnprovenModeWarning
from labelweave.decision.resolve import resolve_decision, resolve_labelling
from labelweave.decision.sampled_f import F1Statistics, SampledF
from labelweave.decision.thresholds import CardinalityMatching, TunedThresholds, tune_thresholds
from labelweave.decision.vote import Vote

__all__ = [
    "CardinalityMatching",
    "Decision",
    "ExpectedAUC",
    "ExpectedF",
    "F1Statistics",
    "Fixed",
    "HammingLoss",
    "Labelling",
    "Loss",
    "SampledF",
    "SubsetLoss",
    "TunedThresholds",
    "UnprovenModeWarning",
    "Vote",
    "apply_thresholds",
    "expected_auc",
    "expected_f1",
    "resolve_decision",
    "resolve_labelling",
    "tune_thresholds",
]
