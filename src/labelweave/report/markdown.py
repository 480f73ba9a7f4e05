"""Documents as Markdown, with charts as tables of their figures."""

from __future__ import annotations

import re
from functools import singledispatch

from labelweave.report.charts import LineChart, RankDiagram, Strips
from labelweave.report.data import Chart, chart_table
from labelweave.report.document import Block, Cell, Document, Facts, Paragraph, Table, Verdicts
from labelweave.report.inline import clean, spans

__all__ = ["to_markdown"]

# Characters with a meaning anywhere in a line; `<` and `&` would begin HTML.
_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~#$])")
# At the beginning of a paragraph: lists, rules, and the underline of a heading.
_LEADING = re.compile(r"^(\d*)([-+=.)])")


def to_markdown(document: Document) -> str:
    r"""Return a document as Markdown with tables (GitHub's); charts are tables of their figures.

    Parameters
    ----------
    document : Document
        The document.

    Examples
    --------
    >>> from labelweave.report import Section
    >>> table = Table("Scores", ("method", "F1"), (("a_b", Cell("0.6", strong=True)),))
    >>> print(to_markdown(Document("Comparison", "emotions", (Section("Result", (table,)),))))
    # Comparison
    <BLANKLINE>
    emotions
    <BLANKLINE>
    ## Result
    <BLANKLINE>
    **Scores**
    <BLANKLINE>
    | method | F1 |
    |---|---:|
    | a\_b | **0.6** |
    <BLANKLINE>
    """
    parts = [f"# {_escape(document.title)}", _paragraph(document.subtitle)]
    for section in document.sections:
        parts.append(f"## {_escape(section.title)}")
        parts += [_render(block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _escape(text: str) -> str:
    """Return text on one line that is shown as it is."""
    return _escaped(_one_line(text))


def _inline(text: str, *, in_table: bool = False) -> str:
    pieces = []
    for kind, words in spans(_one_line(text)):
        if kind == "code":
            # A bar ends a cell even within code.
            code = words.replace("|", r"\|") if in_table else words
            pieces.append(f"`{code}`")
        else:
            pieces.append(f"**{_escaped(words)}**" if kind == "bold" else _escaped(words))
    return "".join(pieces)


def _escaped(words: str) -> str:
    return _SPECIAL.sub(r"\\\1", words)


def _paragraph(text: str) -> str:
    return _LEADING.sub(r"\1\\\2", _inline(text))


@singledispatch
def _render(block: Block) -> str:
    raise TypeError(f"blocks must be blocks of a document; got {type(block).__name__}")


@_render.register
def _(block: Paragraph) -> str:
    return _paragraph(block.text)


@_render.register
def _(block: Facts) -> str:
    items = [f"- {_escape(key)}: {_escape(value)}" for key, value in block.items]
    return _titled(block.title, "\n".join(items))


@_render.register
def _(block: Table) -> str:
    rule = "|---|" + "---:|" * (len(block.columns) - 1)
    head = _row([_escape(column) for column in block.columns])
    rows = [_row([_cell(cell) for cell in row]) for row in block.cells]
    return _titled(block.title, "\n".join([head, rule, *rows]), _paragraph(block.note))


@_render.register
def _(block: Verdicts) -> str:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in block.counts().items())
    head = ["", "claim", "outcome", "published", "measured", "reason"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for verdict in block.verdicts:
        sentences = (verdict.claim, verdict.published, verdict.measured, verdict.reason)
        claim, *others = (_inline(sentence, in_table=True) for sentence in sentences)
        lines.append(_row([_escape(verdict.number), claim, f"**{verdict.outcome}**", *others]))
    return _titled(block.title, counts, "\n".join(lines))


@_render.register(LineChart)
@_render.register(RankDiagram)
@_render.register(Strips)
def _(block: Chart) -> str:
    return _render(chart_table(block))


def _titled(title: str, *parts: str) -> str:
    heading = f"**{_escape(title)}**" if title.strip() else ""
    return "\n\n".join(part for part in (heading, *parts) if part)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Cell) -> str:
    text = _escape(cell.text)
    mark = _escape(cell.mark)
    return (f"**{text}**" if cell.strong and text else text) + (f" {mark}" if mark else "")
