"""Folds and random orders of rows, determined by the content of the rows.

They do not depend on the given order of the rows, and equal rows stay together.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv

from labelweave._common.arrays import Floats, Indices, Labels, Positions
from labelweave._common.checks import check_number, check_whole_number
from labelweave._common.row_keys import GOLDEN, Words, keys_in_blocks, row_keys, scramble


class Fold(NamedTuple):
    """The rows that a model is fitted to, and those that it has not seen."""

    train: Positions
    held_out: Positions


def has_splits(cv: Any) -> bool:
    """Whether `cv` is a splitter or a list of splits, whose positions count rows of weight 0."""
    is_splitter = not isinstance(cv, str | type) and hasattr(cv, "split")
    return is_splitter or isinstance(cv, list)


def check_folds(cv: Any, *, share: bool = False, otherwise: str = "") -> Any:
    """Return `cv`, if it is a number of folds, a splitter or a list of (train, test).

    With `share`, it is a number of folds or the share of rows that are held out.
    """
    if share:
        if isinstance(cv, float):
            return check_number(cv, "cv", above=0, below=1)
        return check_whole_number(cv, "cv", 2, otherwise="a share between 0 and 1")
    if has_splits(cv) and cv != []:
        return cv
    named = f"{otherwise}, " if otherwise else ""
    return check_whole_number(
        cv, "cv", 2, otherwise=f"{named}a splitter, a list of at least one (train, test)"
    )


def deal_kept(
    cv: Any, X: Any, labels: Labels, weight: Floats, seed: int
) -> tuple[Positions, list[Fold]]:
    """Return the rows of positive weight, and the folds of `deal` as positions among them."""
    place = np.cumsum(weight > 0) - 1
    folds = deal(cv, X, labels, weight, seed)
    return np.flatnonzero(weight), [Fold(place[fold.train], place[fold.held_out]) for fold in folds]


def deal(cv: Any, X: Any, labels: Labels, weight: Floats | None, seed: int) -> list[Fold]:
    """Return the folds of the rows that have weight; none if all rows are equal.

    If `cv` is a number of folds, or the share of rows that are held out in a single fold, rows are
    dealt by their content. Otherwise they are split as scikit-learn splits them.
    """
    total = np.ones(len(labels)) if weight is None else weight
    if isinstance(cv, float):
        return _one_fold(cv, X, total, seed)
    if not isinstance(cv, Integral):
        return _split_by(cv, X, labels, total)
    fold, n_folds = assign_folds(X, total, int(cv), seed)
    counts = total > 0
    return [
        Fold(np.flatnonzero(counts & (fold != k)), np.flatnonzero(counts & (fold == k)))
        for k in range(n_folds)
        if n_folds > 1
    ]


def _one_fold(share: float, X: Any, weight: Floats, seed: int) -> list[Fold]:
    rows = np.flatnonzero(weight)
    number = number_rows(X[rows] if len(rows) < len(weight) else X, weight[rows], seed)
    n_distinct = int(number.max()) + 1
    if n_distinct < 2:
        return []
    outside = number < min(max(1, round(share * n_distinct)), n_distinct - 1)
    return [Fold(rows[~outside], rows[outside])]


def _split_by(cv: Any, X: Any, labels: Labels, weight: Floats) -> list[Fold]:
    folds = []
    rows, counts = np.arange(len(labels)), weight > 0
    for train, test in check_cv(cv).split(X, labels):
        inside = np.zeros(len(labels), dtype=np.bool_)
        try:
            inside[train], outside = True, rows[test]
        except IndexError as error:
            raise ValueError(f"cv names rows that X does not have: {error}") from error
        if not (inside & counts).any():
            raise ValueError(
                "cv has a fold without training rows, or all of their weights are zero"
            )
        if len(outside) == 0 or inside[outside].any():
            raise ValueError("cv must hold out rows of each fold that are not trained on")
        folds.append(Fold(np.flatnonzero(inside & counts), outside[counts[outside]]))
    if not folds:
        raise ValueError("cv must have at least one split; got an empty list")
    return folds


def assign_folds(X: Any, weight: Floats, n_folds: int, seed: int) -> tuple[Positions, int]:
    """Return the fold of each row, and the number of folds: at most one per distinct row."""
    shuffled = _shuffled_keys(X, seed)
    distinct = np.unique(shuffled[weight > 0])
    n_folds = max(1, min(n_folds, len(distinct)))
    return np.searchsorted(distinct, shuffled) % n_folds, n_folds


def _shuffled_keys(X: Any, seed: int) -> Words:
    with np.errstate(over="ignore"):
        return scramble(row_keys(X).astype(np.uint64) + np.uint64(seed) * GOLDEN)


def content_uniforms(X: Any, seed: int) -> Floats:
    """Return a number between 0 and 1 per row of X, uniform, by the row's content and the seed."""
    shuffled = _shuffled_keys(X, seed)
    uniform: Floats = ((shuffled >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return uniform


def number_rows(X: Any, weight: Floats, seed: int) -> Positions:
    """Assign numbers to the distinct rows at random, by their content; equal rows share one.

    Every distinct row waits for an exponential time at the rate of its (positive) weight. In the
    sample of the first k numbers, a row of weight two is thus as probable as a row that occurs
    twice.
    """
    distinct, member = np.unique(content_uniforms(X, seed), return_inverse=True)
    waiting = -np.log(distinct) / np.bincount(member, weights=weight)
    number = np.empty(len(distinct), dtype=np.intp)
    number[np.argsort(waiting, kind="stable")] = np.arange(len(distinct))
    return number[member]


def presentation_order(X: Any, labels: Labels, seed: int) -> Indices:
    """Return the rows in a random order that depends on their content and the seed alone."""
    of_labels = keys_in_blocks(labels)
    with np.errstate(over="ignore"):
        mixed = scramble(keys_in_blocks(X) + np.uint64(seed) * GOLDEN)
        # First by features: rows that differ in their labels only are neighbours too.
        order = np.lexsort([scramble(of_labels + np.uint64(seed)), mixed])
    return order.astype(np.int64)
