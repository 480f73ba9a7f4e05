"""Compiled kernels of labelweave."""

from collections.abc import Sequence
from typing import Annotated

import numpy
from numpy.typing import NDArray


def fill_uniform(seed: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], draw: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Fill out[i, j] with the uniform number in (0, 1) that belongs to (seed, rows[i], draw, j).
    """

def parse_arff_rows(text: bytes, offset: int, line: int, source: str, names: Sequence[str], target: Sequence[int], domain: Sequence[int], domains: Sequence[tuple[Sequence[str], Sequence[float]]]) -> tuple[bool, int, Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int8], dict(shape=(None,), order='C')]]:
    """
    Parse what follows the @data line: (sparse, n_rows, data, columns, row_starts, labels).
    """

def parse_xmc(text: bytes, source: str) -> tuple[tuple[int, int, int], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C')], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C')]]:
    """
    Parse XMC text: ((n, D, L), data, columns, row_starts, labels, label_starts).
    """
