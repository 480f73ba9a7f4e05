"""Cross-fitting: each training row is predicted by classifiers that have not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.engine import processes
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds, presentation_order
from labelweave.models.stacking.base_learner import BaseLearner, FittedBase


@dataclass(frozen=True)
class CrossFitted:
    """Base learners fitted to all rows, and what they predict for rows they have not seen.

    Attributes
    ----------
    bases : list of FittedBase
        Fitted to all training rows.
    held_out : (n, M) array
        Held-out probabilities, the labels of each learner after those of the one before; NaN in
        rows that were never held out.
    """

    bases: list[FittedBase]
    held_out: Floats


def cross_fit(
    learners: Sequence[BaseLearner],
    X: Any,
    labels: Labels,
    sample_weight: Floats | None,
    cv: Any,
    seed: int,
    n_jobs: int | None,
) -> CrossFitted:
    """Fit base learners to all rows, and predict each row by fits that have not seen it.

    Parameters
    ----------
    learners : sequence of BaseLearner
    X : (n, D) array or CSR matrix
    labels : (n, L) array of 0/1
    sample_weight : (n,) array or None
    cv : int or splitter
        Folds for learners without out-of-bag predictions. Whole numbers deal the rows by their
        content: their order does not matter, and equal rows share a fold.
    seed : int
    n_jobs : int or None
        Number of fits at a time.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X = np.array([0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0])[:, None]
    >>> labels = (X > 5).astype(np.int8)
    >>> learner = BaseLearner(GaussianNB(), np.array([0]), seed=0, out_of_bag=False)
    >>> found = cross_fit([learner], X, labels, None, cv=4, seed=0, n_jobs=None)
    >>> (found.held_out[:, 0] > 0.5).astype(int)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """
    # Bootstrap samples and shuffled mini-batches depend on the order of the rows.
    order = presentation_order(X, labels, seed)
    if sample_weight is not None:
        order = order[sample_weight[order] > 0]
    by_folds = [learner for learner in learners if not learner.out_of_bag]
    folds = deal_folds(cv, X, labels, sample_weight, seed) if by_folds else []
    data = (X, labels, sample_weight)
    calls = [delayed(_fit_rows)(learner, *data, order) for learner in learners]
    calls += [
        delayed(_predict_fold)(learner, *data, order[train[order]], test)
        for learner in by_folds
        for train, test in folds
    ]
    results = iter(_run(calls, n_jobs))
    bases: list[FittedBase] = [next(results) for _ in learners]
    held_out = np.hstack(
        [
            _by_row(
                (len(labels), len(learner.columns)),
                [(order, base.out_of_bag(len(order)))]
                if learner.out_of_bag
                else [(test, next(results)) for _, test in folds],
            )
            for learner, base in zip(learners, bases, strict=True)
        ]
    )
    return CrossFitted(bases, held_out)


def deal_folds(
    cv: Any, X: Any, labels: Labels, weight: Floats | None, seed: int
) -> list[tuple[Mask, Positions]]:
    """Return the training rows of each fold, as a mask, and the rows that it holds out.

    Parameters
    ----------
    cv : int, splitter or list of (train, test)
        A number of folds deals the rows by their content.
    X : (n, D) array or CSR matrix
    labels : (n, L) array of 0/1
    weight : (n,) array or None
    seed : int

    Examples
    --------
    >>> X, labels = np.arange(4.0)[:, None], np.zeros((4, 1), dtype=np.int8)
    >>> [inside.sum() + len(rows) for inside, rows in deal_folds(2, X, labels, None, 0)]
    [np.int64(4), np.int64(4)]
    """
    if isinstance(cv, Integral):
        total = np.ones(len(labels)) if weight is None else weight
        fold, n_folds = assign_folds(X, total, int(cv), seed)
        # If all rows are equal, none can be held out.
        return [(fold != k, np.flatnonzero(fold == k)) for k in range(n_folds) if n_folds > 1]
    folds = []
    rows = np.arange(len(labels))
    for train, test in check_cv(cv).split(X, labels):
        inside = np.zeros(len(labels), dtype=np.bool_)
        try:
            inside[train], outside = True, rows[test]
        except IndexError as error:
            raise ValueError(f"cv names rows that X does not have: {error}") from error
        if not (inside if weight is None else weight[inside]).any():
            raise ValueError(
                "cv has a fold without training rows, or all of their weights are zero"
            )
        if len(outside) == 0 or inside[outside].any():
            raise ValueError("cv must hold out rows of each fold that are not trained on")
        folds.append((inside, outside))
    if not folds:
        raise ValueError("cv must have at least one split; got an empty list")
    return folds


def _by_row(shape: tuple[int, int], parts: list[tuple[NDArray[np.integer[Any]], Floats]]) -> Floats:
    """Return the mean of what was predicted for each row; NaN for rows without predictions."""
    total, times = np.zeros(shape), np.zeros((shape[0], 1))
    for rows, predicted in parts:
        total[rows] += predicted
        times[rows] += 1
    mean: Floats = np.divide(total, times, out=np.full(shape, np.nan), where=times > 0)
    return mean


def _run(calls: list[Any], n_jobs: int | None) -> list[Any]:
    results = []
    try:
        parallel = processes(n_jobs, return_as="generator")
    except ValueError:  # joblib's multiprocessing returns all results at once
        parallel = processes(n_jobs)
    with stage("fitting base classifiers", len(calls)) as advance:
        for result in parallel(calls):
            results.append(result)
            advance()
    return results


def _fit_rows(
    learner: BaseLearner, X: Any, labels: Labels, weight: Floats | None, rows: Indices
) -> FittedBase:
    return learner.fit(X[rows], labels[rows], None if weight is None else weight[rows])


def _predict_fold(
    learner: BaseLearner,
    X: Any,
    labels: Labels,
    weight: Floats | None,
    train: Indices,
    test: Positions,
) -> Floats:
    return _fit_rows(learner, X, labels, weight, train).probabilities(X[test])
