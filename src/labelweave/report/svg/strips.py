"""Strips of dots: one per method, a dot for each fold, and a line at the mean."""

from __future__ import annotations

from labelweave.report.charts import Strips
from labelweave.report.svg.axes import horizontal_axis
from labelweave.report.svg.element import WIDTH, drawing, element, shortened, text, text_width
from labelweave.report.svg.scales import Scale, fitted, is_drawable

__all__ = ["draw_strips"]

_TOP, _BOTTOM, _RIGHT = 8.0, 42.0, 14.0
_ROW = 26.0


def draw_strips(strips: Strips, name: str) -> str:
    """Return a chart as SVG; names stand beside the strips, or above them if they are long."""
    names = max(map(text_width, strips.scores), default=0.0)
    beside = names <= 0.34 * WIDTH
    row = _ROW if beside else _ROW + 18
    bottom = _TOP + row * max(len(strips.scores), 1)
    values = [value for scores in strips.scores.values() for value in scores]
    scale = fitted(values, names + 18 if beside else 14.0, WIDTH - _RIGHT)
    content = [horizontal_axis(scale, bottom, _TOP, strips.label)]
    for place, (method, scores) in enumerate(strips.scores.items()):
        y = _TOP + place * row + (row - _ROW / 2)
        room = names + 1 if beside else WIDTH - 4
        at = (0.0, y + 4.5) if beside else (0.0, y - 14)
        content += [text(shortened(method, room), *at), _strip(method, scores, scale, y)]
    return drawing(name, strips.title, bottom + _BOTTOM, *content)


def _strip(method: str, scores: tuple[float, ...], scale: Scale, y: float) -> str:
    known = [value for value in scores if is_drawable(value)]
    dots = [element("circle", class_="dot", cx=scale(value), cy=y, r=4) for value in known]
    if known:
        at = scale(sum(value / len(known) for value in known))
        dots.append(element("line", class_="mean", x1=at, x2=at, y1=y - 9, y2=y + 9))
    line = element("line", class_="grid", x1=scale.start, x2=scale.end, y1=y, y2=y)
    return element("g", line, *dots, class_="strip", data_name=method)
