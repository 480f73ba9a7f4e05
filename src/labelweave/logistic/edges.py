"""How much every label would gain from every other as its parent: the weights of a tree's edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from labelweave.logistic.problem import (
    Floats,
    LogisticProblems,
    as_features,
    as_labels,
    as_weights,
)
from labelweave.logistic.solver import solve_problems

Flags = NDArray[np.bool_]
# Edge weights are compared with each other: a thousandth of a weight decides nothing.
_TOLERANCE = 1e-7
# Problems whose starting points are held at a time.
_BLOCK = 2**24


@dataclass(frozen=True)
class EdgeWeights:
    """Held-out log-likelihood of every label given one other label, or none.

    Attributes
    ----------
    pair : (L, L) array
        ``pair[j, i]`` is the sum over the held-out rows of ``w_n log P(y_i | x_n, y_j)``. Where
        nothing was fitted it is ``alone[i]``: no gain is known.
    alone : (L,) array
        The same without a parent.
    fitted : (L, L) bool array
        Which pairs were fitted; never the diagonal.
    """

    pair: Floats
    alone: Floats
    fitted: Flags


def edge_weights(
    X: Any,
    Y: ArrayLike,
    *,
    C: ArrayLike,
    label_penalty: ArrayLike,
    held_out: ArrayLike,
    sample_weight: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
    screen: int | str | None = None,
    n_threads: int = 1,
) -> EdgeWeights:
    """Fit P(y_i | x, y_j) for all pairs of labels and weigh them on held-out rows.

    Parameters
    ----------
    X : (n, D) array or sparse matrix
    Y : (n, L) array of 0/1
    C : float or (L,) array
        Inverse penalty of the features, for all labels or for each.
    label_penalty : float or (L,) array
        Penalty of the parent's column relative to the features'.
    held_out : (n,) or (F, n) bool array
        Which rows weigh the edges; the others fit them. The weights of several such splits add up.
    sample_weight : (n,) array, optional
        Weight of every row, in fitting and in weighing.
    candidates : (L, L) bool array, optional
        ``candidates[j, i]``: whether j may be the parent of i; by default any other label may.
    screen : int, "auto" or None
        Fit only so many parents of every label.
    n_threads : int
        Threads; 0 uses all cores. The result does not depend on it.

    Examples
    --------
    The second label repeats the first, which the feature says nothing about:

    >>> import numpy as np
    >>> from labelweave.logistic import edge_weights
    >>> X, held_out = np.zeros((8, 1)), np.arange(8) >= 4
    >>> Y = np.array([[0, 0], [1, 1]] * 4)
    >>> weights = edge_weights(X, Y, C=1.0, label_penalty=0.1, held_out=held_out)
    >>> weights.alone.round(2)
    array([-2.77, -2.77])
    >>> bool(weights.pair[0, 1] > weights.alone[1])
    True
    """
    data = _Data.of(X, Y, C, label_penalty, held_out, sample_weight)
    n_labels = data.labels.shape[1]
    allowed = np.ones((n_labels, n_labels), bool) if candidates is None else _mask(candidates)
    allowed = allowed & ~np.eye(n_labels, dtype=bool)
    first = solve_problems(data.problems(), tol=_TOLERANCE, n_threads=n_threads)
    n_splits = data.inside.shape[1]
    alone = -first.held_out.reshape(n_splits, n_labels).sum(axis=0)
    pair = np.tile(alone, (n_labels, 1))
    starts = np.column_stack([first.coef, first.intercept]).reshape(n_splits, n_labels, -1)
    width = starts.shape[2] + n_labels
    for targets in _blocks(n_labels, max(1, _BLOCK // (n_splits * n_labels * width))):
        parent, target = np.nonzero(allowed[:, targets])
        target = targets[target]
        solutions = solve_problems(
            data.with_parents(target, parent, starts),
            tol=_TOLERANCE,
            n_threads=n_threads,
            keep_coef=False,
        )
        pair[parent, target] = -solutions.held_out.reshape(n_splits, -1).sum(axis=0)
    return EdgeWeights(pair, alone, allowed)


@dataclass(frozen=True)
class _Data:
    """What is fitted: problem ``f * P + p`` is number p of split f."""

    X: Any
    labels: NDArray[np.int8]
    C: Floats
    label_penalty: Floats
    inside: Floats  # (n, F): weight of the rows that fit
    total: Floats

    @classmethod
    def of(
        cls,
        X: Any,
        Y: ArrayLike,
        C: ArrayLike,
        label_penalty: ArrayLike,
        held_out: ArrayLike,
        sample_weight: ArrayLike | None,
    ) -> _Data:
        features, labels = as_features(X), as_labels(Y)
        n, n_labels = labels.shape
        weight = as_weights(sample_weight)
        total = np.ones(n) if weight is None else weight
        if total.shape != (n,) or not np.all(np.isfinite(total)) or np.any(total < 0):
            raise ValueError(f"sample_weight must hold {n} finite numbers that are not negative")
        outside = np.atleast_2d(np.asarray(held_out))
        if outside.dtype != bool or outside.ndim != 2 or outside.shape[1] != n:
            raise ValueError(
                f"held_out must be boolean, of shape ({n},) or (splits, {n}); "
                f"got {outside.dtype} of shape {np.shape(held_out)}"
            )
        return cls(
            X=features,
            labels=labels,
            C=_per_label(C, n_labels, "C"),
            label_penalty=_per_label(label_penalty, n_labels, "label_penalty"),
            inside=np.where(outside, 0.0, total).T,
            total=total,
        )

    def problems(self) -> LogisticProblems:
        """Every label without a parent."""
        return self._problems(np.arange(self.labels.shape[1]))

    def with_parents(
        self, target: NDArray[np.intp], parent: NDArray[np.intp], starts: Floats
    ) -> LogisticProblems:
        """Each target with its parent, to be solved from the solution without one."""
        n_labels, n_splits = self.labels.shape[1], self.inside.shape[1]
        uses = np.zeros((len(target), n_labels), dtype=bool)
        uses[np.arange(len(target)), parent] = True
        without = starts[:, target].reshape(n_splits * len(target), -1)
        return self._problems(
            target,
            extras=sp.csr_array(self.labels, dtype=np.float64),
            uses=np.tile(uses, (n_splits, 1)),
            start=np.hstack([without, np.zeros((len(without), n_labels))]),
        )

    def _problems(self, target: NDArray[np.intp], **parents: Any) -> LogisticProblems:
        n_splits = self.inside.shape[1]
        tiled = np.tile(target, n_splits)
        return LogisticProblems(
            X=self.X,
            targets=self.labels,
            target_of=tiled.astype(np.int32),
            C=self.C[tiled, None],
            extra_penalty=self.label_penalty[tiled, None],
            weights=self.inside,
            weight_of=np.repeat(np.arange(n_splits, dtype=np.int32), len(target)),
            total_weight=self.total,
            **parents,
        )


def _blocks(n: int, size: int) -> Iterator[NDArray[np.intp]]:
    for first in range(0, n, size):
        yield np.arange(first, min(n, first + size))


def _mask(candidates: ArrayLike) -> Flags:
    return np.asarray(candidates, dtype=bool)


def _per_label(value: ArrayLike, n_labels: int, name: str) -> Floats:
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (n_labels,)):
        raise ValueError(f"{name} must be a number or one for each of the {n_labels} labels")
    return np.ascontiguousarray(np.broadcast_to(given, (n_labels,)))
