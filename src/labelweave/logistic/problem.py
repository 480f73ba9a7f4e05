"""Sets of penalised logistic regressions over one X, which the engine solves at once.

A problem chooses its target column, its extra columns, its weights and its penalties, and shares
all data with the other problems. Class weights make rare labels count more. Where losses are summed
over problems, a sample represents all problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.checks import are_binary
from labelweave._common.matrices import as_features


@dataclass(frozen=True, kw_only=True)
class LogisticProblems:
    """A set of L2-penalised logistic regressions that share their features.

    Problem p minimises ``sum_n w_n [softplus(z_n) - t_n z_n] + (|w_x|^2 + k |w_e|^2) / (2 C)``
    with ``z = X w_x + E w_e + b``; the intercept ``b`` is not penalised. Each problem may follow a
    path of S penalties (C, k), where every solution is the start of the next one.

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
        The sum of a row's training and held-out weight (ones by default). The part of it that
        `weights` leaves out of a problem is scored in ``Solutions.held_out``.
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

    @classmethod
    def per_label(
        cls, X: Any, Y: ArrayLike, sample_weight: ArrayLike | None = None, C: ArrayLike = 1.0
    ) -> LogisticProblems:
        """Return one problem for each column of Y."""
        labels, weights = as_labels(Y), as_weights(sample_weight)
        n_labels = labels.shape[1]
        return cls(
            X=as_features(X),
            targets=labels,
            target_of=np.arange(n_labels, dtype=np.int32),
            C=np.broadcast_to(np.asarray(C, dtype=np.float64), (n_labels,))[:, None],
            weights=None if weights is None else weights[:, None],
            total_weight=weights,
        )

    @property
    def n_problems(self) -> int:
        return len(self.target_of)

    @property
    def n_extras(self) -> int:
        return 0 if self.extras is None else int(self.extras.shape[1])

    @property
    def has_extras(self) -> bool:
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
        # One product per target column keeps the temporary array small. Both classes are summed,
        # because a difference of sums would give an empty class a weight by rounding.
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
        """Yield the shares of the rows in the negative and the positive class of each target."""
        for labels in self.targets.T:
            yield (labels == 0).astype(np.float64), (labels == 1).astype(np.float64)
        if self.shares is not None:
            yield from ((1.0 - share, share) for share in self.shares.T)

    def _weight_of_positives(self, weight: Floats | None) -> Floats:
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


ClassWeight: TypeAlias = Mapping[int, float] | str | None


def check_class_weight(class_weight: Any) -> ClassWeight:
    """Return `class_weight` if it is valid, else raise a ValueError that names the fix."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    is_map = isinstance(class_weight, Mapping) and set(class_weight) <= {0, 1}
    if not is_map or not all(_is_positive(weight) for weight in class_weight.values()):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict such as {0: 1.0, 1: 5.0}; "
            f"got {class_weight!r}"
        )
    return dict(class_weight)


def _is_positive(weight: Any) -> bool:
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    return is_number and 0 < float(weight) < np.inf


def class_weighted(problems: LogisticProblems, class_weight: ClassWeight) -> LogisticProblems:
    """Return the same problems with rows weighted by the class of each problem's target.

    All problems must have the same sample weights.
    """
    n, n_targets = problems.targets.shape
    weights = np.ones((n, 1)) if problems.weights is None else problems.weights
    by_class = weights_of_classes(problems.targets, weights[:, 0], class_weight)
    return replace(
        problems,
        weights=weights * np.where(problems.targets == 1, by_class[1], by_class[0]),
        weight_of=np.arange(n_targets, dtype=np.int32)[problems.target_of],
        total_weight=None,
    )


def weights_of_classes(targets: Any, weight: Any, class_weight: ClassWeight) -> Any:
    """Return the weights of the classes 0 and 1 of every target, (2, T)."""
    if class_weight is None:
        return np.ones((2, targets.shape[1]))
    if isinstance(class_weight, Mapping):
        pair = [[class_weight.get(value, 1.0)] for value in (0, 1)]
        return np.broadcast_to(np.array(pair, dtype=np.float64), (2, targets.shape[1]))
    positive = weight @ targets
    mass = np.stack([weight.sum() - positive, positive])
    # A class without rows needs no weight.
    return np.divide(weight.sum() / 2, mass, out=np.ones_like(mass), where=mass > 0)


# A sample has at least `_LEAST` problems, and one in `_ONE_IN`.
_LEAST = 24
_ONE_IN = 3


class ProblemSample(NamedTuple):
    """Sampled problems, and how many problems each of them stands for."""

    positions: Positions
    counts: Floats


def sample_problems(problems: LogisticProblems) -> ProblemSample:
    """Sample problems with probabilities proportional to the entropies of their targets.

    The held-out loss of a problem is about proportional to that entropy, so sums over the sample,
    weighted by inverse probabilities, vary little. Sampling is systematic along decreasing entropy,
    not random, so that frequent and rare targets are all represented.
    """
    n_problems = problems.n_problems
    n_wanted = max(_LEAST, -(-n_problems // _ONE_IN))
    sizes = _entropies(problems)
    if n_problems <= n_wanted or np.count_nonzero(sizes) <= n_wanted:
        return ProblemSample(np.arange(n_problems), np.ones(n_problems))
    share = _inclusion(sizes, n_wanted)
    order = np.argsort(-sizes, kind="stable")
    passed = np.floor(np.cumsum(share[order]) + 0.5)
    chosen = np.sort(order[np.diff(passed, prepend=0.0) > 0])
    return ProblemSample(chosen, 1.0 / share[chosen])


def _entropies(problems: LogisticProblems) -> Floats:
    """Return the entropy of every target, times its weight."""
    negative, positive = problems.class_weights()
    total = negative + positive
    entropies: Floats = np.zeros(len(total))
    for part in (negative, positive):
        inside = part > 0
        entropies[inside] -= part[inside] * np.log(part[inside] / total[inside])
    return entropies


def _inclusion(sizes: Floats, n_wanted: int) -> Floats:
    """Return inclusion probabilities proportional to size, at most one, that sum to `n_wanted`."""
    order = np.argsort(-sizes, kind="stable")
    rest = np.cumsum(sizes[order][::-1])[::-1]  # the sum of the sizes from each place on
    # The largest problems, whose probabilities would be above one, are certain.
    places = np.arange(len(sizes))
    certain = (places < n_wanted) & ((n_wanted - places) * sizes[order] >= rest)
    n_certain = int(np.argmin(certain))
    share = np.ones(len(sizes))
    others = order[n_certain:]
    share[others] = (n_wanted - n_certain) * sizes[others] / rest[n_certain]
    return share
