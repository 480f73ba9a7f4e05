"""Charts as inline SVG, drawn by matplotlib, in the colours and the font of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from functools import singledispatch
from typing import Any
from xml.etree import ElementTree

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.drawing import COLOURS, EDGE, INK, literal
from labelweave.report.document import Chart, LineChart, RankDiagram, Strips, clean

# Inches. At this width, the text is readable on a phone.
_WIDTH = 5.0
_FONT_SIZE = 11.0
_SETTINGS: Any = {
    "font.size": _FONT_SIZE,
    "axes.labelsize": _FONT_SIZE,
    "xtick.labelsize": _FONT_SIZE,
    "ytick.labelsize": _FONT_SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.formatter.useoffset": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "labelweave",
}
# Colours of the page, light or dark.
_VARIABLES = {
    **{colour: f"var(--series-{k})" for k, colour in enumerate(COLOURS)},
    INK: "currentColor",
    EDGE: "var(--edge)",
    "#ffffff": "var(--page)",
}
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_REFERENCE = re.compile(r"url\(#([^)]+)\)|^#(.+)")
# Larger numbers overflow in the arithmetic of axes.
_NARROWEST = 1e-6  # decades of a logarithmic axis
_LARGEST = 1e100


def draw(chart: Chart, name: str) -> str | None:
    """Return a chart as an SVG element; None without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        return None
    file = io.StringIO()
    # Axes over many powers of ten divide by numbers that round to zero.
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings(), np.errstate(all="ignore"):
        # The browser has glyphs that matplotlib's font lacks.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(layout="constrained")
        figure.set_size_inches(_WIDTH, _draw(chart, figure.subplots()))
        figure.savefig(file, format="svg", transparent=True, metadata=_METADATA)
    return _inline(file.getvalue(), name, chart.title)


@singledispatch
def _draw(chart: Chart, panel: Any) -> float:
    """Draw a chart and return its height in inches."""
    raise TypeError(f"chart must be a chart of a document; got {type(chart).__name__}")


@_draw.register
def _(chart: LineChart, panel: Any) -> float:
    from labelweave.plots.canvas import draw_line, tidy

    tidy(panel)
    _scale(panel, chart)
    # Series of one name look the same, except that a published line is dashed.
    looks: dict[str, int] = {}
    handles = []
    for series in chart.series:
        look = looks.setdefault(series.name, len(looks))
        x, y = _known(series.x, chart.x_log), _known(series.y, chart.y_log)
        error = np.abs(np.nan_to_num(_known(series.error)))
        line = "--" if series.dashed else "-"
        handles.append(draw_line(panel, "", x, y, look, linestyle=line, error=error))
    panel.set_xlabel(_words(chart.x_label))
    panel.set_title(_words(chart.y_label), loc="left", fontsize=_FONT_SIZE)
    return 3.4 + _legend(panel.figure, handles, [_words(series.name) for series in chart.series])


@_draw.register
def _(chart: Strips, panel: Any) -> float:
    from labelweave.plots.comparisons import draw_strips

    scores = {clean(name): _known(values) for name, values in chart.scores.items()}
    standings = chart.standings and {clean(n): s for n, s in chart.standings.items()}
    marks = draw_strips(panel, scores, standings)
    panel.set_xlabel(_words(chart.label))
    panel.locator_params(axis="x", nbins=6)
    height = _names_above(panel) * len(scores) + 0.8
    return height + _legend(panel.figure, list(marks.values()), list(marks))


@_draw.register
def _(chart: RankDiagram, panel: Any) -> float:
    from labelweave.plots.comparisons import draw_ranks

    ranks = {clean(name): float(rank) for name, rank in chart.ranks.items()}
    return draw_ranks(panel, ranks, chart.critical_difference)


