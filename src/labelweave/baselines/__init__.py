"""The other systems that multi-label papers compare with, under the same promises as `models`."""

from labelweave.baselines.pairwise_crf import PairwiseCRF

__all__ = ["PairwiseCRF"]
