"""Validate the arrays of a stored posterior, whoever wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats
from labelweave.online.calibration import N_BINS
from labelweave.online.panels import panel_slices
from labelweave.online.settings import OnlineSettings


def check_posterior(arrays: Mapping[str, NDArray[Any]], settings: OnlineSettings) -> None:
    """Raise ValueError unless the arrays describe a posterior: shapes, types and values.

    Examples
    --------
    >>> from labelweave.online import OnlineState
    >>> arrays, settings = OnlineState(2, 3).to_arrays()
    >>> check_posterior(arrays, OnlineSettings(**settings))
    >>> check_posterior(arrays | {"bias_mean": np.array([np.nan])}, OnlineSettings(**settings))
    Traceback (most recent call last):
    ...
    ValueError: bias_mean has numbers that are not finite
    """
    n_labels = len(arrays["positives"])
    n_biases = 1 if settings.coupled else n_labels
    n_rows = int(_array(arrays, "n_rows", (), np.int64))
    for name in ("positives", "observed"):
        _require_between(_array(arrays, name, (n_labels,), np.int64), 0, n_rows, name)
    current = _array(arrays, "current", (len(arrays["current"]),), np.int64)
    if n_rows < 0 or not len(current):
        raise ValueError("n_rows is negative or there is no constant feature")
    _require_between(current, 0, n_rows, "current")
    _array(arrays, "bias_mean", (n_biases,), np.float64)
    _require_variance(_array(arrays, "bias_variance", (n_biases,), np.float64), "bias_variance")
    for number, labels in enumerate(panel_slices(n_labels)):
        name, shape = f"panel_{number}", (len(current), 2, labels.stop - labels.start)
        _require_variance(_array(arrays, name, shape, np.float32)[:, 1], name)
    _check_row_lengths(_array(arrays, "row_lengths", (2,), np.float64))
    counts = _array(arrays, "calibration", (n_labels, 2, N_BINS), np.float64)
    if counts.min(initial=0.0) < 0:
        raise ValueError("calibration has negative counts")


def _check_row_lengths(sums: Floats) -> None:
    """Rows have lengths above zero, or there are none: features are divided by their mean."""
    if not ((sums > 0).all() or (sums == 0).all()):
        raise ValueError("row_lengths is no sum of lengths and their number")


def as_count(value: Any) -> int:
    """Return a stored count, which is an int and not negative."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value


def _array(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...], dtype: type
) -> NDArray[Any]:
    array = arrays[name]
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
        raise ValueError(f"{name} is no {dtype.__name__} array of shape {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has numbers that are not finite")
    return array


def _require_between(values: NDArray[Any], low: int, high: int, name: str) -> None:
    if values.min(initial=low) < low or values.max(initial=low) > high:
        raise ValueError(f"{name} has numbers outside {low} to {high}")


def _require_variance(values: NDArray[Any], name: str) -> None:
    if values.min(initial=0.0) < 0:
        raise ValueError(f"{name} has negative variances")
