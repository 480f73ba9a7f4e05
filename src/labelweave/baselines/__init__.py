"""The other systems that multi-label papers compare with, under the same promises as `models`."""

from labelweave.baselines.instance_based_logistic import InstanceBasedLogistic
from labelweave.baselines.mlknn import MLkNN
from labelweave.baselines.stacked_relevance import StackedRelevance

__all__ = ["InstanceBasedLogistic", "MLkNN", "StackedRelevance"]
