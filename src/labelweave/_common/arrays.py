"""Types of arrays, one name for each."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
#: Label vectors, 0 or 1; -1 stands for a label that is unknown or still free.
Labels: TypeAlias = NDArray[np.int8]
#: Label indicator matrices in scikit-learn's type, whose sums do not overflow.
Indicators: TypeAlias = NDArray[np.int64]
#: Numbers of rows, labels or features as the kernels take them, and keys of rows.
Indices: TypeAlias = NDArray[np.int64]
#: Positions in an array, as NumPy's sorting and searching return them.
Positions: TypeAlias = NDArray[np.intp]
Counts: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
