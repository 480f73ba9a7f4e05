"""Scales: from values to positions, with ticks at 1, 2 and 5 times a power of ten."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Scale", "fitted", "is_drawable"]

# Beyond, and below its inverse, the arithmetic of scales might overflow or lose its digits.
_LARGEST = 1e100
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_drawable(value: float, log: bool = False) -> bool:
    """Whether a value has a place on a scale.

    Examples
    --------
    >>> is_drawable(float("nan")), is_drawable(-1.0), is_drawable(-1.0, log=True)
    (False, True, False)
    """
    if log:
        return 1 / _LARGEST <= value <= _LARGEST
    return -_LARGEST <= value <= _LARGEST


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from [low, high] to [start, end].

    Examples
    --------
    >>> Scale(1, 100, 0, 200, log=True)(10)
    100.0
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log10(low), math.log10(high), math.log10(value)
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self, at_most: int = 6) -> list[tuple[float, str]]:
        """Return the values that have a tick, with their labels.

        Examples
        --------
        >>> [label for _, label in Scale(0.18, 0.41, 0, 1).ticks()]
        ['0.20', '0.25', '0.30', '0.35', '0.40']
        >>> [label for _, label in Scale(0.5, 3e6, 0, 1, log=True).ticks()]
        ['1', '10', '100', '1,000', '10,000', '10⁵', '10⁶']
        >>> [label for _, label in Scale(900, 25_000, 0, 1, log=True).ticks()]
        ['1,000', '2,000', '5,000', '10,000', '20,000']
        """
        return self._log_ticks(at_most) if self.log else self._linear_ticks(at_most)

    def _linear_ticks(self, at_most: int) -> list[tuple[float, str]]:
        step = _step((self.high - self.low) / at_most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [number * step for number in range(first, last + 1)]
        largest = max(abs(self.low), abs(self.high))
        if largest >= 1e6 or step < 1e-5:
            digits = max(math.floor(math.log10(largest)) - math.floor(math.log10(step)), 0)
            return [(value, _power(value, digits)) for value in values]
        decimals = max(-math.floor(math.log10(step) + 1e-9), 0)
        return [(value, f"{value:.{decimals}f}") for value in values]

    def _log_ticks(self, at_most: int) -> list[tuple[float, str]]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        decades = max(last - first, 1)
        if math.log10(self.high / self.low) > 2:
            # All multiples of a whole number of decades, so that ticks are evenly spaced.
            stride = math.ceil(decades / (at_most + 2))
            powers = range(first + -first % stride, last + 1, stride)
            values = [10.0**power for power in powers]
        else:
            values = [m * 10.0**power for power in range(first, last + 1) for m in (1, 2, 5)]
        inside = [v for v in values if self.low <= v * (1 + 1e-9) and v <= self.high * (1 + 1e-9)]
        if len(inside) < 2:
            return Scale(self.low, self.high, 0, 1)._linear_ticks(at_most)
        return [(value, _decimal(value)) for value in inside]


def fitted(values: Iterable[float], start: float, end: float, log: bool = False) -> Scale:
    """Return a scale that holds all values that can be drawn, with a little room at both ends.

    Examples
    --------
    >>> scale = fitted([0.2, 0.4, float("nan")], 0, 100)
    >>> scale.low < 0.2 and 0.4 < scale.high
    True
    """
    known = [float(value) for value in values if is_drawable(value, log)]
    low, high = (min(known), max(known)) if known else (1.0, 10.0) if log else (0.0, 1.0)
    if log:
        wide = high / low > 1 + 1e-6
        room = (high / low) ** 0.04 if wide else 2.0
        return Scale(low / room, high * room, start, end, log)
    size = max(abs(low), abs(high))
    if high - low > max(1e-6 * size, 1 / _LARGEST):
        room = 0.04 * (high - low)
    else:
        room = 0.05 * size if size > 1 / _LARGEST else 0.5
    return Scale(low - room, high + room, start, end)


def _step(at_least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not less."""
    power = 10.0 ** math.floor(math.log10(at_least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= at_least * (1 - 1e-9))


def _decimal(value: float) -> str:
    if not 1e-3 <= value < 99_999:
        return _power(value, 0)
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _power(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPTS)
    return {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa}·{power}")
