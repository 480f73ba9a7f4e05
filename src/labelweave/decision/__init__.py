"""Decisions: the label vector to predict, given a joint distribution and a loss.

Losses decide row by row; a `ThresholdRule` decides for a whole test set.
"""

from labelweave.decision.abstention import PartialAbstention
from labelweave.decision.cardinality_threshold import CardinalityThreshold
from labelweave.decision.class_mass_normalization import ClassMassNormalization
from labelweave.decision.decided import Decided, decide
from labelweave.decision.expected_auc import ExpectedAUC, expected_auc
from labelweave.decision.expected_f import ExpectedF, expected_f1
from labelweave.decision.f_measure import FLoss
from labelweave.decision.held_out import LabelledScores
from labelweave.decision.losses import Decision, HammingLoss, Loss, SubsetLoss
from labelweave.decision.majority_vote import MajorityVote
from labelweave.decision.micro_f1_threshold import MicroF1Threshold, tune_common_threshold
from labelweave.decision.minimum_bayes_risk import JaccardLoss, MinimumBayesRisk
from labelweave.decision.probabilities import Probabilities
from labelweave.decision.proof import UnprovenModeWarning
from labelweave.decision.ranking import RankingLoss
from labelweave.decision.registry import DECISION_NAMES, resolve_decision, resolve_score_rule
from labelweave.decision.sampled_f import F1Statistics, SampledF
from labelweave.decision.sets import VectorSets, vector_sets
from labelweave.decision.threshold_rule import (
    Evidence,
    FixedThreshold,
    ThresholdRule,
    ThresholdSurvey,
    apply_thresholds,
)
from labelweave.decision.top_k import NDCGAtK, PrecisionAtK, RecallAtK
from labelweave.decision.tuned_thresholds import TunedThresholds, tune_thresholds

__all__ = [
    "DECISION_NAMES",
    "CardinalityThreshold",
    "ClassMassNormalization",
    "Decided",
    "Decision",
    "Evidence",
    "ExpectedAUC",
    "ExpectedF",
    "F1Statistics",
    "FLoss",
    "FixedThreshold",
    "HammingLoss",
    "JaccardLoss",
    "LabelledScores",
    "Loss",
    "MajorityVote",
    "MicroF1Threshold",
    "MinimumBayesRisk",
    "NDCGAtK",
    "PartialAbstention",
    "PrecisionAtK",
    "Probabilities",
    "RankingLoss",
    "RecallAtK",
    "SampledF",
    "SubsetLoss",
    "ThresholdRule",
    "ThresholdSurvey",
    "TunedThresholds",
    "UnprovenModeWarning",
    "VectorSets",
    "apply_thresholds",
    "decide",
    "expected_auc",
    "expected_f1",
    "resolve_decision",
    "resolve_score_rule",
    "tune_common_threshold",
    "tune_thresholds",
    "vector_sets",
]
