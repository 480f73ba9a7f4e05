"""Thresholds that rules tune on held-out rows, as plain functions."""

from labelweave.decision import TunedThresholds


def tune_thresholds(scores, labels, *, sample_weight=None, **options):
    """Return the threshold of each label with the best F1."""
    return TunedThresholds(**options).informed([], (scores, labels, sample_weight)).values


def tune_common_threshold(scores, labels, sample_weight=None):
    """Return the threshold of all labels with the best micro F1."""
    return tune_thresholds(scores, labels, sample_weight=sample_weight, average="micro")
