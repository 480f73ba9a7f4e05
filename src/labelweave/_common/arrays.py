"""Types of arrays, one name for each."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
#: Label vectors, 0 or 1; -1 stands for a label that is unknown or still free.
Labels: TypeAlias = NDArray[np.int8]
#: Label indicator matrices as scikit-learn has them, whose sums do not overflow.
Indicators: TypeAlias = NDArray[np.int64]
#: Numbers of rows, labels or features as the kernels take them, and keys of rows.
Indices: TypeAlias = NDArray[np.int64]
#: Places in an array as NumPy gives them, by sorting or searching.
Positions: TypeAlias = NDArray[np.intp]
Counts: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


def longer(array: NDArray[Any], length: int, new: float = 0.0) -> NDArray[Any]:
    """Return the array with rows of the number `new` at its end, up to this length."""
    added = np.full((length - len(array), *array.shape[1:]), new, dtype=array.dtype)
    return np.concatenate([array, added])


def is_mapped(array: Any) -> bool:
    """Whether the numbers of an array lie in a file: it is a memory map, or a view of one."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None
