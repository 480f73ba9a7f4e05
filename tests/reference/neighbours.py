"""Neighbours, ML-kNN and instance-based logistic regression as published, in plain loops."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats
from tests.reference.logistic import reference


def neighbours(train: Floats, x: Floats, k: int, *, without: int | None = None) -> list[int]:
    """Return the k training rows nearest to x; of equal ones the earlier, `without` left out."""
    ranked = sorted(
        (float(((row - x) ** 2).sum()), number)
        for number, row in enumerate(train)
        if number != without
    )
    return [number for _, number in ranked[:k]]


def label_counts(train: Floats, Y: NDArray[np.int_], rows: Floats | None, k: int) -> Floats:
    """Return how many neighbours of each row carry each label; of the training rows for None."""
    if rows is None:
        found = [neighbours(train, x, k, without=own) for own, x in enumerate(train)]
    else:
        found = [neighbours(train, x, k) for x in rows]
    return np.array([Y[numbers].sum(axis=0) for numbers in found])


def mlknn(
    X: Floats, Y: NDArray[np.int_], rows: Floats, k: int = 10, smoothing: float = 1.0
) -> Floats:
    """P(y_l = 1 | C(l) neighbours carry l): the steps of Zhang and Zhou (2007), figure 1."""
    n, n_labels = Y.shape
    prior = (smoothing + Y.sum(axis=0)) / (2 * smoothing + n)
    c, c_not = np.zeros((n_labels, k + 1)), np.zeros((n_labels, k + 1))
    for i, counts in enumerate(label_counts(X, Y, None, k)):
        for label in range(n_labels):
            if Y[i, label]:
                c[label, counts[label]] += 1
            else:
                c_not[label, counts[label]] += 1
    probability = np.empty((len(rows), n_labels))
    for i, counts in enumerate(label_counts(X, Y, rows, k)):
        for label in range(n_labels):
            j = counts[label]
            given = (smoothing + c[label, j]) / (smoothing * (k + 1) + c[label].sum())
            given_not = (smoothing + c_not[label, j]) / (smoothing * (k + 1) + c_not[label].sum())
            yes, no = prior[label] * given, (1 - prior[label]) * given_not
            probability[i, label] = yes / (yes + no)
    return probability


def iblr(
    X: Floats,
    Y: NDArray[np.int_],
    rows: Floats,
    k: int,
    *,
    passthrough: bool,
    C: float,
    label_penalty: float = 1.0,
) -> Floats:
    """Logistic regression of every label on the share of each label among the neighbours."""
    seen, asked = label_counts(X, Y, None, k) / k, label_counts(X, Y, rows, k) / k
    if not passthrough:
        return logistic(seen, Y, asked, C=C)
    return logistic(X, Y, rows, C=C, extras=(seen, asked), extra_penalty=label_penalty)


def logistic(
    X: Floats,
    Y: NDArray[np.int_],
    rows: Floats,
    *,
    C: float,
    extras: tuple[Floats, Floats] | None = None,
    extra_penalty: float = 1.0,
) -> Floats:
    """P(y_l = 1) of new rows by one logistic regression a label, `extras` appended to both."""
    probability = np.empty((len(rows), Y.shape[1]))
    asked = rows if extras is None else np.hstack([rows, extras[1]])
    for label in range(Y.shape[1]):
        problem = reference(
            X,
            Y[:, label],
            C,
            extras=None if extras is None else extras[0],
            extra_penalty=extra_penalty,
        )
        coef, intercept = problem.solve()
        probability[:, label] = 0.5 * (1.0 + np.tanh(0.5 * (asked @ coef + intercept)))
    return probability


def stacked(
    X: Floats,
    Y: NDArray[np.int_],
    rows: Floats,
    fold: NDArray[np.intp],
    *,
    C: float,
    label_penalty: float,
    labels: bool = False,
) -> Floats:
    """Two layers of logistic regressions; row i's first answer comes from the other folds."""
    first = np.empty(Y.shape)
    for part in np.unique(fold):
        held_out = fold == part
        inside = ~held_out if len(np.unique(fold)) > 1 else held_out
        first[held_out] = logistic(X[inside], Y[inside], X[held_out], C=C)
    asked = logistic(X, Y, rows, C=C)
    if labels:
        first, asked = (first > 0.5) * 1.0, (asked > 0.5) * 1.0
    return logistic(X, Y, rows, C=C, extras=(first, asked), extra_penalty=label_penalty)
