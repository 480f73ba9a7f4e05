"""The other systems that multi-label papers compare with, under the same promises as `models`."""

from labelweave.baselines.lasvm import LaSVM
from labelweave.baselines.passive_aggressive import PassiveAggressive
from labelweave.baselines.thresholded_svm import ThresholdedSVM

__all__ = ["LaSVM", "PassiveAggressive", "ThresholdedSVM"]
