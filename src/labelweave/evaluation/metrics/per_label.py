"""Metrics of each label on its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import precision_recall_fscore_support

from labelweave._common.arrays import Floats
from labelweave.decision.expected import F1Statistics
from labelweave.evaluation.metrics.ranking import auc_per_column, average_precision_per_column
from labelweave.evaluation.metrics.validation import check_labels

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["f1_by_threshold", "per_label"]


def per_label(
    Y_true: ArrayLike,
    Y_pred: ArrayLike,
    scores: ArrayLike | None = None,
    *,
    label_names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Evaluate each label on its own.

    Parameters
    ----------
    Y_true, Y_pred : array-like of shape (n, L)
        True and predicted labels.
    scores : array-like of shape (n, L), optional
        Probabilities or other scores, for AUC and average precision.
    label_names : sequence of str, optional
        Names of the rows of the table; by default the label indices.

    Returns
    -------
    pandas.DataFrame
        One row per label: the numbers of rows that have the label (support) and are predicted to
        have it, precision, recall and F1 (0 where they are 0/0), and, given `scores`, the AUC (nan
        if all rows or none have the label) and average precision.

    Examples
    --------
    >>> table = per_label([[1, 0], [0, 1]], [[1, 1], [0, 1]], label_names=["sun", "rain"])
    >>> print(table.round(3))
          support  predicted  precision  recall     f1
    sun         1          1        1.0     1.0  1.000
    rain        1          2        0.5     1.0  0.667
    """
    import pandas as pd

    truth, prediction = check_labels(Y_true, "Y_true"), check_labels(Y_pred, "Y_pred")
    if truth.shape != prediction.shape:
        raise ValueError(
            f"Y_true and Y_pred must have the same shape, got {truth.shape} and {prediction.shape}"
        )
    # One label at a time: scikit-learn treats a single column as a problem with two classes.
    figures = [
        precision_recall_fscore_support(y, p, average="binary", zero_division=0.0)[:3]
        for y, p in zip(truth.T, prediction.T, strict=True)
    ]
    index = list(label_names) if label_names is not None else range(truth.shape[1])
    table = pd.DataFrame(figures, columns=["precision", "recall", "f1"], index=index)
    table.insert(0, "support", truth.sum(axis=0))
    table.insert(1, "predicted", prediction.sum(axis=0))
    if scores is not None:
        values = np.asarray(scores, dtype=np.float64)
        table["auc"] = auc_per_column(truth, values)
        table["average_precision"] = average_precision_per_column(truth, values)
    return table


def f1_by_threshold(scores: ArrayLike, Y_true: ArrayLike, grid: ArrayLike) -> Floats:
    """Return the F1 that each label has if scores above a threshold are taken as positive.

    Parameters
    ----------
    scores, Y_true : array-like of shape (n, L)
        Probabilities and true labels.
    grid : array-like of shape (G,)
        Thresholds, ascending.

    Returns
    -------
    (L, G) array
        1 where a label neither occurs nor is predicted.

    Examples
    --------
    >>> f1_by_threshold([[0.9], [0.6], [0.3]], [[1], [1], [0]], [0.2, 0.5, 0.8])
    array([[0.8       , 1.        , 0.66666667]])
    """
    truth = check_labels(Y_true, "Y_true")
    # One labelling, the true one, in place of the sampled ones that it counts.
    counts = F1Statistics(truth.shape[1], samples=1, grid=np.asarray(grid, dtype=np.float64))
    counts.update(scores, truth[None])
    return counts.expected_f1()