def _known(values: tuple[float, ...], log: bool = False) -> Floats:
    """Return values, with NaN in place of those that an axis cannot show."""
    numbers = np.asarray(values, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        has_place = np.abs(numbers) <= _LARGEST
        if log:
            has_place &= numbers >= 1 / _LARGEST
    return np.where(has_place, numbers, np.nan)


def _words(text: str) -> str:
    """Return text as matplotlib draws it, short enough for one line of a figure."""
    from labelweave.plots.canvas import shortened

    return literal(shortened(clean(text), 52))


def _scale(panel: Any, chart: LineChart) -> None:
    """Make axes logarithmic if the chart asks for it, and ticks whole numbers if all x are."""
    xs = _known(tuple(x for series in chart.series for x in series.x), chart.x_log)
    ys = _known(tuple(y for series in chart.series for y in series.y), chart.y_log)
    if chart.x_log:
        panel.set_xscale("log")
        _log_ticks(panel.xaxis, xs, panel.set_xlim)
    elif (xs == np.round(xs)).all():
        panel.locator_params(axis="x", integer=True)
    if chart.y_log:
        panel.set_yscale("log")
        _log_ticks(panel.yaxis, ys, panel.set_ylim)
    if not (np.isfinite(xs).any() and np.isfinite(ys).any()):
        panel.text(0.5, 0.5, "no data", transform=panel.transAxes, ha="center", color=EDGE)


def _log_ticks(axis: Any, values: Floats, limit: Callable[[float, float], Any]) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    known = values[np.isfinite(values)]
    decades = np.ptp(np.log10(known)) if len(known) else 0.0
    if len(known) and decades < _NARROWEST:  # matplotlib would find no limits for equal values
        limit(known[0] / 10, known[0] * 10)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)))
    axis.set_minor_locator(NullLocator())
    # Plain text: the glyphs of a formula would be placed by the metrics of matplotlib's own font.
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def _legend(figure: Any, handles: list[Any], names: list[str]) -> float:
    """Draw a legend below the panel, in two columns if names are short; return its height."""
    if not handles:
        return 0.0
    columns = 2 if max(map(len, names)) <= 26 else 1
    figure.legend(
        handles, names, loc="outside lower left", ncols=columns, frameon=False, fontsize=10
    )
    return 0.2 * -(-len(handles) // columns) + 0.1


def _names_above(panel: Any) -> float:
    """Move long names above the strips; return the height of a strip."""
    from labelweave.plots.canvas import shortened

    names = [label.get_text() for label in panel.get_yticklabels()]
    if max(map(len, names), default=0) <= 18:
        return 0.36
    panel.set_yticks(np.arange(len(names)) - 0.32, [shortened(name, 52) for name in names])
    panel.tick_params(axis="y", length=0, pad=-4)
    for label in panel.get_yticklabels():
        label.set_horizontalalignment("left")
    return 0.56


def _inline(picture: str, name: str, title: str) -> str:
    """Return matplotlib's SVG with the page's style and colours, and with unique identifiers."""
    root = ElementTree.fromstring(picture)
    for element in list(root):
        if element.tag.endswith("metadata"):
            root.remove(element)
    referred = {
        found[1] or found[2]
        for element in root.iter()
        for value in element.attrib.values()
        if (found := _REFERENCE.search(value))
    }
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for style in [child for child in element if child.tag.endswith("style")]:
            element.remove(style)
        attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        element.attrib = {
            key: _own(value, f"{name}-") if key != "id" else f"{name}-{value}"
            for key, value in attributes.items()
            if key != "id" or value in referred
        }
        element.tail = None
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img"}
    root.attrib["aria-labelledby"] = f"{name}-title"
    caption = ElementTree.Element("title", id=f"{name}-title")
    caption.text = clean(title) or " "
    root.insert(0, caption)
    return ElementTree.tostring(root, encoding="unicode")


def _own(value: str, prefix: str) -> str:
    """Return an attribute with the page's colours and font, and with unique identifiers."""
    # Versions of matplotlib before 3.11 write the whole font in one property.
    value = re.sub(r"font: (?:\w+ )*([\d.]+px) [^;]*", r"font-size: \1", value)
    value = re.sub(r"font-family: [^;]*;? *", "", value)
    value = re.sub(r"#[0-9a-f]{6}\b", lambda found: _VARIABLES.get(found[0], found[0]), value)
    value = re.sub(r"url\(#", f"url(#{prefix}", value)
    return re.sub(r"^#(?=\w)", f"#{prefix}", value)
