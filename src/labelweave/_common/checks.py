"""Checks of arguments: one function, and one wording, for each kind of argument.

Each returns the checked value, or raises a `ValueError` that names the argument, its permitted
values and the value that was given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from labelweave._common.arrays import Floats, Labels


def check_whole_number(
    value: Any, name: str, minimum: int = 1, maximum: int | None = None, *, otherwise: str = ""
) -> int:
    """Return a whole number; ``otherwise`` describes other values that the caller permits."""
    if _is_whole(value) and minimum <= value and (maximum is None or value <= maximum):
        return int(value)
    range_ = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise _refused(value, name, f"a whole number {range_}", otherwise)


def check_number(
    value: Any,
    name: str,
    *,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    finite: bool = True,
    otherwise: str = "",
) -> float:
    """Return a number within closed (``minimum``, ``maximum``) or open bounds; never NaN."""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        # Infinite bounds permit infinity.
        is_above = minimum <= number and (above < number or above == -math.inf)
        is_below = number <= maximum and (number < below or below == math.inf)
        if is_above and is_below and not (finite and math.isinf(number)):
            return number
    bounds = {"of at least": minimum, "above": above, "at most": maximum, "below": below}
    stated = " and ".join(f"{words} {at:g}" for words, at in bounds.items() if math.isfinite(at))
    if math.isfinite(minimum) and math.isfinite(maximum):
        stated = f"from {minimum:g} to {maximum:g}"
    is_bounded = math.isfinite(max(minimum, above)) and math.isfinite(min(maximum, below))
    kind = "a finite number" if finite and not is_bounded else "a number"
    raise _refused(value, name, f"{kind} {stated}".rstrip(), otherwise)


def check_choice(value: Any, name: str, choices: Sequence[str], *, otherwise: str = "") -> str:
    if isinstance(value, str) and value in choices:
        return value
    *others, last = [*([otherwise] if otherwise else []), *map(repr, choices)]
    raise _refused(value, name, f"{', '.join(others)} or {last}" if others else last)


def check_flag(value: Any, name: str, *, otherwise: str = "") -> bool:
    if not isinstance(value, bool | np.bool_):
        raise _refused(value, name, "True or False", otherwise)
    return bool(value)


def check_n_jobs(n_jobs: Any) -> int:
    if not isinstance(n_jobs, Integral | None) or n_jobs == 0:
        raise _refused(n_jobs, "n_jobs", "None, a number of threads or -1 (all cores)")
    return int(effective_n_jobs(n_jobs))


def check_label(value: Any, name: str, n_labels: int, label_names: Sequence[str] | None) -> int:
    if isinstance(value, str):
        if label_names is not None and value in label_names:
            return list(label_names).index(value)
    elif _is_whole(value) and 0 <= value < n_labels:
        return int(value)
    names = "without names" if label_names is None else f"or {', '.join(map(repr, label_names))}"
    raise ValueError(
        f"{name} names the unknown label {value!r}: labels are 0 to {n_labels - 1}, {names}"
    )


def check_matrix(values: npt.ArrayLike, name: str, *, finite: bool = True) -> Floats:
    """Return ``values`` as a C-ordered float64 matrix with at least one column."""
    matrix = np.ascontiguousarray(values, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ValueError(
            f"{name} must be a matrix with one row per instance and at least one column; "
            f"its shape is {np.shape(values)}"
        )
    if np.isnan(matrix).any():
        raise ValueError(f"{name} contains NaN: every entry must be a number")
    if finite and not np.isfinite(matrix).all():
        raise ValueError(f"{name} contains infinite entries: clip them to finite log-odds")
    return matrix


def check_labels(Y: npt.ArrayLike, n_rows: int, n_labels: int, name: str = "Y") -> Labels:
    """Return ``Y`` as an int8 matrix of zeros and ones with the shape of the batch."""
    values = np.asarray(Y)
    if values.shape != (n_rows, n_labels):
        raise ValueError(
            f"{name} must have shape ({n_rows}, {n_labels}), one row per instance and one column "
            f"per label; its shape is {values.shape}"
        )
    return check_label_values(values, (0, 1), name)


def check_label_values(values: npt.NDArray[Any], allowed: tuple[int, ...], name: str) -> Labels:
    """Return ``values`` as int8, if they are among the consecutive whole numbers ``allowed``."""
    if values.dtype == object:
        raise ValueError(f"{name} must be numeric, with values in {allowed}")
    is_whole = values.dtype.kind in "biu"  # comparing the extremes is much faster than `isin`
    valid = _within(values, allowed) if is_whole else np.isin(values, allowed).all()
    if not valid:
        raise ValueError(f"{name} must only contain values in {allowed}")
    return np.ascontiguousarray(values, dtype=np.int8)


def are_binary(values: npt.NDArray[Any]) -> bool:
    """Whether whole numbers are all 0 or 1, without a copy; False for other types."""
    return values.dtype.kind in "biu" and _within(values, (0, 1))


def _within(values: npt.NDArray[Any], allowed: tuple[int, ...]) -> bool:
    low, high = np.min(values, initial=0), np.max(values, initial=0)
    return bool(low >= allowed[0] and high <= allowed[-1])


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _refused(value: Any, name: str, wanted: str, otherwise: str = "") -> ValueError:
    also = f"{otherwise} or " if otherwise else ""
    return ValueError(f"{name} must be {also}{wanted}; got {value!r}")


#: Random states as users give them.
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def resolve_seed(random_state: RandomState) -> int:
    """Return the 64-bit seed a random state stands for; None counts as 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return check_whole_number(random_state, "random_state", 0) % 2**64


def derive_seed(seed: int, stream: int) -> int:
    """Return a seed for an independent stream of random numbers."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0])


def is_one_of(value: Any, *names: str) -> bool:
    """Whether a value is one of these names, and not an array or a number."""
    return isinstance(value, str) and value in names
