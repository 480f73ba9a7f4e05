"""The weights of a posterior in memory: their layout, their size, and checks of stored ones.

Weights lie in panels: arrays (D, 2, labels) of float32 with the mean and the variance of every
weight, some labels in each. The weights of one feature in a panel lie together, on whole cache
lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave.data.files import Limits
from labelweave.models.online.calibration import N_BINS
from labelweave.models.online.settings import ProbitModel

Weights = NDArray[np.float32]
# Labels are processed sixteen at a time: a cache line of float32.
_BLOCK = 16
# Labels of the first panels, and of all later ones. Threads share the panels, so there should be
# several, with a boundary near half of the labels; but wide panels are read faster.
_FIRST_PANELS, _PANEL = (64, 64, 128, 256), 512


class WeightPanels:
    """Panels of 64, 64, 128, 256, 512, ... labels, to which features and labels can be added.

    New labels fill the last panel and then begin another, so that only one panel at a time is ever
    copied. Room for features is taken in growing steps, and costs no memory before it is used.
    """

    def __init__(self, prior_variance: float) -> None:
        #: New weights have this variance, and mean 0.
        self.prior_variance = prior_variance
        self.n_features = self.n_labels = 0
        self._panels: list[Weights] = []

    def grow(self, n_features: int, n_labels: int) -> None:
        room = len(self._panels[0]) if self._panels else 0
        if n_features > room:
            # The first allocation is exact: if the sizes are known, nothing is wasted.
            room = max(n_features, room + room // 2)
        for number, labels in enumerate(panel_slices(n_labels)):
            self._grow_panel(number, room, n_features, labels.stop - labels.start)
        self.n_features, self.n_labels = n_features, n_labels

    def _grow_panel(self, number: int, room: int, n_features: int, n_labels: int) -> None:
        known = self._panels[number] if number < len(self._panels) else _aligned(0, 0)
        n_known, width = (self.n_features if len(known) else 0), known.shape[2]
        if len(known) < room or width < n_labels:
            panel = _aligned(room, max(width, -(-n_labels // _BLOCK) * _BLOCK))
            panel[:n_known, 0, width:] = 0.0
            panel[:n_known, 1, width:] = self.prior_variance
            panel[:n_known, :, :width] = known[:n_known]
            self._panels[number : number + 1] = [panel]
        panel = self._panels[number]
        panel[n_known:n_features, 0] = 0.0
        panel[n_known:n_features, 1] = self.prior_variance

    def bound(self) -> list[Weights]:
        """Return the panels as kernels take them, including room for further labels."""
        return [panel[: self.n_features] for panel in self._panels]

    def views(self) -> list[Weights]:
        """Return the panels (D, 2, labels) themselves."""
        return [
            panel[: self.n_features, :, : labels.stop - labels.start]
            for panel, labels in zip(self._panels, panel_slices(self.n_labels), strict=True)
        ]


def longer(array: NDArray[Any], length: int, new: float = 0.0) -> NDArray[Any]:
    """Return the array with rows of the number `new` at its end, up to this length."""
    added = np.full((length - len(array), *array.shape[1:]), new, dtype=array.dtype)
    return np.concatenate([array, added])


def panel_slices(n_labels: int) -> list[slice]:
    """Return which labels each panel holds."""
    slices: list[slice] = []
    first = 0
    while first < n_labels:
        size = _FIRST_PANELS[len(slices)] if len(slices) < len(_FIRST_PANELS) else _PANEL
        slices.append(slice(first, min(first + size, n_labels)))
        first += size
    return slices


def _aligned(n_features: int, width: int) -> Weights:
    """Allocate a panel on whole cache lines, without touching the memory."""
    memory = np.empty(n_features * 2 * width + _BLOCK, dtype=np.float32)
    skipped = -(memory.ctypes.data // memory.itemsize) % _BLOCK
    return memory[skipped : skipped + n_features * 2 * width].reshape(n_features, 2, width)


# Bytes of a stream run from its first row to the saved model, measured with tracemalloc. A label
# has 1,040 bytes of counts for calibration, and its name takes kilobytes while the model file is
# written.
_LABEL_BYTES = 6500
# A feature: the row up to which it has forgotten, with copies while others join and in the file.
_FEATURE_BYTES = 40
# A label of a row that is being learned: its scores and probabilities, and their ranks.
_CELL_BYTES = 52


def check_room(limits: Limits, n_features: int, n_labels: int, n_rows: int, source: str) -> None:
    """Raise ValueError if learning needs more memory than the limit, before any is taken."""
    widths = [labels.stop - labels.start for labels in panel_slices(n_labels)] or [0]
    # Panels consist of whole cache lines.
    panels = [8 * (1 + n_features) * -(-width // _BLOCK) * _BLOCK for width in widths]
    # A panel is copied while features join. The model file has another copy of all weights, and
    # two more of one panel while it is written.
    copies = max(8 * (1 + n_features) * (n_labels + 2 * max(widths)), *panels)
    needed = sum(panels) + copies + _FEATURE_BYTES * n_features
    needed += (_LABEL_BYTES + _CELL_BYTES * n_rows) * n_labels
    what = f"a model of {n_features:,} features and {n_labels:,} labels"
    limits.check_memory(needed, what, source)


def check_posterior(arrays: Mapping[str, NDArray[Any]], model: ProbitModel) -> None:
    """Raise ValueError unless the arrays describe a posterior: shapes, types and values."""
    n_labels = len(arrays["positives"])
    n_biases = 1 if model.coupled else n_labels
    n_rows = int(_array(arrays, "n_rows", (), np.int64, most=np.inf))
    for name in ("positives", "observed"):
        _array(arrays, name, (n_labels,), np.int64, most=n_rows)
    n_weights = len(_array(arrays, "current", arrays["current"].shape[:1], np.int64, most=n_rows))
    if not n_weights:
        raise ValueError("there is no constant feature")
    _array(arrays, "bias_mean", (n_biases,), np.float64)
    _array(arrays, "bias_variance", (n_biases,), np.float64, most=np.inf)
    for number, labels in enumerate(panel_slices(n_labels)):
        name, shape = f"panel_{number}", (n_weights, 2, labels.stop - labels.start)
        if (_array(arrays, name, shape, np.float32)[:, 1] < 0).any():
            raise ValueError(f"{name} has negative variances")
    lengths = _array(arrays, "row_lengths", (2,), np.float64)
    # Features are divided by the mean length, if there are rows with features.
    if not ((lengths > 0).all() or (lengths == 0).all()):
        raise ValueError("row_lengths must hold the sum of lengths and their number")
    _array(arrays, "calibration", (n_labels, 2, N_BINS), np.float64, most=np.inf)


def _array(
    arrays: Mapping[str, NDArray[Any]],
    name: str,
    shape: tuple[int, ...],
    dtype: type,
    *,
    most: float | None = None,
) -> NDArray[Any]:
    """Return an array, checked: its numbers must be finite and, if given, from 0 to `most`."""
    array = arrays[name]
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != dtype:
        raise ValueError(f"{name} is not a {dtype.__name__} array of shape {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} has numbers that are not finite")
    if most is not None and ((array < 0) | (array > most)).any():
        raise ValueError(f"{name} has numbers outside 0 to {most}")
    return array
