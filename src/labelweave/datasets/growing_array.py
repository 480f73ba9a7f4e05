"""Arrays written to .npy files piece by piece, without knowing their length in advance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from labelweave._common.files import replacing


class GrowingArray:
    """A .npy file that is being written, one piece along the first axis after another."""

    def __init__(self, file: BinaryIO, dtype: DTypeLike, row_shape: tuple[int, ...]) -> None:
        self.n_rows = 0
        self._file, self._dtype, self._row_shape = file, np.dtype(dtype), row_shape
        self._write_header()

    def append(self, rows: NDArray[Any]) -> None:
        """Write some more rows."""
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self.n_rows += len(rows)

    def finish(self) -> None:
        """Write how many rows there are."""
        self._file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        # NumPy leaves room for the length to grow: the header has the same size however long it is.
        npy.write_array_header_1_0(
            self._file,
            {
                "descr": npy.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self.n_rows, *self._row_shape),
            },
        )


@contextmanager
def growing_array(
    path: Path, dtype: DTypeLike, row_shape: tuple[int, ...] = ()
) -> Iterator[GrowingArray]:
    """Write a .npy file that takes its name only when it is complete.

    Parameters
    ----------
    path : Path
    dtype : dtype
    row_shape : tuple of int
        The shape without the first axis.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.npy")
    ...     with growing_array(path, np.int32) as numbers:
    ...         numbers.append(np.array([3, 1]))
    ...         numbers.append(np.array([4]))
    ...     np.load(path)
    array([3, 1, 4], dtype=int32)
    """
    with replacing(path) as file:
        array = GrowingArray(file, dtype, row_shape)
        yield array
        array.finish()
