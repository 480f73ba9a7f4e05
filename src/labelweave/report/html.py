"""Documents as one self-contained HTML file: without network, fonts and scripts."""

from __future__ import annotations

import re
from functools import cache, singledispatch
from html import escape
from importlib import resources

from labelweave.report.document import (
    Block,
    Cell,
    Chart,
    Document,
    Facts,
    LineChart,
    Paragraph,
    RankDiagram,
    Section,
    Strips,
    Table,
    Verdict,
    Verdicts,
    block_name,
    chart_table,
    clean,
    spans,
)
from labelweave.report.figures import draw

# On a phone, tables with more columns become lists of rows, because they would not fit.
_FEW_COLUMNS = 3
_TAGS = {"plain": "", "code": "code", "bold": "strong"}
# The signs are for readers who cannot distinguish the colours.
_SIGNS = {"reproduced": "✓", "partly": "◐", "not reproduced": "✗", "not testable": "?"}


def to_html(document: Document) -> str:
    """Return a document as one self-contained HTML file with a light and a dark colour scheme."""
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
        # Consecutive charts are placed side by side if there is room.
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


@_render.register(LineChart)
@_render.register(RankDiagram)
@_render.register(Strips)
def _(block: Chart, name: str) -> str:
    drawing = draw(block, name)
    table = chart_table(block)
    figures = _table(table, f"{name}-data")
    if drawing is None:
        return f'<div class="table" id="{name}">{figures}{_note(table.note)}</div>'
    return (
        f'<figure id="{name}"><figcaption>{_text(block.title)}</figcaption>\n{drawing}\n'
        f"{_note(block.note)}<details><summary>Figures</summary>{figures}</details></figure>"
    )


def _table(table: Table, name: str) -> str:
    """Return a table in a box that scrolls if the table is wider than the page."""
    marked = [any(row[k].mark for row in table.cells) for k in range(len(table.columns))]
    headings = "".join(
        f'<th scope="col"{_classes(marked=is_marked)}>{_breakable(column)}</th>'
        for column, is_marked in zip(table.columns, marked, strict=True)
    )
    rows = "\n".join(_row(row, table.columns, marked) for row in table.cells)
    many = ' class="many"' if len(table.columns) > _FEW_COLUMNS else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-labelledby="{name}-caption">'
        f'<table{many}><caption id="{name}-caption"><span>{_text(table.title)}</span></caption>\n'
        f"<thead><tr>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>"
    )


def _breakable(text: str) -> str:
    """Return text that may be broken at the options of a method, and within a path."""
    return re.sub(r"(?<=[^\W\d_][(,=/_])(?=[^\W\d]|&)", "<wbr>", _text(text))


def _row(row: tuple[Cell, ...], columns: tuple[str, ...], marked: list[bool]) -> str:
    first, *others = zip(row, columns, marked, strict=True)
    cells = "".join(
        f'<td data-column="{_text(column)}"{_classes(muted=cell.muted, marked=is_marked)}>'
        f"{_cell(cell)}</td>"
        for cell, column, is_marked in others
    )
    title, _, is_marked = first
    classes = _classes(muted=title.muted, marked=is_marked)
    return f'<tr><th scope="row"{classes}>{_cell(title)}</th>{cells}</tr>'


def _classes(**given: bool) -> str:
    names = " ".join(name for name, is_given in given.items() if is_given)
    return f' class="{names}"' if names else ""


def _cell(cell: Cell) -> str:
    # In narrow columns, a deviation is placed below its mean.
    words = re.sub(r"± [^<]+", r"<small>\g<0></small>", _breakable(cell.text))
    mark = f'<span class="mark">{_text(cell.mark)}</span>' if cell.mark else ""
    return (f"<strong>{words}</strong>" if cell.strong else words) + mark


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
