"""How the predictions of a stream became better, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Counts, Floats
from labelweave._common.checks import check_whole_number

if TYPE_CHECKING:
    from labelweave.online.stream import StreamLearner


class StreamHistory:
    r"""Keeps what a `StreamLearner` says of itself after every batch.

    Examples
    --------
    >>> import io
    >>> from labelweave.datasets import RowStream
    >>> from labelweave.online import StreamLearner
    >>> history = StreamHistory()
    >>> stream = RowStream(io.BytesIO(b"0 1:1\n1 2:1\n" * 20))
    >>> StreamLearner(stream, batch_lines=10).run(history)
    >>> history.n_rows
    array([10, 20, 30, 40])
    >>> history.micro
    array([nan,  1.,  1.,  1.])
    """

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._macro: list[float] = []
        self._found: list[int] = []
        self._both: list[int] = []

    def __call__(self, learner: StreamLearner) -> None:
        """Take down how far the learner has come."""
        quality = learner.quality
        self._rows.append(learner.n_rows)
        self._macro.append(quality.macro())
        self._found.append(int(quality.found.sum()))
        self._both.append(int(quality.true.sum() + quality.given.sum()))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_rows(self) -> Counts:
        """Rows read after each batch."""
        return np.array(self._rows, dtype=np.int64)

    @property
    def macro(self) -> Floats:
        """Macro F1 over all rows so far; nan before any was predicted."""
        return np.array(self._macro, dtype=np.float64)

    @property
    def micro(self) -> Floats:
        """Micro F1 over all rows so far; nan before any was predicted."""
        return _f1(np.array(self._found), np.array(self._both))

    def recent_micro(self, window: int) -> Floats:
        """Return the micro F1 of the last rows before each point, nan while there are too few.

        Parameters
        ----------
        window : int
            Number of rows, rounded up to whole batches.
        """
        window = check_whole_number(window, "window")
        rows, found, both = self.n_rows, np.array(self._found), np.array(self._both)
        before = np.searchsorted(rows, rows - window, side="right") - 1
        known = before >= 0
        start = np.maximum(before, 0)
        recent = _f1(found - found[start], both - both[start])
        return np.where(known, recent, np.nan)


def _f1(found: Counts, both: Counts) -> Floats:
    value = np.full(len(both), np.nan)
    np.divide(2.0 * found, both, out=value, where=both > 0)
    return value
