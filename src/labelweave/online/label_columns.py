"""From the label numbers of a text to the columns of a label matrix."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Indices, Labels


class LabelColumns:
    """The column of each label number; numbers not seen before get the next column.

    Columns follow the first appearance of the numbers in the stream, and rows before it count as
    unknown (-1) of the label, so nothing depends on how the stream is batched. A value: reading a
    batch with new labels returns another one.

    Parameters
    ----------
    numbers : iterable of int
        Numbers that have a column, in the order of the columns.

    Examples
    --------
    >>> columns, Y = LabelColumns().read(np.array([7, 7, 3]), np.array([0, 1, 1, 3]))
    >>> Y.tolist()
    [[1, -1], [0, -1], [1, 1]]
    >>> columns.numbers
    (7, 3)
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.numbers = tuple(numbers)
        self._column = {number: column for column, number in enumerate(self.numbers)}

    def count_with(self, numbers: NDArray[np.integer]) -> int:
        """Return how many labels there are with those of a batch."""
        return len(self.numbers) + len(set(numbers.tolist()) - self._column.keys())

    def read(
        self, numbers: NDArray[np.integer], row_starts: Indices
    ) -> tuple[LabelColumns, Labels]:
        """Return the columns after a batch, and its (n, L) int8 label matrix.

        Parameters
        ----------
        numbers : array of int
            The label numbers of all rows, one row after the other.
        row_starts : (n + 1,) array
            Where each row begins in `numbers`.
        """
        n = len(row_starts) - 1
        rows = np.repeat(np.arange(n), np.diff(row_starts))
        distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        new = [k for k in np.argsort(first) if int(distinct[k]) not in self._column]
        after = LabelColumns((*self.numbers, *distinct[new].tolist())) if new else self
        columns = np.array([after._column[int(number)] for number in distinct], dtype=np.int64)
        Y = np.zeros((n, len(after.numbers)), dtype=np.int8)
        for k in new:
            Y[: rows[first[k]], columns[k]] = -1
        Y[rows, columns[inverse]] = 1
        return after, Y
