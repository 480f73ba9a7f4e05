"""One line per label: where a model is good, and where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import precision_recall_fscore_support

from labelweave.evaluation.checks import as_labels
from labelweave.evaluation.ranking import auc_of_columns, average_precision_of_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["per_label"]


def per_label(
    Y_true: ArrayLike,
    Y_pred: ArrayLike,
    scores: ArrayLike | None = None,
    *,
    label_names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Measure every label on its own.

    Parameters
    ----------
    Y_true, Y_pred : array-like of shape (n, L)
        True and predicted labels.
    scores : array-like of shape (n, L), optional
        Probabilities or other scores, for AUC and average precision.
    label_names : sequence of str, optional
        What the rows of the table are called; by default the labels' numbers.

    Returns
    -------
    pandas.DataFrame
        One row per label: how many rows carry it and how many were predicted to, precision, recall
        and F1 (0 where they are 0/0), and with `scores` the AUC (nan where all or no rows carry the
        label) and average precision.

    Examples
    --------
    >>> table = per_label([[1, 0], [0, 1]], [[1, 1], [0, 1]], label_names=["sun", "rain"])
    >>> print(table.round(3))
          support  predicted  precision  recall     f1
    sun         1          1        1.0     1.0  1.000
    rain        1          2        0.5     1.0  0.667
    """
    import pandas as pd

    truth, prediction = as_labels(Y_true, "Y_true"), as_labels(Y_pred, "Y_pred")
    if truth.shape != prediction.shape:
        raise ValueError(
            f"Y_true and Y_pred must have one shape, got {truth.shape} and {prediction.shape}"
        )
    # One label at a time: scikit-learn reads a single column as a problem of two classes.
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
        table["auc"] = auc_of_columns(truth, values)
        table["average_precision"] = average_precision_of_columns(truth, values)
    return table
