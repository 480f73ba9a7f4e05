"""Labels by labels, as colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Indices
from labelweave._common.drawing import EDGE, literal
from labelweave.plots.canvas import Display, display_labels

__all__ = ["HeatMap"]

# Numbers fit into the cells of at most this many labels.
_MOST_WITH_NUMBERS = 14
_BLANK = "#eef1f4"
_ENDLESS = 1e3  # matplotlib would leave infinite cells blank
_LIGHT = 0.5  # relative luminance above which black is easier to read than white


class HeatMap(Display):
    """A matrix over pairs of labels, as colours; what a label has with itself is left blank.

    Attributes
    ----------
    shown_ : (K,) int array
        The labels that are drawn.
    image_ : matplotlib AxesImage
    ax_, axes_, figure_
        As in `Display`.
    """

    label_names: tuple[str, ...]
    title: str
    shown_: Indices
    image_: Any

    def _draw_cells(
        self,
        ax: Any,
        matrix: Floats,
        *,
        beside: Sequence[str] | None = None,
        extend: str = "neither",
        **colours: Any,
    ) -> None:
        """Draw the cells of the labels `shown_`, with numbers if there is room for them."""
        names = display_labels(self.label_names, self.shown_, longest=28)
        side = max(0.46 if len(names) <= _MOST_WITH_NUMBERS else 0.24, 2.4 / len(names))
        margin = 0.075 * max(map(len, names)) + 0.6
        size = (side * len(names) + margin + 1.2, side * len(names) + margin + 0.3)
        (panel,) = self._panels(ax, 1, size, layout="compressed")
        part = matrix[np.ix_(self.shown_, self.shown_)]
        cells = np.ma.masked_where(np.isnan(part) | np.eye(len(part), dtype=bool), part)
        panel.set_facecolor(_BLANK)
        self.image_ = panel.imshow(cells.clip(-_ENDLESS, _ENDLESS), **colours)
        _write_names(panel, names, beside)
        if len(names) <= _MOST_WITH_NUMBERS:
            self._write_numbers(panel, cells)
        bar = panel.figure.colorbar(
            self.image_, ax=panel, fraction=0.04, pad=0.02, shrink=0.8, extend=extend
        )
        bar.outline.set_visible(False)
        panel.set_title(literal(self.title), loc="left", fontsize=10)

    def _number(self, value: float) -> str:
        """Return a cell's value as it is written."""
        raise NotImplementedError

    def _write_numbers(self, panel: Any, cells: Any) -> None:
        for (i, j), value in np.ndenumerate(cells.filled(np.nan)):
            if np.isnan(value):
                continue
            shade = self.image_.cmap(self.image_.norm(np.clip(value, -_ENDLESS, _ENDLESS)))[:3]
            colour = "black" if np.dot(shade, (0.2126, 0.7152, 0.0722)) > _LIGHT else "white"
            text = self._number(float(value))
            panel.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)


def _write_names(panel: Any, names: list[str], beside: Sequence[str] | None) -> None:
    place = np.arange(len(names))
    panel.set_xticks(place, names, rotation=90 if len(names) > 6 else 40, fontsize=8)
    if len(names) <= 6:
        for text in panel.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    rows = names if beside is None else [f"{n}  {b}" for n, b in zip(names, beside, strict=True)]
    panel.set_yticks(place, rows, fontsize=8)
    panel.tick_params(length=0)
    panel.spines[:].set_color(EDGE)
