"""How much memory learning from a stream takes, counted before it is taken."""

from __future__ import annotations

from labelweave.data.files import Limits
from labelweave.models.online.panels import panel_bytes, panel_slices

# Measured with tracemalloc, from the first row to the saved model. A label has 1,040 bytes of
# counts for calibration, and its name takes kilobytes while the model file is written.
_LABEL = 6500
# The row up to which a feature has forgotten, its copy when others join, and in the file.
_FEATURE = 40
# A label of a row that is being learned: its scores and probabilities, and the ranks of these.
_CELL = 52


def check_room(limits: Limits, n_features: int, n_labels: int, n_rows: int, source: str) -> None:
    """Raise ValueError if learning needs more memory than the limit."""
    panels = panel_bytes(1 + n_features, n_labels)
    widest = max((labels.stop - labels.start for labels in panel_slices(n_labels)), default=0)
    # A panel is copied while features join. The model file has another copy of all weights, and
    # two more of one panel while it is written.
    copies = max(8 * (1 + n_features) * (n_labels + 2 * widest), max(panels, default=0))
    needed = sum(panels) + copies + _FEATURE * n_features + (_LABEL + _CELL * n_rows) * n_labels
    what = f"a model of {n_features:,} features and {n_labels:,} labels"
    limits.check_memory(needed, what, source)
