"""The other methods that multi-label papers compare with, with the same interface as `models`."""

from labelweave.baselines.instance_based_logistic import InstanceBasedLogistic
from labelweave.baselines.label_powerset import LabelPowerset
from labelweave.baselines.lasvm import LaSVM
from labelweave.baselines.mlknn import MLkNN
from labelweave.baselines.output_coding import MaxMarginOutputCoding
from labelweave.baselines.pairwise_crf import PairwiseCRF
from labelweave.baselines.passive_aggressive import PassiveAggressive
from labelweave.baselines.rakel import RAkEL
from labelweave.baselines.stacked_binary_relevance import StackedBinaryRelevance
from labelweave.baselines.thresholded_svm import ThresholdedSVM

__all__ = [
    "InstanceBasedLogistic",
    "LaSVM",
    "LabelPowerset",
    "MLkNN",
    "MaxMarginOutputCoding",
    "PairwiseCRF",
    "PassiveAggressive",
    "RAkEL",
    "StackedBinaryRelevance",
    "ThresholdedSVM",
]
