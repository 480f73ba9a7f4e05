"""Splitters for cross-validation, with stratification for multi-label data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from labelweave._common.arrays import Floats, Indices, Mask
from labelweave._common.checks import check_whole_number


class IterativeStratification(BaseCrossValidator):
    """K-fold splitter that preserves the frequency of every label and label combination.

    Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011) repeatedly selects the label
    with the fewest unassigned rows and assigns each of its rows to the fold that lacks this label
    most. There are three additions. First, rows with the same label vector are distributed evenly
    over the folds and only the remainder is assigned one by one, which balances combinations and
    is fast on large data sets. Second, ties are broken by the row's other labels; otherwise the
    distribution of a frequent label would be left to chance. Third, a full fold takes no more rows,
    so that sizes differ by at most one, as with ``KFold``.

    Parameters
    ----------
    n_splits : int, default=10
        Number of folds, at least 2.
    random_state : int, default=0
        Seed for shuffling and breaking ties: the same seed gives the same folds.

    Examples
    --------
    >>> Y = np.repeat([[1, 0], [0, 1], [1, 1]], [6, 4, 2], axis=0)
    >>> folds = IterativeStratification(n_splits=2)
    >>> [Y[test].sum(axis=0).tolist() for train, test in folds.split(Y, Y)]
    [[4, 3], [4, 3]]
    """

    def __init__(self, n_splits: int = 10, *, random_state: int = 0) -> None:
        self.n_splits = check_whole_number(n_splits, "n_splits", 2)
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return int(self.n_splits)

    def _iter_test_masks(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Any]:
        if y is None:
            raise ValueError("y is missing: stratified folds need the labels; call split(X, Y)")
        assignment = self.assign(y)
        for fold in range(self.n_splits):
            yield assignment == fold

    def assign(self, Y: Any) -> Indices:
        """Return the index of the fold of each row of the label array Y."""
        labels = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
        if len(labels) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {len(labels)} rows; use fewer folds"
            )
        positive = labels.reshape(len(labels), -1) != 0
        return _Dealer(positive, int(self.n_splits), self.random_state).deal()


class _Dealer:
    """The state of one run of the stratification.

    ``room[f]`` is the number of rows that fold f can still take, ``demand[l, f]`` the number of
    positives of label l that it still lacks (fractional; negative if it has more than its share).
    """

    def __init__(self, labels: Mask, n_folds: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        n_rows = len(labels)
        self.labels = labels
        self.n_folds = n_folds
        self.assignment = np.full(n_rows, -1, dtype=np.int64)
        self.room = np.full(n_folds, n_rows // n_folds)
        # The larger folds are chosen at random; otherwise fold 0 would always be one.
        self.room[self.random.permutation(n_folds)[: n_rows % n_folds]] += 1
        self.demand = np.repeat(labels.sum(axis=0)[:, None] / n_folds, n_folds, axis=1)
        packed = np.packbits(labels, axis=1)
        _, combination = np.unique(packed, axis=0, return_inverse=True)
        self.combination = combination.reshape(-1)

    def deal(self) -> Indices:
        self._place_one_by_one(self._deal_combinations())
        return self.assignment

    def _deal_combinations(self) -> Indices:
        """Assign m // k of the m rows of each combination to each fold; return the other rows."""
        order = self.random.permutation(len(self.labels))
        order = order[np.argsort(self.combination[order], kind="stable")]
        sizes = np.bincount(self.combination)
        starts = np.cumsum(sizes) - sizes
        groups = self.combination[order]
        place = np.arange(len(order)) - starts[groups]
        dealt = place < sizes[groups] // self.n_folds * self.n_folds
        rows, folds = order[dealt], place[dealt] % self.n_folds
        self.assignment[rows] = folds
        self.room -= np.bincount(folds, minlength=self.n_folds)
        for fold in range(self.n_folds):
            self.demand[:, fold] -= self.labels[rows[folds == fold]].sum(axis=0)
        return order[~dealt]

    def _place_one_by_one(self, rows: Indices) -> None:
        """Assign rows of the rarest label first; rows without labels fill the remaining room."""
        rows = self.random.permutation(rows)
        labels = self.labels[rows]
        # The remaining rows of combination g in fold f are counted, to spread them as well.
        _, group = np.unique(self.combination[rows], return_inverse=True)
        given = np.zeros((int(group.max(initial=-1)) + 1, self.n_folds))
        left = labels.sum(axis=0)
        waiting = np.ones(len(rows), dtype=bool)
        while (left > 0).any():
            label = int(np.argmin(np.where(left > 0, left, len(rows) + 1)))
            chosen = np.flatnonzero(waiting & labels[:, label])
            for position in chosen:
                self._place(rows[position], labels[position], given[group[position]], label)
            waiting[chosen] = False
            left -= labels[chosen].sum(axis=0)
        unlabelled = rows[waiting]
        self.assignment[unlabelled] = self.random.permutation(
            np.repeat(np.arange(self.n_folds), self.room)
        )

    def _place(self, row: np.int64, labels: Mask, given: Floats, label: int) -> None:
        """Assign a row to the open fold that lacks `label` most.

        Ties are broken in favour of a fold without a remaining row of this combination, then of the
        fold that lacks most of the row's labels in total, then of the emptiest, then at random.
        """
        candidates = np.flatnonzero(self.room > 0)
        others = self.demand[labels].sum(axis=0)
        for preference in (self.demand[label], -given, others, self.room):
            if len(candidates) == 1:
                break
            wanted = preference[candidates]
            # Demands are fractions minus integers, so equal demands may differ by rounding errors.
            candidates = candidates[wanted >= wanted.max() - 1e-9]
        fold = candidates[self.random.integers(len(candidates))]
        self.assignment[row] = fold
        self.room[fold] -= 1
        self.demand[labels, fold] -= 1
        given[fold] += 1
