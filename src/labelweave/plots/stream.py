"""How well a stream is predicted as it is learned from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from labelweave._common.checks import check_whole_number
from labelweave._common.drawing import COLOURS, literal
from labelweave.models.online import StreamHistory
from labelweave.plots.canvas import Display, tidy

__all__ = ["StreamDisplay"]


class StreamDisplay(Display):
    r"""Prequential F1 over the rows of a stream: each batch was predicted before it was learned.

    Micro F1 over all rows so far is a solid line, macro F1 a dashed one, and micro F1 of the last
    `window` rows, which shows how good the model is by now, a thin one.

    Parameters
    ----------
    histories : StreamHistory, or mapping from name to StreamHistory
    window : int, optional
        Rows of the thin line; by default a twentieth of all rows. 0 leaves it out.

    Attributes
    ----------
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> import io
    >>> from matplotlib.figure import Figure
    >>> from labelweave.data.row_text import RowStream
    >>> from labelweave.models.online import StreamHistory, StreamLearner
    >>> history = StreamHistory()
    >>> stream = RowStream(io.BytesIO(b"0 1:1\n1 2:1\n" * 20))
    >>> StreamLearner(stream, batch_lines=10).run(history)
    >>> display = StreamDisplay.from_history(history, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'rows'
    """

    def __init__(
        self, histories: StreamHistory | Mapping[str, StreamHistory], *, window: int | None = None
    ) -> None:
        if isinstance(histories, StreamHistory):
            histories = {"": histories}
        self.histories = dict(histories)
        if not self.histories:
            raise ValueError("histories must hold at least one history")
        for name, history in self.histories.items():
            if len(history) == 0:
                which = f"histories[{name!r}]" if name else "histories"
                raise ValueError(f"{which} is empty: pass it to StreamLearner.run first")
        if window is not None:
            check_whole_number(window, "window", 0)
        self.window = window

    @classmethod
    def from_history(
        cls,
        histories: StreamHistory | Mapping[str, StreamHistory],
        *,
        window: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a `StreamHistory` took down during ``StreamLearner.run(history)``.

        Parameters
        ----------
        histories, window
            As in the class.
        ax : matplotlib Axes, optional
        """
        return cls(histories, window=window).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        """
        (panel,) = self._panels(ax, 1, (5.6, 3.4))
        tidy(panel)
        one = len(self.histories) == 1
        for k, (name, history) in enumerate(self.histories.items()):
            prefix = f"{literal(name)}: " if name else ""
            micro, macro = (COLOURS[0], COLOURS[1]) if one else (COLOURS[k % len(COLOURS)],) * 2
            rows = history.n_rows
            panel.plot(rows, history.micro, color=micro, label=f"{prefix}micro F1")
            panel.plot(rows, history.macro, "--", color=macro, label=f"{prefix}macro F1")
            window = int(-(-rows[-1] // 20)) if self.window is None else self.window
            recent = history.recent_micro(window) if window else np.full(len(rows), np.nan)
            if np.isfinite(recent).any():
                meaning = f"{prefix}micro F1, last {window:,} rows"
                style = {"color": micro, "linewidth": 0.9, "alpha": 0.6}
                panel.plot(rows, recent, label=meaning, **style)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        panel.set(xlabel="rows", ylabel="F1 before learning", ylim=(0, 1.02))
        panel.set_xlim(left=0)
        # Above the curves, which may be anywhere.
        where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3 if one else 2}
        panel.legend(fontsize=8, frameon=False, **where)
        return self
