"""Metrics of scores: how well they rank the labels of each row, or the rows for each label.

Scores are marginal probabilities or any other values that increase with the probability of a
label. As in scikit-learn, an irrelevant label with the same score as a relevant one counts as
ranked before it. Only where a fixed number of labels is selected (one-error, precision at k) are
ties broken at random, and the expected value is returned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score

from labelweave._common.arrays import Floats, Indicators
from labelweave.evaluation.metrics.validation import check_scored

__all__ = [
    "auc_macro",
    "auc_micro",
    "auc_per_column",
    "average_precision_macro",
    "average_precision_micro",
    "average_precision_per_column",
    "average_precision_ranking",
    "coverage_error",
    "one_error",
    "precision_at_1",
    "precision_at_3",
    "precision_at_5",
    "precision_at_k",
    "ranking_loss",
]


def auc_per_column(truth: Indicators, scores: Floats) -> Floats:
    """Area under the ROC curve of each column; nan if all or none of its rows are positive.

    Examples
    --------
    >>> auc_per_column(np.array([[1, 0], [0, 0], [1, 0]]), np.array([[3, 1], [2, 2], [1, 3.0]]))
    array([0.5, nan])
    """
    positive = truth.sum(axis=0)
    negative = len(truth) - positive
    # The Mann-Whitney rank-sum statistic.
    ranks = np.where(truth == 1, rankdata(scores, axis=0), 0.0).sum(axis=0)
    pairs = positive * negative
    won = ranks - positive * (positive + 1) / 2
    return np.asarray(np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))


def auc_macro(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve per label, averaged over the labels that have one.

    A label that all rows or none have has no ROC curve; nan if this holds for every label.

    Examples
    --------
    >>> auc_macro([[1, 0], [0, 1], [0, 0]], [[0.9, 0.2], [0.4, 0.6], [0.5, 0.7]])
    0.75
    """
    areas = auc_per_column(*check_scored(Y_true, scores))
    known = areas[~np.isnan(areas)]
    return float(known.mean()) if len(known) else float("nan")


def auc_micro(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve over all rows and labels pooled.

    Examples
    --------
    >>> auc_micro([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.6]])
    1.0
    """
    truth, values = check_scored(Y_true, scores)
    return float(auc_per_column(truth.reshape(-1, 1), values.reshape(-1, 1))[0])


def average_precision_per_column(truth: Indicators, scores: Floats) -> Floats:
    """Average precision of each column; 0 if no row is positive, as in scikit-learn.

    Examples
    --------
    >>> average_precision_per_column(np.array([[1, 0], [0, 0]]), np.array([[1, 1], [0, 0.0]]))
    array([1., 0.])
    """
    columns = zip(truth.T, scores.T, strict=True)
    return np.array([average_precision_score(y, s) if y.any() else 0.0 for y, s in columns])


def average_precision_macro(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Average precision per label, averaged.

    Examples
    --------
    >>> average_precision_macro([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.6]])
    1.0
    """
    return float(average_precision_per_column(*check_scored(Y_true, scores)).mean())


def average_precision_micro(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Average precision over all rows and labels pooled.

    Examples
    --------
    >>> average_precision_micro([[1, 0], [0, 1]], [[0.9, 0.2], [0.4, 0.6]])
    1.0
    """
    truth, values = check_scored(Y_true, scores)
    pooled = average_precision_per_column(truth.reshape(-1, 1), values.reshape(-1, 1))
    return float(pooled[0])


def _ranks(truth: Indicators, scores: Floats) -> tuple[Floats, Floats]:
    """Count the labels, and the relevant labels, that score at least as high as each label."""
    all_labels = rankdata(-scores, method="max", axis=1).astype(np.float64)
    # With irrelevant labels last, the ranks of the relevant ones are those among themselves.
    behind = np.where(truth == 1, -scores, np.inf)
    return all_labels, rankdata(behind, method="max", axis=1).astype(np.float64)


def average_precision_ranking(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Precision at each relevant label in the ranking of a row, averaged over labels, then rows.

    This is scikit-learn's ``label_ranking_average_precision_score``, called "average precision" in
    the multi-label literature. A row without relevant or without irrelevant labels counts as 1.

    Examples
    --------
    >>> average_precision_ranking([[1, 0, 0], [0, 0, 1]], [[0.7, 0.5, 1.0], [1.0, 0.2, 0.1]])
    0.416...
    """
    truth, values = check_scored(Y_true, scores)
    overall, relevant = _ranks(truth, values)
    size = truth.sum(axis=1)
    total = np.where(truth == 1, relevant / overall, 0.0).sum(axis=1)
    trivial = (size == 0) | (size == truth.shape[1])
    return float(np.where(trivial, 1.0, total / np.maximum(size, 1)).mean())


def ranking_loss(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Fraction of wrongly ordered pairs of a relevant and an irrelevant label, averaged over rows.

    Examples
    --------
    >>> ranking_loss([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1.0], [1.0, 0.2, 0.1]])
    0.75
    """
    truth, values = check_scored(Y_true, scores)
    overall, relevant = _ranks(truth, values)
    size = truth.sum(axis=1)
    wrong = np.where(truth == 1, overall - relevant, 0.0).sum(axis=1)
    return float((wrong / np.maximum(size * (truth.shape[1] - size), 1)).mean())


def coverage_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Rank of the last relevant label, averaged over rows; 0 for a row without labels.

    Examples
    --------
    >>> coverage_error([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1.0], [1.0, 0.2, 0.1]])
    2.5
    """
    truth, values = check_scored(Y_true, scores)
    return float(np.where(truth == 1, _ranks(truth, values)[0], 0.0).max(axis=1).mean())


def precision_at_k(Y_true: ArrayLike, scores: ArrayLike, k: int) -> float:
    """Fraction of relevant labels among the k with the highest scores, averaged over rows.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.8, 0.3]], k=2)
    0.5
    """
    return float(_precision_of_rows(*check_scored(Y_true, scores), k).mean())


def _precision_of_rows(truth: Indicators, scores: Floats, k: int) -> Floats:
    k = min(k, truth.shape[1])
    cut = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    above, tied = scores > cut, scores == cut
    share = (k - above.sum(axis=1)) / tied.sum(axis=1)
    hits = (truth * above).sum(axis=1) + share * (truth * tied).sum(axis=1)
    return np.asarray(hits / k)


def precision_at_1(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Fraction of rows whose top-scoring label is relevant."""
    return precision_at_k(Y_true, scores, 1)


def precision_at_3(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Fraction of relevant labels among the three with the highest scores, averaged over rows."""
    return precision_at_k(Y_true, scores, 3)


def precision_at_5(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Fraction of relevant labels among the five with the highest scores, averaged over rows."""
    return precision_at_k(Y_true, scores, 5)


def one_error(Y_true: ArrayLike, scores: ArrayLike) -> float:
    """Fraction of rows whose top-scoring label is irrelevant, among the rows with labels.

    Examples
    --------
    >>> one_error([[1, 0], [0, 1], [0, 0]], [[0.9, 0.2], [0.6, 0.4], [0.9, 0.1]])
    0.5
    """
    truth, values = check_scored(Y_true, scores)
    labelled = truth.any(axis=1)
    if not labelled.any():
        return 0.0
    return 1.0 - float(_precision_of_rows(truth[labelled], values[labelled], 1).mean())
