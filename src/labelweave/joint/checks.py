"""Checks of the arguments from which joint distributions are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_matrix

# How far the probabilities or weights of a row may be from summing to one.
SUM_TOLERANCE = 1e-6
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
