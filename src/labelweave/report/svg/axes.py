"""The frame of a chart: axes with ticks, grid lines and labels."""

from __future__ import annotations

from labelweave.report.svg.element import element, text
from labelweave.report.svg.scales import Scale

__all__ = ["horizontal_axis", "vertical_axis"]


def horizontal_axis(scale: Scale, y: float, top: float, label: str) -> str:
    """Return an axis at height y, with grid lines up to the top and a label below."""
    ticks = [
        element(
            "g",
            element("line", class_="grid", x1=scale(value), x2=scale(value), y1=top, y2=y),
            text(written, scale(value), y + 16, "middle"),
            class_="tick-x",
            data_value=repr(value),
            data_at=scale(value),
        )
        for value, written in scale.ticks()
    ]
    line = element("line", class_="axis", x1=scale.start, x2=scale.end, y1=y, y2=y)
    middle = (scale.start + scale.end) / 2
    return "".join([*ticks, line, text(label, middle, y + 36, "middle", class_="label")])


def vertical_axis(scale: Scale, x: float, right: float, label: str) -> str:
    """Return an axis at x, with grid lines to the right and a label above its upper end."""
    ticks = [
        element(
            "g",
            element("line", class_="grid", x1=x, x2=right, y1=scale(value), y2=scale(value)),
            text(written, x - 6, scale(value) + 4.5, "end"),
            class_="tick-y",
            data_value=repr(value),
            data_at=scale(value),
        )
        for value, written in scale.ticks()
    ]
    line = element("line", class_="axis", x1=x, x2=x, y1=scale.start, y2=scale.end)
    return "".join([*ticks, line, text(label, 2, 14, class_="label")])
