"""The figures of a document: as JSON for programs, and charts as tables for readers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from labelweave.report.charts import LineChart, RankDiagram, Strips
from labelweave.report.document import Document, Table

__all__ = ["Chart", "block_name", "chart_table", "document_json"]

Chart = LineChart | RankDiagram | Strips


def block_name(section: int, block: int) -> str:
    """Return the name by which page, data and labels refer to a block; both count from one."""
    return f"block-{section}-{block}"


def document_json(document: Document) -> str:
    r"""Return all blocks by name, as JSON that can stand within an HTML script element.

    Numbers that are not finite are the strings "nan", "inf" and "-inf".

    Examples
    --------
    >>> from labelweave.report import Paragraph, Section
    >>> document_json(Document("</script>", "", (Section("A", (Paragraph("b"),)),)))
    '{"title":"\\u003c/script\\u003e","blocks":{"block-1-1":{"kind":"Paragraph","text":"b"}}}'
    """
    content = {
        "title": document.title,
        "blocks": {
            block_name(number, place): _plain(block)
            for number, section in enumerate(document.sections, 1)
            for place, block in enumerate(section.blocks, 1)
        },
    }
    # ASCII only, and nothing that could end the script element or begin a comment in it.
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        content = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__} | content
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, str | bool):
        return value
    # Numbers, of Python or of NumPy.
    number = float(value)
    return number if math.isfinite(number) else str(number)


def chart_table(chart: Chart) -> Table:
    """Return the figures of a chart as a table.

    Examples
    --------
    >>> from labelweave.report import Series
    >>> line = Series("br", (1, 2), (0.5, 0.25))
    >>> chart_table(LineChart("Growth", "trees", "loss", (line,))).rows
    (('1', '0.5'), ('2', '0.25'))
    """
    if isinstance(chart, LineChart):
        return _lines_table(chart)
    if isinstance(chart, RankDiagram):
        ranks = sorted(chart.ranks.items(), key=lambda entry: entry[1])
        rows = tuple((method, f"{rank:.2f}") for method, rank in ranks)
        difference = f"Critical difference: {chart.critical_difference:.3g}."
        return Table(chart.title, ("method", "rank"), rows, _joined(chart.note, difference))
    columns = ("method", "folds", "mean", "lowest", "highest")
    summaries = tuple((name, *_summary(scores)) for name, scores in chart.scores.items())
    return Table(chart.title, columns, summaries, _joined(chart.note, f"Axis: {chart.label}."))


def _lines_table(chart: LineChart) -> Table:
    """Return one row per x and one column per series; a series that has x twice adds rows."""
    rows: dict[tuple[float, int], dict[int, str]] = {}
    for number, series in enumerate(chart.series):
        seen: dict[float, int] = {}
        errors = series.error or (math.nan,) * len(series.x)
        for x, y, error in zip(series.x, series.y, errors, strict=True):
            seen[x] = seen.get(x, -1) + 1
            rows.setdefault((x, seen[x]), {})[number] = _with_error(y, error)
    columns = (chart.x_label, *(series.name for series in chart.series))
    # nan compares with nothing: last.
    order = sorted(rows, key=lambda place: (math.isnan(place[0]), place))
    cells = tuple(
        (_number(place[0]), *(rows[place].get(k, "") for k in range(len(chart.series))))
        for place in order
    )
    return Table(chart.title, columns, cells, _joined(chart.note, f"Values: {chart.y_label}."))


def _summary(scores: tuple[float, ...]) -> tuple[str, str, str, str]:
    known = [score for score in scores if math.isfinite(score)]
    if not known:
        return "0", "–", "–", "–"
    mean = sum(score / len(known) for score in known)
    return str(len(known)), _number(mean), _number(min(known)), _number(max(known))


def _with_error(y: float, error: float) -> str:
    if math.isnan(y):
        return "–"
    if math.isnan(error):
        return _number(y)
    return f"{_number(y)} ± {error:.2g}" if error < 99.5 else f"{_number(y)} ± {_number(error)}"


def _number(value: float) -> str:
    return f"{value:.5g}"


def _joined(*notes: str) -> str:
    return " ".join(note for note in notes if note)
