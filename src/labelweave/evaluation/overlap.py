"""How far predicted label sets overlap the true ones: precision, recall, F1, Jaccard.

Where a ratio is 0/0, two conventions are in use. A *row* without labels that is predicted empty is
right, so example F1 and Jaccard count it as 1. A *label* that neither occurs nor is predicted shows
nothing, so macro F1 counts it as 0, as scikit-learn does (``zero_division=0``): otherwise
predicting nothing would score well wherever most labels are rare. Titles say which it is.
"""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.metrics import f1_score, jaccard_score, precision_score, recall_score

from labelweave.evaluation.checks import label_pair

__all__ = [
    "f1_example",
    "f1_macro",
    "f1_macro_zero_division_1",
    "f1_micro",
    "jaccard",
    "precision_macro",
    "precision_micro",
    "recall_macro",
    "recall_micro",
]


def f1_micro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 of all rows and labels pooled.

    Examples
    --------
    >>> f1_micro([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.8
    """
    return float(f1_score(*label_pair(Y_true, Y_pred), average="micro", zero_division=1.0))


def f1_macro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 of every label, averaged; a label that neither occurs nor is predicted counts 0.

    Examples
    --------
    >>> round(f1_macro([[1, 0], [0, 1]], [[1, 0], [1, 1]]), 4)
    0.8333
    >>> f1_macro([[1, 0]], [[1, 0]])
    0.5
    """
    return float(f1_score(*label_pair(Y_true, Y_pred), average="macro", zero_division=0.0))


def f1_macro_zero_division_1(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Macro F1 in which a label that neither occurs nor is predicted counts 1.

    Examples
    --------
    >>> f1_macro_zero_division_1([[1, 0]], [[1, 0]])
    1.0
    """
    return float(f1_score(*label_pair(Y_true, Y_pred), average="macro", zero_division=1.0))


def precision_micro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of the predicted labels that are right, all rows and labels pooled.

    Examples
    --------
    >>> round(precision_micro([[1, 0], [0, 1]], [[1, 0], [1, 1]]), 4)
    0.6667
    """
    return float(precision_score(*label_pair(Y_true, Y_pred), average="micro", zero_division=0.0))


def recall_micro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Share of the true labels that are predicted, all rows and labels pooled.

    Examples
    --------
    >>> recall_micro([[1, 0], [0, 1]], [[1, 0], [0, 0]])
    0.5
    """
    return float(recall_score(*label_pair(Y_true, Y_pred), average="micro", zero_division=0.0))


def precision_macro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Precision of every label, averaged; a label that is never predicted counts 0.

    Examples
    --------
    >>> precision_macro([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.75
    """
    return float(precision_score(*label_pair(Y_true, Y_pred), average="macro", zero_division=0.0))


def recall_macro(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Recall of every label, averaged; a label that does not occur counts 0.

    Examples
    --------
    >>> recall_macro([[1, 0], [0, 1]], [[1, 0], [0, 0]])
    0.5
    """
    return float(recall_score(*label_pair(Y_true, Y_pred), average="macro", zero_division=0.0))


def f1_example(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """F1 of every row, averaged; an empty row predicted empty counts 1.

    Examples
    --------
    >>> round(f1_example([[1, 0], [0, 1]], [[1, 0], [1, 1]]), 4)
    0.8333
    """
    return float(f1_score(*label_pair(Y_true, Y_pred), average="samples", zero_division=1.0))


def jaccard(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Intersection over union of every row's label sets, averaged; two empty sets count 1.

    Examples
    --------
    >>> jaccard([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.75
    """
    return float(jaccard_score(*label_pair(Y_true, Y_pred), average="samples", zero_division=1.0))
