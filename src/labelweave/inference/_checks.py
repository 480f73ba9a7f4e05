"""What strategies ask of their settings."""

from __future__ import annotations

import math

import numpy as np


def check_number(
    value: float, name: str, *, minimum: float, maximum: float = math.inf, open_below: bool = False
) -> float:
    """Return a number between ``minimum`` and ``maximum``."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (minimum < value if open_below else minimum <= value) or value > maximum:
        above = "above" if open_below else "of at least"
        limit = "" if math.isinf(maximum) else f" and at most {maximum:g}"
        raise ValueError(f"{name} must be a number {above} {minimum:g}{limit}; got {value!r}")
    return float(value)
