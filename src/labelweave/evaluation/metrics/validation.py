"""Validate the arguments of metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indicators
from labelweave.decision.probabilities import Probabilities, check_scores

__all__ = ["check_label_pair", "check_labels", "check_scored", "check_weight"]


def check_labels(values: ArrayLike, argument: str) -> Indicators:
    """Validate an n×L array of zeros and ones."""
    labels = np.asarray(values)
    if labels.ndim != 2:
        raise ValueError(
            f"{argument} must be an n×L array of labels, got {labels.ndim} dimension(s); "
            "reshape a single label to a column with .reshape(-1, 1)"
        )
    if labels.size == 0:
        raise ValueError(f"{argument} is empty (shape {labels.shape}); pass at least one row")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{argument} must contain only 0 and 1")
    return labels.astype(np.int64, copy=False)


def check_label_pair(Y_true: ArrayLike, Y_pred: ArrayLike) -> tuple[Indicators, Indicators]:
    """Validate true and predicted labels; duplicate the column of a single label.

    scikit-learn treats a single column as a binary problem and averages over the *classes* 0
    and 1. No metric here changes when every label is duplicated, so a single label is.
    """
    truth, prediction = check_labels(Y_true, "Y_true"), check_labels(Y_pred, "Y_pred")
    if truth.shape != prediction.shape:
        raise ValueError(
            f"Y_true and Y_pred must have the same shape, got {truth.shape} and {prediction.shape}"
        )
    if truth.shape[1] == 1:
        truth, prediction = np.repeat(truth, 2, axis=1), np.repeat(prediction, 2, axis=1)
    return truth, prediction


def check_scored(Y_true: ArrayLike, scores: ArrayLike) -> tuple[Indicators, Floats]:
    """Return labels and scores as arrays of the same shape; raise ValueError unless they are.

    `Probabilities` are ranked by their log-odds, which are returned.
    """
    truth = check_labels(Y_true, "Y_true")
    ranked = check_scores(scores) if isinstance(scores, Probabilities) else scores
    values = np.asarray(ranked, dtype=np.float64)
    if values.shape != truth.shape:
        raise ValueError(
            f"scores must have the shape of Y_true, got {values.shape} and {truth.shape}"
        )
    if np.isnan(values).any():
        raise ValueError("scores must not contain NaN")
    return truth, values


def check_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats | None:
    """Return the weights of rows, if there are any; ValueError unless they are one per row.

    Examples
    --------
    >>> check_weight([1, 2], 3)
    Traceback (most recent call last):
    ...
    ValueError: sample_weight must have one number for each of the 3 rows; its shape is (2,)
    """
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_rows} rows; its shape is "
            f"{weight.shape}"
        )
    if not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise ValueError("sample_weight must not be negative, nor zero for every row")
    return weight
