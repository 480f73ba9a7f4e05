"""What the forms of a joint distribution ask of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Evidence: TypeAlias = Mapping[int | str, npt.ArrayLike]

# A hundred million of these can be added up before a double overflows.
_MOST_LOG_ODDS = 1e300


def check_matrix(values: npt.ArrayLike, name: str, *, finite: bool = True) -> Floats:
    """``values`` as a C-ordered float64 matrix with at least one column."""
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


def check_log_odds(values: npt.ArrayLike, name: str) -> Floats:
    """``values`` as `check_matrix` gives them, bounded so that their sums are finite.

    Beyond a few hundred a log-odds is certainty, so that nothing changes but numbers that no double
    could hold.
    """
    matrix = check_matrix(values, name)
    if (
        np.max(matrix, initial=0.0) > _MOST_LOG_ODDS
        or np.min(matrix, initial=0.0) < -_MOST_LOG_ODDS
    ):
        return np.clip(matrix, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)
    return matrix


def check_labels(Y: npt.ArrayLike, n_rows: int, n_labels: int, name: str = "Y") -> Labels:
    """``Y`` as an int8 matrix of zeros and ones with the shape of the batch."""
    values = np.asarray(Y)
    if values.shape != (n_rows, n_labels):
        raise ValueError(
            f"{name} must have shape ({n_rows}, {n_labels}), one row per instance and one column "
            f"per label; its shape is {values.shape}"
        )
    return _as_int8(values, (0, 1), name)


def _as_int8(values: npt.NDArray[Any], allowed: tuple[int, ...], name: str) -> Labels:
    """``values`` as int8, if they are among the consecutive whole numbers ``allowed``."""
    if values.dtype == object:
        raise ValueError(f"{name} must be numeric, with values in {allowed}")
    if values.dtype.kind in "biu":  # much faster than asking for each value
        valid = bool(np.min(values, initial=0) >= allowed[0]) and bool(
            np.max(values, initial=0) <= allowed[-1]
        )
    else:
        valid = bool(np.isin(values, allowed).all())
    if not valid:
        raise ValueError(f"{name} must only contain values in {allowed}")
    return np.ascontiguousarray(values, dtype=np.int8)


def check_label_names(names: Sequence[str] | None, n_labels: int) -> tuple[str, ...] | None:
    """Label names as a tuple of distinct strings, one per label."""
    if names is None:
        return None
    result = tuple(str(name) for name in names)
    if len(result) != n_labels or len(set(result)) != n_labels:
        raise ValueError(
            f"label_names must be {n_labels} distinct names, one per label; got {result!r}"
        )
    return result


def check_row_ids(row_ids: npt.ArrayLike | None, n_rows: int) -> Indices:
    """Row ids as int64; by default the rows are numbered from zero."""
    if row_ids is None:
        return np.arange(n_rows, dtype=np.int64)
    ids = np.ascontiguousarray(row_ids, dtype=np.int64)
    if ids.shape != (n_rows,):
        raise ValueError(f"row_ids must have one id for each of the {n_rows} rows")
    return ids


def check_order(order: npt.ArrayLike | None, n_labels: int) -> Indices:
    """Return a permutation of the labels; by default their own order."""
    if order is None:
        return np.arange(n_labels, dtype=np.int64)
    result = np.ascontiguousarray(order, dtype=np.int64)
    if result.shape != (n_labels,) or not np.array_equal(np.sort(result), np.arange(n_labels)):
        raise ValueError(
            f"order must name each of the labels 0 to {n_labels - 1} once; got {np.asarray(order)}"
        )
    return result


def check_count(value: int, name: str, minimum: int = 1) -> int:
    """Return a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise ValueError(f"{name} must be a whole number of at least {minimum}; got {value!r}")
    return int(value)


def resolve_seed(random_state: RandomState) -> int:
    """Return the 64-bit seed a random state stands for; None counts as 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return check_count(random_state, "random_state", minimum=0) % 2**64


def derive_seed(seed: int, stream: int) -> int:
    """Return a seed for an independent stream of random numbers."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0])


def resolve_evidence(
    evidence: Evidence, n_rows: int, n_labels: int, label_names: tuple[str, ...] | None
) -> Labels:
    """Evidence as an int8 matrix of 0, 1 and -1 (unknown), one row per instance."""
    known = np.full((n_rows, n_labels), -1, dtype=np.int8)
    seen: set[int] = set()
    for key, value in evidence.items():
        label = _label_index(key, n_labels, label_names)
        if label in seen:
            raise ValueError(f"evidence names label {label} twice, by index and by name")
        seen.add(label)
        values = np.asarray(value)
        if values.shape not in ((), (n_rows,)):
            raise ValueError(
                f"evidence[{key!r}] must be one value or an array of {n_rows} values, one per row; "
                f"its shape is {values.shape}"
            )
        known[:, label] = _as_int8(values, (-1, 0, 1), f"evidence[{key!r}]")
    return known


def _label_index(key: int | str, n_labels: int, label_names: tuple[str, ...] | None) -> int:
    if isinstance(key, str):
        if label_names is None:
            raise ValueError(f"evidence names label {key!r}, but the labels have no names: use 0…")
        if key not in label_names:
            raise ValueError(f"evidence names unknown label {key!r}; known are {label_names}")
        return label_names.index(key)
    if isinstance(key, bool) or not isinstance(key, int | np.integer) or not 0 <= key < n_labels:
        raise ValueError(f"evidence names label {key!r}; labels are 0 to {n_labels - 1}")
    return int(key)
