"""Compiled kernels of labelweave."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def fill_uniform(seed: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], draw: int, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu')], n_threads: int = 1) -> None:
    """
    Fill out[i, j] with the uniform number in (0, 1) that belongs to (seed, rows[i], draw, j).
    """
