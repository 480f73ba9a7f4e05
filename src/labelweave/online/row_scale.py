"""The mean length of rows, by which features are divided."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.online.csr import CsrArrays

# Longer rows count as this long: sums of lengths stay finite.
_LONGEST = 1e280


class RowScale:
    """The mean length ‖x‖ of the rows seen so far, those without features left out.

    Priors, noise and margin are stated for rows of length one, as the paper's are. Dividing
    features by the mean length makes it so for standardised measurements, too, whose rows are √D
    long, without hiding that some rows are longer than others. The mean of the rows up to and
    including a row scales that row: it settles soon, and does not depend on batches.

    Attributes
    ----------
    sums : (2,) array
        Sum of the lengths, and their number.

    Examples
    --------
    >>> scale = RowScale()
    >>> scale.mean
    1.0
    >>> scale.sums = scale.after(np.array([3.0, 0.0, 5.0]))[-1]
    >>> scale.mean
    4.0
    """

    def __init__(self) -> None:
        self.sums = np.zeros(2)

    @property
    def mean(self) -> float:
        """The mean length; 1 before there is any."""
        return float(mean_lengths(self.sums))

    def after(self, lengths: Floats) -> Floats:
        """Return `sums` after each of the rows, (n + 1, 2); the first are those of now."""
        steps = np.column_stack([np.minimum(lengths, _LONGEST), lengths > 0])
        # Accumulation adds one row after the other, however many come together.
        return np.cumsum(np.vstack([self.sums, steps]), axis=0)


def mean_lengths(sums: Floats) -> Floats:
    """Return the mean lengths that (..., 2) sums stand for; 1 where there are no rows."""
    total, count = sums[..., 0], sums[..., 1]
    return np.where(count > 0, total / np.maximum(count, 1.0), 1.0)


def row_lengths(rows: CsrArrays) -> Floats:
    """Return ‖x‖ of every row.

    Examples
    --------
    >>> starts, columns = np.array([0, 2, 2]), np.array([0, 1], dtype=np.int32)
    >>> row_lengths((starts, columns, np.array([3.0, 4.0])))
    array([5., 0.])
    """
    indptr, _, values = rows
    counts = np.diff(indptr)
    filled = counts > 0
    largest = np.ones(len(counts))
    if filled.any():
        largest[filled] = np.maximum.reduceat(np.abs(values), indptr[:-1][filled])
        largest[largest == 0] = 1.0
    # Neither squares of huge values nor those of tiny ones are lost; and one is added after the
    # other, so that stored zeros change nothing.
    relative = values / np.repeat(largest, counts)
    row = np.repeat(np.arange(len(counts)), counts)
    squares = np.bincount(row, relative * relative, minlength=len(counts))
    return np.minimum(largest * np.sqrt(squares), np.finfo(np.float64).max)


def divided(rows: CsrArrays, scales: Floats) -> CsrArrays:
    """Return the rows divided by their scales, (n,)."""
    indptr, indices, values = rows
    return indptr, indices, values / np.repeat(scales, np.diff(indptr))
