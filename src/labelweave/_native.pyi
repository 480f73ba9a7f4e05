"""Compiled kernels of labelweave."""

from typing import Annotated, overload

import numpy
from numpy.typing import NDArray


class Matrix:
    """
    A design matrix the kernels can read: dense, or CSR with its number of columns.
    """

    @overload
    def __init__(self, dense: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def __init__(self, indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], n_columns: int) -> None: ...

def solve_logistic(x: Matrix, extras: Matrix | None, labels: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, weight: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, C: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], extra_penalty: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], uses: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, start: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None, start_intercept: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], tolerance: float, max_newton: int, n_threads: int, coef: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')] | None, objective: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], held_out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], passes: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu')], converged: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu')]) -> None:
    """
    Solve many logistic problems over one design along paths of penalties; see native/logistic.hpp.
    """

def fill_uniform(seed: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], draw: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Fill out[i, j] with the uniform number in (0, 1) that belongs to (seed, rows[i], draw, j).
    """
