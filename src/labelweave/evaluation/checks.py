"""Check what measures are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Indicators

__all__ = ["as_labels", "label_pair"]


def as_labels(values: ArrayLike, argument: str) -> Indicators:
    """Check one n×L array of zeros and ones."""
    labels = np.asarray(values)
    if labels.ndim != 2:
        raise ValueError(
            f"{argument} must be an n×L array of labels, got {labels.ndim} dimension(s); "
            "reshape one label to a column with .reshape(-1, 1)"
        )
    if labels.size == 0:
        raise ValueError(f"{argument} has no entries (shape {labels.shape}); pass a row or more")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{argument} must hold only 0 and 1")
    return labels.astype(np.int64, copy=False)


def label_pair(Y_true: ArrayLike, Y_pred: ArrayLike) -> tuple[Indicators, Indicators]:
    """Check both label arrays, and give scikit-learn two columns where there is one.

    scikit-learn takes a single column for a binary problem and averages over the *classes* 0
    and 1. No measure here changes when every label stands twice, so a single label does.
    """
    truth, prediction = as_labels(Y_true, "Y_true"), as_labels(Y_pred, "Y_pred")
    if truth.shape != prediction.shape:
        raise ValueError(
            f"Y_true and Y_pred must have one shape, got {truth.shape} and {prediction.shape}"
        )
    if truth.shape[1] == 1:
        truth, prediction = np.repeat(truth, 2, axis=1), np.repeat(prediction, 2, axis=1)
    return truth, prediction
