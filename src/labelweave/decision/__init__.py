"""Decisions: the label vector to predict, given a joint distribution and a loss.

Losses decide row by row; a threshold rule decides for a whole test set.
"""

from labelweave.decision.decide import Decided
from labelweave.decision.expected import ExpectedAUC, ExpectedF, SampledF
from labelweave.decision.losses import (
    HammingLoss,
    NDCGAtK,
    PartialAbstention,
    PrecisionAtK,
    RankingLoss,
    RecallAtK,
    SubsetLoss,
    UnprovenModeWarning,
)
from labelweave.decision.rules import (
    CardinalityThreshold,
    ClassMassNormalization,
    FixedThreshold,
    MajorityVote,
)
from labelweave.decision.sets import VectorSets
from labelweave.decision.tuned import TunedThresholds
from labelweave.decision.utilities import FLoss, JaccardLoss, MinimumBayesRisk

__all__ = [
    "CardinalityThreshold",
    "ClassMassNormalization",
    "Decided",
    "ExpectedAUC",
    "ExpectedF",
    "FLoss",
    "FixedThreshold",
    "HammingLoss",
    "JaccardLoss",
    "MajorityVote",
    "MinimumBayesRisk",
    "NDCGAtK",
    "PartialAbstention",
    "PrecisionAtK",
    "RankingLoss",
    "RecallAtK",
    "SampledF",
    "SubsetLoss",
    "TunedThresholds",
    "UnprovenModeWarning",
    "VectorSets",
]
