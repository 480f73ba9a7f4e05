"""What the logistic engine solves: many penalised logistic regressions over one design matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.checks import are_binary


@dataclass(frozen=True, kw_only=True)
class LogisticProblems:
    """A set of L2-penalised logistic regressions that share their features.

    Problem p minimises ``sum_n w_n [softplus(z_n) - t_n z_n] + (|w_x|^2 + k |w_e|^2) / (2 C)``
    with ``z = X w_x + E w_e + b``; the intercept ``b`` is not penalised. Each problem may follow a
    path of S penalties (C, k), every solution starting the next one.

    Attributes
    ----------
    X : (n, D) float64 array or CSR
        Features, shared by all problems.
    targets : (n, T) int8 array of 0/1
        Target columns; `target_of` says which of them each problem predicts.
    shares : (n, S) array or None
        Target columns between 0 and 1, such as responsibilities, numbered after `targets`.
    target_of : (P,) int array
    C : (P, S) array
        Inverse penalty of the features at each stage of the path.
    extras : (n, E) CSR or None
        Columns that individual problems add to X, such as other labels; `extra_mask` says which.
    extra_mask : (P, E) bool array or None
        ``extra_mask[p, e]``: problem p has extra column e; None: every problem has all of them.
    extra_penalty : (P, S) array
        Penalty k of the extra columns relative to that of the features.
    weights : (n, G) array or None
        Sample weights; `weight_of` (P,) says which column each problem takes.
    total_weight : (n,) array or None
        The sum of a row's training and held-out weight (ones by default): what `weights` leaves
        out of a problem is scored in ``Solutions.held_out``.
    start : (P, D + 1 + E) array or None
        Initial parameters: features, intercept, extras. None: zero except for the intercept.
    """

    X: Any
    targets: Labels
    target_of: NDArray[np.int32]
    C: Floats
    shares: Floats | None = None
    extras: Any = None
    extra_mask: Mask | None = None
    extra_penalty: Floats = field(default_factory=lambda: np.ones((1, 1)))
    weights: Floats | None = None
    weight_of: NDArray[np.int32] | None = None
    total_weight: Floats | None = None
    start: Floats | None = None

    @property
    def n_problems(self) -> int:
        """Number of problems P."""
        return len(self.target_of)

    @property
    def n_extras(self) -> int:
        """Number of extra columns E."""
        return 0 if self.extras is None else int(self.extras.shape[1])

    @property
    def has_extras(self) -> bool:
        """Whether any problem has an extra column."""
        return self.n_extras > 0 and (self.extra_mask is None or bool(self.extra_mask.any()))

    def take(self, problems: Positions) -> LogisticProblems:
        """Return some of the problems, or several copies of them."""
        mask, columns, start = self.extra_mask, self.weight_of, self.start
        return replace(
            self,
            target_of=self.target_of[problems],
            C=self.C[problems],
            extra_mask=None if mask is None else mask[problems],
            extra_penalty=np.broadcast_to(self.extra_penalty, self.C.shape)[problems],
            weight_of=None if columns is None else columns[problems],
            start=None if start is None else start[problems],
        )

    def class_weights(self) -> tuple[Floats, Floats]:
        """Return the weight of the negative and of the positive rows of every problem."""
        if self.weights is None:
            positive = self._weight_of_positives(None)[self.target_of]
            return len(self.targets) - positive, positive
        # One product per target column keeps the temporary array small. Both classes are summed: a
        # difference of sums would give an empty class a rounding error of weight.
        sums = [
            (negative @ self.weights, positive @ self.weights)
            for negative, positive in self._classes()
        ]
        negative, positive = np.array(sums)[self.target_of, :, self.weight_columns()].T
        return negative, positive

    def held_out_classes(self) -> tuple[Floats, Floats]:
        """Return the held-out weight of the negative and of the positive rows of every problem."""
        total = np.ones(len(self.targets)) if self.total_weight is None else self.total_weight
        positive = self._weight_of_positives(total)[self.target_of]
        inside_negative, inside_positive = self.class_weights()
        return total.sum() - positive - inside_negative, positive - inside_positive

    def _classes(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield how far rows belong to the negative and to the positive class of each target."""
        for labels in self.targets.T:
            yield (labels == 0).astype(np.float64), (labels == 1).astype(np.float64)
        if self.shares is not None:
            yield from ((1.0 - share, share) for share in self.shares.T)

    def _weight_of_positives(self, weight: Floats | None) -> Floats:
        """Return the weight of the positive rows of every target."""
        columns: list[Any] = [self.targets]
        if self.shares is not None:
            columns.append(self.shares)
        sums: Floats = np.concatenate(
            [
                each.sum(axis=0, dtype=np.float64) if weight is None else weight @ each
                for each in columns
            ]
        )
        return sums

    def weight_columns(self) -> NDArray[np.int32]:
        """Return the column of `weights` that each problem takes, (P,)."""
        if self.weight_of is None:
            return np.zeros(self.n_problems, dtype=np.int32)
        return self.weight_of.astype(np.int32, copy=False)


def as_labels(Y: Any) -> Labels:
    """Return 0/1 labels as int8."""
    given = np.asarray(Y)
    if given.dtype == np.int8 and given.ndim == 2 and are_binary(given):
        return np.ascontiguousarray(given)  # not a copy if Y lies in a file
    labels: Labels = np.ascontiguousarray(given == 1, dtype=np.int8)
    if labels.ndim != 2 or np.any(given != labels):
        raise ValueError("targets must be a matrix of 0 and 1 with one column per problem")
    return labels


def as_weights(sample_weight: ArrayLike | None) -> Floats | None:
    """Return sample weights as contiguous float64, or None for all ones."""
    if sample_weight is None:
        return None
    weights: Floats = np.ascontiguousarray(sample_weight, dtype=np.float64)
    return weights
