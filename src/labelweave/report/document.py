"""The content of a report without its layout: sections of tables, facts, charts and verdicts.

A document is a value that `report.html` and `report.text` render. Titles, names, cells and facts
are plain text. Sentences (the subtitle, paragraphs, notes, and a verdict without its number) may
have `` `code` `` and ``**bold**`` text.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from labelweave._common.checks import check_choice
from labelweave._common.files import replacing

#: The possible results of testing a published claim.
Outcome = Literal["reproduced", "partly", "not reproduced", "not testable"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)

#: The extensions of documents.
DOCUMENT_FORMATS = (".html", ".md", ".tex")


@dataclass(frozen=True)
class Cell:
    """A cell of a table; its mark has a separate place, so that numbers stay aligned."""

    text: str
    strong: bool = False
    muted: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the first column is left-aligned and names the row, the others are right-aligned."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        if not self.columns:
            raise ValueError("columns must name at least one column; it is empty")
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"rows must have {len(self.columns)} cells each; row {number} has {len(row)}"
                )

    @property
    def cells(self) -> tuple[tuple[Cell, ...], ...]:
        """The rows, with plain strings converted to cells."""
        return tuple(
            tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row)
            for row in self.rows
        )


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text."""

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values, such as settings or an environment."""

    title: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verdict:
    """A published claim, the published and measured figures, the outcome and its reason."""

    number: str
    claim: str
    outcome: Outcome
    published: str
    measured: str
    reason: str

    def __post_init__(self) -> None:
        check_choice(self.outcome, "outcome", OUTCOMES)


@dataclass(frozen=True)
class Verdicts:
    """A list of verdicts, summarised by the count of each outcome."""

    title: str
    verdicts: tuple[Verdict, ...]

    def counts(self) -> dict[str, int]:
        """Return the number of claims with each outcome."""
        found = [verdict.outcome for verdict in self.verdicts]
        return {outcome: found.count(outcome) for outcome in get_args(Outcome)}


@dataclass(frozen=True)
class Series:
    """A line of a chart, interrupted where x or y is not finite; published lines are dashed."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()
    dashed: bool = False

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"y must have one value per x; got {len(self.y)} for {len(self.x)}")
        if self.error and len(self.error) != len(self.y):
            raise ValueError(
                f"error must be empty or have one value per y; got {len(self.error)} "
                f"for {len(self.y)}"
            )


@dataclass(frozen=True)
class LineChart:
    """Lines with markers over linear or logarithmic axes, and a legend."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    note: str = ""


@dataclass(frozen=True)
class RankDiagram:
    """Average ranks; bars connect those less than `critical_difference` apart (Demšar, 2006)."""

    title: str
    ranks: Mapping[str, float]
    critical_difference: float
    note: str = ""


@dataclass(frozen=True)
class Strips:
    """One strip of dots per method: a dot for each fold, and a mark at the mean.

    `standings` are "better", "worse", "tie" or None, as in `Comparison.verdicts`.
    """

    title: str
    label: str
    scores: Mapping[str, tuple[float, ...]]
    standings: Mapping[str, str | None] | None = None
    note: str = ""


Chart = LineChart | RankDiagram | Strips
Block = Table | Paragraph | Facts | Verdicts | Chart


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A report: title, subtitle and sections."""

    title: str
    subtitle: str
    sections: tuple[Section, ...]


def check_document_path(path: str | os.PathLike[str]) -> Path:
    """Return the path, or raise an error if its extension is not that of a document."""
    target = Path(path)
    if target.suffix.lower() not in DOCUMENT_FORMATS:
        *others, last = DOCUMENT_FORMATS
        raise ValueError(
            f"path must have the extension {', '.join(others)} or {last}; got {target}"
        )
    return target


def write_document(document: Document, path: str | os.PathLike[str]) -> None:
    """Write an HTML page, a Markdown text or LaTeX tables; an incomplete file is never visible."""
    from labelweave.report.html import to_html
    from labelweave.report.text import to_latex, to_markdown

    target = check_document_path(path)
    render = {".html": to_html, ".md": to_markdown, ".tex": to_latex}[target.suffix.lower()]
    text = render(document)
    with replacing(target) as file:
        file.write(text.encode())


def block_name(section: int, block: int) -> str:
    """Return the name of a block on the page and in LaTeX labels; both numbers start at one."""
    return f"block-{section}-{block}"


def chart_table(chart: Chart) -> Table:
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
    """Return a row per x and a column per series; an x that a series repeats adds rows."""
    rows: dict[tuple[float, int], dict[int, str]] = {}
    for number, series in enumerate(chart.series):
        seen: dict[float, int] = {}
        errors = series.error or (math.nan,) * len(series.x)
        for x, y, error in zip(series.x, series.y, errors, strict=True):
            seen[x] = seen.get(x, -1) + 1
            rows.setdefault((x, seen[x]), {})[number] = _with_error(y, error)
    columns = (chart.x_label, *(series.name for series in chart.series))
    # NaN has no order, so it is placed last.
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


_MARKUP = re.compile(r"`([^`]+)`|\*\*(?!\s)(.+?)(?<!\s)\*\*", re.DOTALL)
# HTML and LaTeX refuse control characters, and lone surrogates cannot be encoded.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def spans(text: str) -> Iterator[tuple[Literal["plain", "code", "bold"], str]]:
    """Split text at `` `code` `` and ``**bold**``; there is no markup within markup."""
    end = 0
    for found in _MARKUP.finditer(text):
        if found.start() > end:
            yield "plain", text[end : found.start()]
        code, bold = found.groups()
        yield ("bold", bold) if code is None else ("code", code)
        end = found.end()
    if end < len(text):
        yield "plain", text[end:]


def clean(text: str) -> str:
    """Return text with the replacement character for every character that cannot be written."""
    return _UNWRITABLE.sub("\ufffd", text.replace("\r\n", "\n"))
