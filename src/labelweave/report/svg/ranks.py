"""Critical-difference diagrams after Demšar (2006)."""

from __future__ import annotations

import math

from labelweave.report.charts import RankDiagram
from labelweave.report.svg.element import (
    WIDTH,
    drawing,
    element,
    shortened,
    text,
    text_width,
    title,
)
from labelweave.report.svg.scales import Scale

__all__ = ["draw_ranks", "indistinguishable_groups"]

_AXIS = 56.0
_BAR, _ROW = 9.0, 22.0


def indistinguishable_groups(
    ranks: dict[str, float], critical_difference: float
) -> list[tuple[str, ...]]:
    """Return the largest groups of methods whose ranks differ by less than the critical difference.

    Examples
    --------
    >>> indistinguishable_groups({"a": 1.2, "b": 2.0, "c": 3.1}, 1.15)
    [('a', 'b'), ('b', 'c')]
    """
    order = sorted(ranks, key=ranks.__getitem__)
    groups: list[tuple[str, ...]] = []
    reached = 0
    for start, first in enumerate(order):
        end = start
        while end < len(order) and ranks[order[end]] - ranks[first] < critical_difference:
            end += 1
        # A group that ends where an earlier one does is part of it.
        if end > max(reached, start + 1):
            groups.append(tuple(order[start:end]))
        reached = max(reached, end)
    return groups


def draw_ranks(diagram: RankDiagram, name: str) -> str:
    """Return a diagram as SVG: best rank at the left, names in a column beside the axis."""
    ranks = {method: rank for method, rank in diagram.ranks.items() if math.isfinite(rank)}
    order = sorted(ranks, key=ranks.__getitem__)
    groups = indistinguishable_groups(ranks, diagram.critical_difference)
    names = min(max(map(text_width, order), default=0.0), 0.42 * WIDTH)
    # Expected average ranks lie between 1 and the number of methods; others widen the axis.
    lowest = min([1.0, *ranks.values()])
    highest = max([2.0, float(len(diagram.ranks)), *ranks.values()])
    scale = Scale(math.floor(lowest), math.ceil(highest), names + 60, WIDTH - 16)
    first_row = _AXIS + 12 + _BAR * len(groups) + 14
    content = [_axis(scale), _ruler(scale, diagram.critical_difference)]
    for place, method in enumerate(order):
        content.append(_method(method, ranks[method], scale, first_row + place * _ROW, names))
    for level, group in enumerate(groups):
        content.append(_group(group, ranks, scale, _AXIS + 12 + level * _BAR))
    return drawing(name, diagram.title, first_row + _ROW * len(order), *content)


def _axis(scale: Scale) -> str:
    stride = max(round((scale.high - scale.low) / 10), 1)
    ticks = [
        element(
            "g",
            element("line", class_="axis", x1=scale(rank), x2=scale(rank), y1=_AXIS - 6, y2=_AXIS),
            text(str(rank), scale(rank), _AXIS - 11, "middle"),
            class_="tick-x",
            data_value=repr(float(rank)),
            data_at=scale(rank),
        )
        for rank in range(int(scale.low), int(scale.high) + 1, stride)
    ]
    line = element("line", class_="axis", x1=scale.start, x2=scale.end, y1=_AXIS, y2=_AXIS)
    return "".join([*ticks, line])


def _ruler(scale: Scale, critical_difference: float) -> str:
    """Return a line as long as the critical difference, or as the axis if that is shorter."""
    if not math.isfinite(critical_difference):
        return ""
    end = min(scale(scale.low + critical_difference), scale.end)
    wider = " (longer than the axis)" if scale(scale.low + critical_difference) > scale.end else ""
    line = element("path", class_="axis ruler", d=f"M{scale.start:.2f} 16v8m0 -4H{end:.2f}m0 -4v8")
    return line + text(f"CD = {critical_difference:.3g}{wider}", scale.start, 11)


def _method(method: str, rank: float, scale: Scale, y: float, names: float) -> str:
    """Return a name, and the line from it to the rank on the axis.

    Methods are in the order of their ranks from top to bottom, hence no two lines cross.
    """
    x = scale(rank)
    return element(
        "g",
        title(f"{method}: {rank:.2f}"),
        element("path", class_="lead", d=f"M{x:.2f} {_AXIS:.2f}V{y:.2f}H{names + 42:.2f}"),
        element("circle", class_="rank", cx=x, cy=_AXIS, r=3.5),
        text(shortened(method, names + 1), 0.0, y + 4.5),
        text(f"{rank:.2f}", names + 36, y + 4.5, "end"),
        class_="method",
        data_name=method,
    )


def _group(group: tuple[str, ...], ranks: dict[str, float], scale: Scale, y: float) -> str:
    low, high = scale(ranks[group[0]]), scale(ranks[group[-1]])
    return element("line", class_="group", x1=low - 5, x2=high + 5, y1=y, y2=y)
