"""Sets of logistic regressions, solved by the native engine here or on workers.

A target with a single class has a closed form and needs no kernel. All other problems form one
block for the kernel, or several blocks that are dealt out to workers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.matrices import is_mapped, native_matrix, without_empty_columns
from labelweave._core import native
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.spreading import Workers, block_name, current_workers, n_entries


class Data(NamedTuple):
    """The data that all problems share: features, labels (T, n), shares (S, n), weights (G, n)."""

    features: Any
    extras: Any
    labels: Labels
    shares: Floats | None
    weights: Floats | None
    total: Floats | None

    @classmethod
    def of(cls, problems: LogisticProblems, features: Any) -> Data:
        """Return the data of the problems, over features that may have lost empty columns."""
        return cls(
            features=features,
            extras=problems.extras,
            labels=np.ascontiguousarray(problems.targets.T),
            shares=_by_row(problems.shares),
            weights=_by_row(problems.weights),
            total=problems.total_weight,
        )

    @property
    def n_entries(self) -> int:
        """The number of entries that a pass reads: features, extras and scores."""
        n_rows: int = self.labels.shape[1]
        return n_entries(self.features) + n_entries(self.extras) + n_rows


def _by_row(columns: Floats | None) -> Floats | None:
    return None if columns is None else np.ascontiguousarray(columns.T)


@dataclass(frozen=True)
class Block:
    """The part of the data in which problems differ, with an entry or a row for each problem."""

    target: NDArray[np.int32]
    weight: NDArray[np.int32] | None
    C: Floats
    extra_penalty: Floats
    extra_mask: NDArray[np.uint8] | None
    start: Floats | None
    start_intercept: Floats

    @classmethod
    def of(
        cls, problems: LogisticProblems, order: Positions, used: Positions, intercept: Floats
    ) -> Block:
        """Return the problems in this order, over the features that are used."""
        mask, start = problems.extra_mask, problems.start
        if start is not None:
            rest = start[order, problems.X.shape[1] :]
            start = np.hstack([start[np.ix_(order, used)], rest])
        return cls(
            target=problems.target_of[order].astype(np.int32),
            weight=None if problems.weights is None else problems.weight_columns()[order],
            C=np.ascontiguousarray(problems.C[order]),
            extra_penalty=np.broadcast_to(problems.extra_penalty, problems.C.shape)[order],
            extra_mask=None if mask is None else mask[order].astype(np.uint8),
            start=start,
            start_intercept=np.ascontiguousarray(intercept[order]),
        )

    def take(self, positions: Positions) -> Block:
        own: dict[str, Any] = {
            name: None if value is None else value[positions] for name, value in vars(self).items()
        }
        return Block(**own)


@dataclass(frozen=True)
class Found:
    """The kernel's solutions; `coef`, if kept, holds features, intercept and extras."""

    coef: Floats | None
    objective: Floats
    held_out: Floats
    passes: NDArray[np.int32]
    converged: NDArray[np.uint8]


def solve_blocks(
    data: Data, block: Block, keep_coef: bool, settings: dict[str, Any], n_threads: int
) -> Found:
    """Solve problems here, or in blocks on the workers that `spread_over` names."""
    workers = current_workers()
    if workers is not None:
        n_stages = block.C.shape[1]
        parts = workers.deal(np.arange(len(block.target)), n_stages * data.n_entries)
        if len(parts) > 1:
            return _spread(workers, data, block, parts, (keep_coef, settings))
    return _solve(data, block, keep_coef, settings, n_threads)


def _spread(
    workers: Workers, data: Data, block: Block, parts: list[Positions], how: tuple[Any, ...]
) -> Found:
    # Weights of folds are used by every block, so they are sent once. With one column per label,
    # each block gets only its own columns.
    apart = data.weights is not None and len(data.weights) > len(parts)
    calls = []
    for part in parts:
        own, weights = block.take(part), None
        if apart and data.weights is not None and own.weight is not None:
            columns, weight = np.unique(own.weight, return_inverse=True)
            own, weights = replace(own, weight=weight.astype(np.int32)), data.weights[columns]
        calls.append((block_name(own.target), (weights, own, *how)))
    shared = data._replace(weights=None) if apart else data
    return _together(workers.run(solve_on_worker, shared, calls), parts)


def solve_on_worker(*given: Any) -> Found:
    """Solve a block in one thread, given the fields of `Data`, the block's own weights and itself.

    A worker solves as many blocks at once as it has threads.
    """
    *fields, own_weights, block, keep_coef, settings = given
    data = Data(*fields)
    data = data if own_weights is None else data._replace(weights=own_weights)
    return _solve(data, block, keep_coef, settings, n_threads=1)


def _together(found: list[Found], parts: list[Positions]) -> Found:
    """Join the solutions of the parts, in the order before they were dealt out."""
    places = np.argsort(np.concatenate(parts))

    def joined(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in found])[places]

    names = ("objective", "held_out", "passes", "converged")
    coef = None if found[0].coef is None else joined("coef")
    return Found(coef, *(joined(name) for name in names))


