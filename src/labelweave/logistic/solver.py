"""Solve sets of logistic regressions with the native engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from labelweave._common.arrays import Floats, Mask, Positions, is_mapped
from labelweave._common.features import as_features, without_empty_columns
from labelweave.logistic.blocks import Block, Data, solve_blocks
from labelweave.logistic.problem import LogisticProblems, as_labels, as_weights

#: Bytes of a sparse X up to which the kernel also works with a transposed copy of it, which speeds
#: up most fits; a larger X is read row by row, with the same bits. What lies in files may be larger
#: than the memory.
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


def solve(
    X: Any,
    T: ArrayLike,
    *,
    C: float | Floats = 1.0,
    sample_weight: ArrayLike | None = None,
    extras: Any = None,
    extra_mask: Mask | None = None,
    extra_penalty: float = 1.0,
    tol: float = 1e-7,
    max_iter: int = 100,
    n_threads: int = 1,
) -> Solutions:
    """Fit one logistic regression per column of T.

    Parameters
    ----------
    X : (n, D) array or sparse matrix
    T : (n, P) array of 0/1
    C : float or (P,) array
        Inverse strength of the penalty, as in scikit-learn.
    sample_weight : (n,) array, optional
    extras : (n, E) array or sparse matrix, optional
        Columns that problem p adds to X where ``extra_mask[p]`` is true.
    extra_mask : (P, E) bool array, optional
    extra_penalty : float
        Penalty of the extra columns relative to the features'.
    tol : float
        Iteration stops after a Newton step with a smaller relative decrease of the objective.
    max_iter : int
        Maximum number of Newton steps.
    n_threads : int
        Number of threads; 0 uses all cores. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.logistic import solve
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> solution = solve(X, np.array([[0], [1], [0], [1]]), C=10.0)
    >>> solution.coef.round(3), solution.intercept.round(3)
    (array([[0.815]]), array([-1.223]))
    """
    targets, weights = as_labels(T), as_weights(sample_weight)
    n_problems = targets.shape[1]
    problems = LogisticProblems(
        X=as_features(X),
        targets=targets,
        target_of=np.arange(n_problems, dtype=np.int32),
        C=np.broadcast_to(np.asarray(C, dtype=np.float64), (n_problems,))[:, None],
        extras=None if extras is None else sp.csr_array(extras, dtype=np.float64),
        extra_mask=extra_mask,
        extra_penalty=np.full((n_problems, 1), float(extra_penalty)),
        weights=None if weights is None else weights[:, None],
        total_weight=weights,
    )
    return solve_problems(problems, tol=tol, max_iter=max_iter, n_threads=n_threads)


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
        settings = {
            "tolerance": tol,
            "max_newton": max_iter,
            "patience": patience,
            "largest_transpose": _largest_transpose(problems.X),
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


def _largest_transpose(X: Any) -> int:
    return LARGEST_TRANSPOSE["mapped" if is_mapped(getattr(X, "data", None)) else "in memory"]
