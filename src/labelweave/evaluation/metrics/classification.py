"""Metrics of predicted label vectors: exact match, Hamming loss, precision, recall, F1, Jaccard.

Ratios of 0/0 follow two conventions. A *row* without labels that is predicted empty is correct, so
example F1 and Jaccard count it as 1. A *label* that neither occurs nor is predicted shows nothing,
so macro F1 counts it as 0, as scikit-learn does (``zero_division=0``); otherwise predicting nothing
would score well whenever most labels are rare. The titles of the metrics state the convention.
"""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    jaccard_score,
    precision_score,
    recall_score,
)
from sklearn.metrics import hamming_loss as sklearn_hamming_loss

from labelweave.evaluation.metrics.validation import check_label_pair

__all__ = [
    "exact_match",
    "f1_example",
    "f1_macro",
    "f1_macro_zero_division_1",
    "f1_micro",
    "hamming_loss",
    "jaccard",
    "precision_macro",
    "precision_micro",
    "recall_macro",
    "recall_micro",
    "subset_loss",
]


def exact_match(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of rows whose whole label vector is correct (subset accuracy).

    Examples
    --------
    >>> exact_match([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.5
    """
    return float(accuracy_score(*check_label_pair(Y_true, Y_pred)))


def subset_loss(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of rows with at least one wrong label (subset 0/1 loss): 1 − exact match.

    Examples
    --------
    >>> subset_loss([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.5
    """
    return 1.0 - exact_match(Y_true, Y_pred)


def hamming_loss(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of the n·L individual labels that are wrong.

    Examples
    --------
    >>> hamming_loss([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.25
    """
    return float(sklearn_hamming_loss(*check_label_pair(Y_true, Y_pred)))


def f1_micro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 over all rows and labels pooled.

    Examples
    --------
    >>> f1_micro([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.8
    """
    return float(f1_score(*check_label_pair(Y_true, Y_pred), average="micro", zero_division=1.0))


def f1_macro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 per label, averaged; a label that neither occurs nor is predicted counts as 0.

    Examples
    --------
    >>> round(f1_macro([[1, 0], [0, 1]], [[1, 0], [1, 1]]), 4)
    0.8333
    >>> f1_macro([[1, 0]], [[1, 0]])
    0.5
    """
    return float(f1_score(*check_label_pair(Y_true, Y_pred), average="macro", zero_division=0.0))


def f1_macro_zero_division_1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 per label, averaged; a label that neither occurs nor is predicted counts as 1.

    Examples
    --------
    >>> f1_macro_zero_division_1([[1, 0]], [[1, 0]])
    1.0
    """
    return float(f1_score(*check_label_pair(Y_true, Y_pred), average="macro", zero_division=1.0))


def precision_micro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of the predicted labels that are correct, over all rows and labels pooled.

    Examples
    --------
    >>> round(precision_micro([[1, 0], [0, 1]], [[1, 0], [1, 1]]), 4)
    0.6667
    """
    return float(
        precision_score(*check_label_pair(Y_true, Y_pred), average="micro", zero_division=0.0)
    )


def recall_micro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of the true labels that are predicted, over all rows and labels pooled.

    Examples
    --------
    >>> recall_micro([[1, 0], [0, 1]], [[1, 0], [0, 0]])
    0.5
    """
    return float(
        recall_score(*check_label_pair(Y_true, Y_pred), average="micro", zero_division=0.0)
    )


def precision_macro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Precision per label, averaged; a label that is never predicted counts as 0.

    Examples
    --------
    >>> precision_macro([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.75
    """
    return float(
        precision_score(*check_label_pair(Y_true, Y_pred), average="macro", zero_division=0.0)
    )


def recall_macro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Recall per label, averaged; a label that does not occur counts as 0.

    Examples
    --------
    >>> recall_macro([[1, 0], [0, 1]], [[1, 0], [0, 0]])
    0.5
    """
    return float(
        recall_score(*check_label_pair(Y_true, Y_pred), average="macro", zero_division=0.0)
    )


def f1_example(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 per row, averaged; a row without labels that is predicted empty counts as 1.

    Examples
    --------
    >>> round(f1_example([[1, 0], [0, 1]], [[1, 0], [1, 1]]), 4)
    0.8333
    """
    return float(f1_score(*check_label_pair(Y_true, Y_pred), average="samples", zero_division=1.0))


def jaccard(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Intersection over union of the label sets per row, averaged; two empty sets count as 1.

    Examples
    --------
    >>> jaccard([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.75
    """
    return float(
        jaccard_score(*check_label_pair(Y_true, Y_pred), average="samples", zero_division=1.0)
    )
