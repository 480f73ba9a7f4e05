"""From the label numbers of a text to the columns of a label matrix."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Indices, Labels


class LabelNumbers:
    """Which column belongs to which label number; numbers not seen before get the next column.

    Columns follow the first appearance of the numbers in the stream, and rows before it count as
    unknown (-1) of the label, so nothing depends on how the stream is batched.

    Parameters
    ----------
    known : iterable of int
        Numbers that have a column already, in the order of the columns.

    Examples
    --------
    >>> labels = LabelNumbers()
    >>> labels.matrix(np.array([7, 7, 3]), np.array([0, 1, 1, 3])).tolist()
    [[1, -1], [0, -1], [1, 1]]
    >>> labels.numbers
    [7, 3]
    """

    def __init__(self, known: Iterable[int] = ()) -> None:
        self.numbers = list(known)
        self._column = {number: column for column, number in enumerate(self.numbers)}

    def matrix(self, numbers: NDArray[np.integer], row_starts: Indices) -> Labels:
        """Return the (n, L) int8 matrix of rows whose label numbers stand one after the other."""
        n = len(row_starts) - 1
        rows = np.repeat(np.arange(n), np.diff(row_starts))
        distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        joined = {}
        for k in np.argsort(first):
            number = int(distinct[k])
            if number not in self._column:
                self._column[number] = len(self.numbers)
                joined[len(self.numbers)] = int(rows[first[k]])
                self.numbers.append(number)
        columns = np.array([self._column[int(number)] for number in distinct], dtype=np.int64)
        Y = np.zeros((n, len(self.numbers)), dtype=np.int8)
        for column, row in joined.items():
            Y[:row, column] = -1
        Y[rows, columns[inverse]] = 1
        return Y
