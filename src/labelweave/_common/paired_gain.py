"""How sure a gain is that was seen on the same rows."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats


def in_standard_errors(gain: Floats, weight: Floats) -> float:
    """Return the mean of a gain over weighted rows, in standard errors; 0 if all gain the same.

    Examples
    --------
    >>> round(in_standard_errors(np.array([1.0, 0.0, 2.0]), np.ones(3)), 3)
    2.121
    """
    total = weight.sum()
    mean = weight @ gain / total
    error = np.sqrt(weight @ (gain - mean) ** 2) / total
    return float(mean / error) if error > 0 else 0.0
