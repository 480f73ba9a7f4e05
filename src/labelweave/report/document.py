"""What a report says, apart from how it looks: sections of tables, facts, charts and verdicts.

A document is a value; :func:`labelweave.report.to_html` and its siblings render it.
Titles, names, cells and facts are plain text; in sentences (the subtitle, paragraphs, notes, all of
a verdict but its number), `` `backticks` `` mark code and ``**asterisks**`` bold text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from labelweave._common.checks import check_choice
from labelweave.report.charts import LineChart, RankDiagram, Strips

__all__ = [
    "OUTCOMES",
    "Block",
    "Cell",
    "Document",
    "Facts",
    "Outcome",
    "Paragraph",
    "Section",
    "Table",
    "Verdict",
    "Verdicts",
]

#: What can become of a published claim.
Outcome = Literal["reproduced", "partly", "not reproduced", "not testable"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Parameters
    ----------
    text : str
        What it says.
    strong : bool, default=False
        Whether it stands out, as the best of a row does.
    muted : bool, default=False
        Whether it stands back, as what is missing does.
    mark : str, default=""
        A sign after the text, such as that of a significant difference; it has a place of its own,
        so that numbers stay aligned.

    Examples
    --------
    >>> Cell("0.31", strong=True).text
    '0.31'
    """

    text: str
    strong: bool = False
    muted: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table; the first column is left-aligned and names the row, the others are right-aligned.

    Parameters
    ----------
    title : str
        Caption.
    columns : tuple of str
        Headings.
    rows : tuple of tuple of Cell or str
        The cells; every row has one for each column.
    note : str, default=""
        What marks and abbreviations mean.

    Examples
    --------
    >>> table = Table("Scores", ("method", "F1"), (("br", "0.61"), ("pcc", Cell("0.66", True))))
    >>> [cell.text for cell in table.cells[1]]
    ['pcc', '0.66']
    """

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
        """The rows with every text made a :class:`Cell`."""
        return tuple(
            tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row)
            for row in self.rows
        )


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text, with `` `code` `` and ``**bold**``.

    Examples
    --------
    >>> Paragraph("Run `labelweave compare`: it takes **a minute**.")
    Paragraph(text='Run `labelweave compare`: it takes **a minute**.')
    """

    text: str


@dataclass(frozen=True)
class Facts:
    """Names and values: an environment, settings, commands.

    Examples
    --------
    >>> Facts("Environment", (("CPU", "Z80"), ("cores", "1"))).items[0]
    ('CPU', 'Z80')
    """

    title: str
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verdict:
    """What became of one published claim.

    Parameters
    ----------
    number : str
        The claim's number.
    claim : str
        The claim, in one sentence.
    outcome : {"reproduced", "partly", "not reproduced", "not testable"}
        What the measurements say.
    published, measured : str
        The figures, side by side.
    reason : str
        Why the outcome is what it is.

    Examples
    --------
    >>> Verdict("3", "PCC beats BR", "reproduced", "0.31", "0.33", "on 5 of 5 data sets").outcome
    'reproduced'
    """

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
    """A list of verdicts, summed up by a count of each outcome.

    Examples
    --------
    >>> claim = Verdict("3", "PCC beats BR", "reproduced", "0.31", "0.33", "on all data sets")
    >>> Verdicts("Claims", (claim,)).counts()
    {'reproduced': 1, 'partly': 0, 'not reproduced': 0, 'not testable': 0}
    """

    title: str
    verdicts: tuple[Verdict, ...]

    def counts(self) -> dict[str, int]:
        """Return how many claims have each outcome."""
        found = [verdict.outcome for verdict in self.verdicts]
        return {outcome: found.count(outcome) for outcome in get_args(Outcome)}


#: What a section is made of.
Block = Table | Paragraph | Facts | LineChart | RankDiagram | Strips | Verdicts


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it.

    Examples
    --------
    >>> Section("Data", (Paragraph("593 songs."),)).title
    'Data'
    """

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A report: title, subtitle and sections.

    Examples
    --------
    >>> section = Section("Data", (Paragraph("593 songs."),))
    >>> Document("Comparison", "emotions, 10 folds", (section,)).title
    'Comparison'
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