def _solve(
    data: Data, block: Block, keep_coef: bool, settings: dict[str, Any], n_threads: int
) -> Found:
    n_problems = len(block.target)
    n_extras = 0 if data.extras is None else data.extras.shape[1]
    width = data.features.shape[1] + 1 + n_extras
    found = Found(
        coef=np.empty((n_problems, width)) if keep_coef else None,
        objective=np.empty(block.C.shape),
        held_out=np.empty(block.C.shape),
        passes=np.empty(n_problems, np.int32),
        converged=np.empty(n_problems, np.uint8),
    )
    native.solve_logistic(
        x=native_matrix(data.features),
        extras=None if data.extras is None else native_matrix(data.extras),
        labels=data.labels,
        shares=data.shares,
        weights=data.weights,
        total=data.total,
        n_threads=n_threads,
        **vars(block),
        **vars(found),
        **settings,
    )
    return found


#: Bytes of a sparse X up to which the kernel makes a transposed copy of it, which speeds up most
#: fits. A larger X is read row by row, with the same results to the last bit. An X that lies in a
#: file may be larger than the memory.
LARGEST_TRANSPOSE = {"in memory": 2**30, "mapped": 2**25}


@dataclass(frozen=True)
class Solutions:
    """Solutions of P problems (coefficients at the last of their S penalties).

    Attributes
    ----------
    coef : (P, D) array
    intercept : (P,) array
    extra_coef : (P, E) array
    objective : (P, S) array
        Penalised loss, divided by C.
    held_out : (P, S) array
        Loss of the held-out rows at each stage.
    n_passes : (P,) array
        Number of passes over the data.
    converged : (P,) bool array
    """

    coef: Floats
    intercept: Floats
    extra_coef: Floats
    objective: Floats
    held_out: Floats
    n_passes: NDArray[np.int32]
    converged: Mask


def solve_problems(
    problems: LogisticProblems,
    *,
    tol: float = 1e-7,
    max_iter: int = 100,
    patience: int = 0,
    n_threads: int = 1,
    keep_coef: bool = True,
) -> Solutions:
    """Solve every problem along its path of penalties.

    With `patience`, a problem leaves its path after this many consecutive rises of its held-out
    loss; the losses of the stages it skips are NaN.

    A target with a single class has no finite optimum; it gets a constant conditional with
    Laplace smoothing, (k + 1) / (n + 2), instead.
    """
    negative, positive = problems.class_weights()
    proper = (negative > 0) & (positive > 0)
    intercept = np.log((positive + 1.0) / (negative + 1.0))
    intercept[proper] = np.log(positive[proper] / negative[proper])
    solutions = _allocate(problems, intercept, keep_coef)
    _fill_constant(problems, ~proper, intercept, negative + positive, solutions)
    # Frequent targets take longest: starting with them leaves no core idle at the end.
    order = np.flatnonzero(proper)
    order = order[np.argsort(-positive[order], kind="stable")]
    if len(order):
        in_file = is_mapped(getattr(problems.X, "data", None))
        settings = {
            "tolerance": tol,
            "max_newton": max_iter,
            "patience": patience,
            "largest_transpose": LARGEST_TRANSPOSE["mapped" if in_file else "in memory"],
        }
        _solve_proper(problems, order, intercept, solutions, settings, n_threads)
    return solutions


def _allocate(problems: LogisticProblems, intercept: Floats, keep_coef: bool) -> Solutions:
    n_problems = problems.n_problems
    n_kept = n_problems if keep_coef else 0
    return Solutions(
        coef=np.zeros((n_kept, problems.X.shape[1])),
        intercept=intercept.copy(),
        extra_coef=np.zeros((n_kept, problems.n_extras)),
        objective=np.zeros(problems.C.shape),
        held_out=np.zeros(problems.C.shape),
        n_passes=np.zeros(n_problems, dtype=np.int32),
        converged=np.ones(n_problems, dtype=bool),
    )


def _fill_constant(
    problems: LogisticProblems,
    constant: Mask,
    intercept: Floats,
    weight: Floats,
    solutions: Solutions,
) -> None:
    if not constant.any():
        return
    b = intercept[constant]
    loss = np.minimum(np.logaddexp(0.0, b), np.logaddexp(0.0, -b))
    solutions.objective[constant] = (weight[constant] * loss)[:, None]
    negative, positive = problems.held_out_classes()
    held_out = negative[constant] * np.logaddexp(0, b) + positive[constant] * np.logaddexp(0, -b)
    solutions.held_out[constant] = held_out[:, None]


def _solve_proper(
    problems: LogisticProblems,
    order: Positions,
    intercept: Floats,
    solutions: Solutions,
    settings: dict[str, Any],
    n_threads: int,
) -> None:
    features, used = without_empty_columns(problems.X)
    n_features, keep_coef = len(used), len(solutions.coef) > 0
    block = Block.of(problems, order, used, intercept)
    found = solve_blocks(Data.of(problems, features), block, keep_coef, settings, n_threads)
    solutions.objective[order] = found.objective
    solutions.held_out[order] = found.held_out
    solutions.n_passes[order] = found.passes
    solutions.converged[order] = found.converged.astype(bool)
    if found.coef is not None:
        for row, problem in zip(found.coef, order, strict=True):
            solutions.coef[problem, used] = row[:n_features]
        solutions.intercept[order] = found.coef[:, n_features]
        solutions.extra_coef[order] = found.coef[:, n_features + 1 :]
