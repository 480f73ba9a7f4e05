"""Line charts: a line with markers for each series, and error bars."""

from __future__ import annotations

from labelweave.report.charts import LineChart, Series
from labelweave.report.svg.axes import horizontal_axis, vertical_axis
from labelweave.report.svg.element import WIDTH, drawing, element, text, text_width
from labelweave.report.svg.markers import N_COLOURS, marker
from labelweave.report.svg.scales import Scale, fitted, is_drawable

__all__ = ["draw_lines", "draw_swatch", "styles"]

_HEIGHT = 300.0
_TOP, _BOTTOM, _RIGHT = 26.0, 46.0, 12.0


def styles(chart: LineChart) -> list[int]:
    """Return the number of each series' colour and marker.

    Series of one name look alike, so that a published line can be dashed beside the measured one.
    """
    numbers: dict[str, int] = {}
    return [numbers.setdefault(series.name, len(numbers)) for series in chart.series]


def draw_lines(chart: LineChart, name: str) -> str:
    """Return a chart as SVG; values that the scales cannot hold interrupt the lines."""
    xs, ys = _extent(chart)
    y_scale = fitted(ys, _HEIGHT - _BOTTOM, _TOP, chart.y_log)
    left = 10 + max(text_width(label) for _, label in y_scale.ticks())
    x_scale = fitted(xs, left, WIDTH - _RIGHT, chart.x_log)
    content = [
        horizontal_axis(x_scale, _HEIGHT - _BOTTOM, _TOP, chart.x_label),
        vertical_axis(y_scale, left, WIDTH - _RIGHT, chart.y_label),
        *(
            _draw_series(series, style, x_scale, y_scale)
            for series, style in zip(chart.series, styles(chart), strict=True)
        ),
    ]
    if not xs:
        content.append(text("no data", WIDTH / 2, _HEIGHT / 2, "middle", class_="label"))
    return drawing(name, chart.title, _HEIGHT, *content)


def draw_swatch(style: int, dashed: bool) -> str:
    """Return the small sample of a line that stands in the legend."""
    line = element(
        "path", class_=f"line series-{style % N_COLOURS}" + " dashed" * dashed, d="M1 8H33"
    )
    sample = line + marker(style, 17.0, 8.0, hollow=dashed)
    return element("svg", sample, class_="swatch", viewBox="0 0 34 16", aria_hidden="true")


def _extent(chart: LineChart) -> tuple[list[float], list[float]]:
    """Return the coordinates of all points that are drawn, and the ends of their error bars."""
    xs, ys = [], []
    for series in chart.series:
        errors = series.error or (0.0,) * len(series.y)
        for x, y, error in zip(series.x, series.y, errors, strict=True):
            if is_drawable(x, chart.x_log) and is_drawable(y, chart.y_log):
                xs.append(x)
                ys += [y, y - error, y + error]
    return xs, ys


def _draw_series(series: Series, style: int, x_scale: Scale, y_scale: Scale) -> str:
    points = [
        (x_scale(x), y_scale(y))
        if is_drawable(x, x_scale.log) and is_drawable(y, y_scale.log)
        else None
        for x, y in zip(series.x, series.y, strict=True)
    ]
    colour = f"series-{style % N_COLOURS}"
    line = element("path", class_=f"line {colour}" + " dashed" * series.dashed, d=_path(points))
    bars = [
        _error_bar(point, y - error, y + error, y_scale, colour)
        for point, y, error in zip(points, series.y, series.error, strict=False)
        if point
    ]
    markers = [marker(style, *point, hollow=series.dashed) for point in points if point]
    return element("g", line, *bars, *markers, class_="series", data_name=series.name)


def _path(points: list[tuple[float, float] | None]) -> str:
    """Return a line through the points that is interrupted where there is none."""
    steps, pen = [], "M"
    for point in points:
        if point:
            steps.append(f"{pen}{point[0]:.2f} {point[1]:.2f}")
        pen = "L" if point else "M"
    return "".join(steps)


def _error_bar(
    point: tuple[float, float], low: float, high: float, scale: Scale, colour: str
) -> str:
    # On a logarithmic axis, a bar that reaches zero ends at the axis.
    bottom = scale(low) if is_drawable(low, scale.log) else scale.start
    if not is_drawable(high, scale.log):
        return ""
    return element(
        "line", class_=f"error {colour}", x1=point[0], x2=point[0], y1=bottom, y2=scale(high)
    )
