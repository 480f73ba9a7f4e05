"""Documents as one HTML file that needs nothing else: no network, no font, no script."""

from __future__ import annotations

import re
from functools import cache, singledispatch
from html import escape
from importlib import resources

from labelweave.report.charts import LineChart, RankDiagram, Strips
from labelweave.report.data import Chart, block_name, chart_table, document_json
from labelweave.report.document import (
    Block,
    Cell,
    Document,
    Facts,
    Paragraph,
    Section,
    Table,
    Verdict,
    Verdicts,
)
from labelweave.report.inline import clean, spans
from labelweave.report.svg.lines import draw_lines, draw_swatch, styles
from labelweave.report.svg.ranks import draw_ranks
from labelweave.report.svg.strips import draw_strips

__all__ = ["to_html"]

# Beyond, deviations are written below their means, so that the last column is on the page.
_MANY_COLUMNS = 8

_TAGS = {"plain": "", "code": "code", "bold": "strong"}
# A sign besides the colour.
_SIGNS = {"reproduced": "✓", "partly": "◐", "not reproduced": "✗", "not testable": "?"}


def to_html(document: Document) -> str:
    """Return a document as one self-contained HTML file.

    Charts are inline SVG; colours follow the reader's preference for light or dark. The element
    ``labelweave-data`` holds all figures as JSON, by the ``id`` of the block that shows them.

    Parameters
    ----------
    document : Document
        The document.

    Examples
    --------
    >>> section = Section("Data", (Paragraph("593 songs & 6 labels."),))
    >>> page = to_html(Document("Comparison", "emotions", (section,)))
    >>> '<p id="block-1-1">593 songs &amp; 6 labels.</p>' in page
    True
    """
    contents = "".join(
        f'<li><a href="#section-{number}">{_text(section.title)}</a></li>'
        for number, section in enumerate(document.sections, 1)
    )
    sections = "\n".join(
        _section(section, number) for number, section in enumerate(document.sections, 1)
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="labelweave">
<title>{_text(document.title)}</title>
<link rel="icon" href="data:,">
<style>
{_style()}</style>
</head>
<body>
<header>
<h1>{_text(document.title)}</h1>
<p class="subtitle">{_inline(document.subtitle)}</p>
</header>
<nav aria-label="Contents"><ol>{contents}</ol></nav>
<main>
{sections}
</main>
<script type="application/json" id="labelweave-data">{document_json(document)}</script>
</body>
</html>
"""


@cache
def _style() -> str:
    return (resources.files("labelweave.report") / "page.css").read_text("utf-8")


def _section(section: Section, number: int) -> str:
    parts: list[str] = []
    within_charts = False
    for place, block in enumerate(section.blocks, 1):
        # Charts that follow each other stand side by side where there is room.
        is_chart = isinstance(block, Chart)
        if is_chart != within_charts:
            parts.append('<div class="charts">' if is_chart else "</div>")
        within_charts = is_chart
        parts.append(_render(block, block_name(number, place)))
    if within_charts:
        parts.append("</div>")
    heading = f'<h2 id="section-{number}-title">{_text(section.title)}</h2>'
    opening = f'<section id="section-{number}" aria-labelledby="section-{number}-title">'
    return "\n".join([opening, heading, *parts, "</section>"])


def _text(text: str) -> str:
    return escape(clean(text))


def _inline(text: str) -> str:
    """Return text with its `code` and **bold** as elements."""
    pieces = []
    for kind, words in spans(text):
        tag = _TAGS[kind]
        pieces.append(f"<{tag}>{_text(words)}</{tag}>" if tag else _text(words))
    return "".join(pieces)


def _note(text: str) -> str:
    return f'<p class="note">{_inline(text)}</p>' if text else ""


@singledispatch
def _render(block: Block, name: str) -> str:
    raise TypeError(f"blocks must be blocks of a document; got {type(block).__name__}")


@_render.register
def _(block: Paragraph, name: str) -> str:
    return f'<p id="{name}">{_inline(block.text)}</p>'


@_render.register
def _(block: Facts, name: str) -> str:
    items = "".join(
        f"<div><dt>{_text(key)}</dt><dd>{_text(value)}</dd></div>" for key, value in block.items
    )
    return f'<h3>{_text(block.title)}</h3>\n<dl class="facts" id="{name}">{items}</dl>'


@_render.register
def _(block: Table, name: str) -> str:
    return f'<div class="table" id="{name}">{_table(block, name)}{_note(block.note)}</div>'


@_render.register
def _(block: Verdicts, name: str) -> str:
    counts = "".join(
        f'<li class="{_slug(outcome)}"><b>{count}</b> {_badge(outcome)}</li>'
        for outcome, count in block.counts().items()
    )
    items = "\n".join(_verdict(verdict) for verdict in block.verdicts)
    return (
        f'<h3>{_text(block.title)}</h3>\n<div id="{name}"><ul class="counts">{counts}</ul>\n'
        f'<ol class="verdicts">{items}</ol></div>'
    )


@_render.register
def _(block: LineChart, name: str) -> str:
    samples = zip(block.series, styles(block), strict=True)
    legend = "".join(
        f"<li>{draw_swatch(style, series.dashed)} {_text(series.name)}</li>"
        for series, style in samples
    )
    return _figure(block, name, draw_lines(block, name), f'<ul class="legend">{legend}</ul>')


@_render.register
def _(block: RankDiagram, name: str) -> str:
    return _figure(block, name, draw_ranks(block, name))


@_render.register
def _(block: Strips, name: str) -> str:
    return _figure(block, name, draw_strips(block, name))


def _figure(chart: Chart, name: str, drawn: str, legend: str = "") -> str:
    table = _table(chart_table(chart), f"{name}-data")
    return (
        f'<figure id="{name}"><figcaption>{_text(chart.title)}</figcaption>\n{drawn}\n{legend}'
        f"{_note(chart.note)}<details><summary>Figures</summary>{table}</details></figure>"
    )


def _table(table: Table, name: str) -> str:
    """Return a table in a box of its own that scrolls if the table is wider than the page."""
    first, *others = table.columns
    marked = [any(row[k].mark for row in table.cells) for k in range(len(table.columns))]
    headings = f'<th scope="col">{_breakable(first)}</th>' + "".join(
        f'<th scope="col">{_breakable(column)}{_mark("", is_marked)}</th>'
        for column, is_marked in zip(others, marked[1:], strict=True)
    )
    rows = "\n".join(_row(row, marked) for row in table.cells)
    wide = ""
    if len(table.columns) > _MANY_COLUMNS:
        wide, rows = ' class="wide"', re.sub("± [^<]+", r"<small>\g<0></small>", rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}-caption">'
        f'<table{wide}><caption id="{name}-caption"><span>{_text(table.title)}</span></caption>\n'
        f"<thead><tr>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _breakable(text: str) -> str:
    """Return text that may be broken at the options of a method, and within a path."""
    return re.sub(r"(?<=[^\W\d_][(,=/])(?=[^\W\d_]|&)", "<wbr>", _text(text))


def _row(row: tuple[Cell, ...], marked: list[bool]) -> str:
    first, *others = zip(row, marked, strict=True)
    cells = "".join(f"<td{_classes(cell)}>{_cell(cell, m)}</td>" for cell, m in others)
    return f'<tr><th scope="row"{_classes(first[0])}>{_cell(*first)}</th>{cells}</tr>'


def _classes(cell: Cell) -> str:
    return ' class="muted"' if cell.muted else ""


def _cell(cell: Cell, is_marked: bool) -> str:
    words = _breakable(cell.text)
    return (f"<strong>{words}</strong>" if cell.strong else words) + _mark(cell.mark, is_marked)


def _mark(mark: str, is_marked: bool) -> str:
    return f'<span class="mark">{_text(mark)}</span>' if is_marked else ""


def _verdict(verdict: Verdict) -> str:
    facts = (
        ("published", verdict.published),
        ("measured", verdict.measured),
        ("reason", verdict.reason),
    )
    items = "".join(
        f'<div class="{key}"><dt>{key}</dt><dd>{_inline(value)}</dd></div>'
        for key, value in facts
        if value
    )
    return (
        f'<li class="{_slug(verdict.outcome)}"><p class="claim">'
        f'<span class="number">{_text(verdict.number)}</span> {_inline(verdict.claim)} '
        f"{_badge(verdict.outcome)}</p><dl>{items}</dl></li>"
    )


def _badge(outcome: str) -> str:
    sign = f'<span aria-hidden="true">{_SIGNS[outcome]}</span>'
    return f'<span class="outcome">{sign} {_text(outcome)}</span>'


def _slug(outcome: str) -> str:
    return outcome.replace(" ", "-")
