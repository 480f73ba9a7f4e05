"""Documents as LaTeX: sections, lists, and booktabs tables with captions and labels."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import singledispatch

from labelweave.report.charts import LineChart, RankDiagram, Strips
from labelweave.report.data import Chart, block_name, chart_table
from labelweave.report.document import Block, Cell, Document, Facts, Paragraph, Table, Verdicts
from labelweave.report.inline import clean, spans

__all__ = ["to_latex"]

_PREAMBLE = r"""\documentclass{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
\else
  \usepackage{fontspec}
\fi
\usepackage[margin=2cm]{geometry}
\usepackage{textcomp}
\usepackage{booktabs}
\usepackage{longtable}
\usepackage{array}
\usepackage{float}
\usepackage{graphicx}
% Characters that pdfLaTeX's fonts lack are shown by their numbers there.
\DeclareRobustCommand{\othercharacter}[2]{\ifPDFTeX[U+#1]\else#2\fi}
\setlength{\tabcolsep}{4pt}
"""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # After the end of a row, these would begin an option of it.
    "[": "{[}",
    "*": "{*}",
    **{character: f"\\{character}" for character in "#$%&_{}"},
    "±": r"$\pm$",
    "●": r"$\bullet$",
    "○": r"$\circ$",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "−": "$-$",
    "…": r"\dots{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≈": r"$\approx$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "∞": r"$\infty$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "σ": r"$\sigma$",
    "²": r"$^2$",
    "³": r"$^3$",
    "\u00a0": "~",
}


def to_latex(document: Document) -> str:
    r"""Return a document as a LaTeX file that compiles by itself, or whose tables can be copied.

    Tables need the packages booktabs, longtable, array, float and graphicx; the label of a table is
    ``tab:`` and the name of its block, e.g. ``tab:block-1-2``. Charts are tables of their figures.
    Characters that pdfLaTeX's fonts lack are set by LuaLaTeX and XeLaTeX, and shown as ``[U+4E2D]``
    by pdfLaTeX.

    Parameters
    ----------
    document : Document
        The document.

    Examples
    --------
    >>> from labelweave.report import Section
    >>> table = Table("Scores", ("method", "F1"), (("a_b", Cell("0.6", strong=True)),))
    >>> text = to_latex(Document("Comparison", "", (Section("Result", (table,)),)))
    >>> r"a\_b & \textbf{0.6}" in text
    True
    """
    lines = [
        _PREAMBLE + rf"\title{{{_escape(document.title)}}}",
        rf"\author{{{_inline(document.subtitle)}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
    ]
    for number, section in enumerate(document.sections, 1):
        lines.append(rf"\section{{{_escape(section.title)}}}")
        lines += [
            _render(block, block_name(number, place))
            for place, block in enumerate(section.blocks, 1)
        ]
    return "\n\n".join([*lines, r"\end{document}"]) + "\n"


def _escape(text: str) -> str:
    return _set(" ".join(clean(text).split()))


def _set(line: str) -> str:
    # Two hyphens, as in an option of a command, would become a dash.
    return re.sub("-(?=-)", "-{}", "".join(map(_character, line)))


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    # Letters of the Latin alphabet and ASCII are in every font.
    if character < "\x7f" or ("\xc0" <= character <= "\u017f" and character not in "÷ŉſ"):
        return character
    number = f"{ord(character):04X}"
    # A combining accent has nothing to stand on within braces.
    shown = f"[U+{number}]" if unicodedata.combining(character) else character
    return rf"\othercharacter{{{number}}}{{{shown}}}"


def _inline(text: str) -> str:
    commands = {"plain": "{}", "code": r"\texttt{{{}}}", "bold": r"\textbf{{{}}}"}
    line = " ".join(clean(text).split())
    return "".join(commands[kind].format(_set(words)) for kind, words in spans(line))


@singledispatch
def _render(block: Block, name: str) -> str:
    raise TypeError(f"blocks must be blocks of a document; got {type(block).__name__}")


@_render.register
def _(block: Paragraph, name: str) -> str:
    return _inline(block.text)


@_render.register
def _(block: Facts, name: str) -> str:
    rows = [(_escape(key), _escape(value)) for key, value in block.items]
    return _long_table(block.title, name, (0.22, 0.7), None, rows)


@_render.register
def _(block: Table, name: str) -> str:
    columns = "l" + "r" * (len(block.columns) - 1)
    rows = [" & ".join(_cell(cell) for cell in row) + r" \\" for row in block.cells]
    return "\n".join(
        [
            # In its place: LaTeX cannot put off hundreds of tables.
            r"\begin{table}[H]",
            r"\centering",
            *_caption(block.title, name),
            # As wide as the page at most.
            r"\sbox0{\begin{tabular}{" + columns + "}",
            r"\toprule",
            " & ".join(map(_escape, block.columns)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
            *([rf"\par\smallskip{{\footnotesize {_inline(block.note)}}}"] if block.note else []),
            r"\end{table}",
        ]
    )


@_render.register
def _(block: Verdicts, name: str) -> str:
    head = ("", "claim", "outcome", "published", "measured", "reason")
    rows = [
        (
            _escape(verdict.number),
            _inline(verdict.claim),
            rf"\textbf{{{verdict.outcome}}}",
            *map(_inline, (verdict.published, verdict.measured, verdict.reason)),
        )
        for verdict in block.verdicts
    ]
    return _long_table(block.title, name, (0.04, 0.22, 0.12, 0.14, 0.14, 0.2), head, rows)


@_render.register(LineChart)
@_render.register(RankDiagram)
@_render.register(Strips)
def _(block: Chart, name: str) -> str:
    return _render(chart_table(block), name)


def _long_table(
    title: str,
    name: str,
    widths: tuple[float, ...],
    head: tuple[str, ...] | None,
    rows: Sequence[tuple[str, ...]],
) -> str:
    """Return a table of sentences that may be longer than a page."""
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{width}\linewidth}}" for width in widths
    )
    caption = "".join(_caption(title, name))
    return "\n".join(
        [
            rf"{{\small\begin{{longtable}}{{{columns}}}",
            caption + r" \\",
            r"\toprule",
            *([" & ".join(head) + r" \\", r"\midrule"] if head else []),
            r"\endhead",
            r"\bottomrule",
            r"\endlastfoot",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\end{longtable}}",
        ]
    )


def _caption(title: str, name: str) -> tuple[str, str]:
    return rf"\caption{{{_escape(title)}}}", rf"\label{{tab:{name}}}"


def _cell(cell: Cell) -> str:
    text = _escape(cell.text)
    mark = _escape(cell.mark)
    return (rf"\textbf{{{text}}}" if cell.strong else text) + (f" {mark}" if mark else "")
