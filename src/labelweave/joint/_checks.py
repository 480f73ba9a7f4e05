"""What the forms of a joint distribution ask of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_label, check_label_values, check_matrix

Evidence: TypeAlias = Mapping[int | str, npt.ArrayLike]

# A hundred million of these can be added up before a double overflows.
_MOST_LOG_ODDS = 1e300


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


def resolve_evidence(
    evidence: Evidence, n_rows: int, n_labels: int, label_names: tuple[str, ...] | None
) -> Labels:
    """Evidence as an int8 matrix of 0, 1 and -1 (unknown), one row per instance."""
    known = np.full((n_rows, n_labels), -1, dtype=np.int8)
    seen: set[int] = set()
    for key, value in evidence.items():
        label = check_label(key, "evidence", n_labels, label_names)
        if label in seen:
            raise ValueError(f"evidence names label {label} twice, by index and by name")
        seen.add(label)
        values = np.asarray(value)
        if values.shape not in ((), (n_rows,)):
            raise ValueError(
                f"evidence[{key!r}] must be one value or an array of {n_rows} values, one per row; "
                f"its shape is {values.shape}"
            )
        known[:, label] = check_label_values(values, (-1, 0, 1), f"evidence[{key!r}]")
    return known
