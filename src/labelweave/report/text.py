"""Documents as GitHub's Markdown, and the tables of documents as LaTeX."""

from __future__ import annotations

import re
from functools import singledispatch

from labelweave.report.document import (
    Block,
    Cell,
    Document,
    Facts,
    LineChart,
    Paragraph,
    RankDiagram,
    Strips,
    Table,
    Verdicts,
    block_name,
    chart_table,
    clean,
    spans,
)

# Characters that are special anywhere in a line of Markdown; `<` and `&` would begin HTML.
_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~#$])")
# Special at the beginning of a paragraph: lists, rules, and the underline of a heading.
_LEADING = re.compile(r"^(\d*)([-+=.)])")

_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # After the end of a row, brackets would begin an option of the row.
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
    "θ": r"$\theta$",
    "σ": r"$\sigma$",
    "²": r"$^2$",
    "³": r"$^3$",
    "\u00a0": "~",
}


def to_markdown(document: Document) -> str:
    """Return a document as Markdown; charts become tables of their figures."""
    parts = [f"# {_escape(document.title)}", _paragraph(document.subtitle)]
    for section in document.sections:
        parts.append(f"## {_escape(section.title)}")
        parts += [_markdown(block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_latex(document: Document) -> str:
    r"""Return the tables of a document, one ``table`` environment each, for ``\input``.

    They need the package booktabs. The label of a table is ``tab:`` and the name of its block.
    Paragraphs and facts, such as the command that repeats a comparison, are comments.
    """
    lines = [_comment(document.title), r"% The preamble needs \usepackage{booktabs}."]
    for number, section in enumerate(document.sections, 1):
        for place, block in enumerate(section.blocks, 1):
            if isinstance(block, Table):
                lines.append(_latex_table(block, f"tab:{block_name(number, place)}"))
            elif isinstance(block, Paragraph):
                lines.append(_comment("".join(words for _, words in spans(block.text))))
            elif isinstance(block, Facts):
                facts = [_comment(f"{key}: {value}") for key, value in block.items]
                lines.append("\n".join([_comment(block.title), *facts]))
    return "\n\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(clean(text).split())


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", _one_line(text))


def _inline(text: str, *, in_table: bool = False) -> str:
    pieces = []
    for kind, words in spans(_one_line(text)):
        escaped = _SPECIAL.sub(r"\\\1", words)
        if kind == "code":
            # A bar ends a cell even inside code.
            code = words.replace("|", r"\|") if in_table else words
            pieces.append(f"`{code}`")
        else:
            pieces.append(f"**{escaped}**" if kind == "bold" else escaped)
    return "".join(pieces)


def _paragraph(text: str) -> str:
    return _LEADING.sub(r"\1\\\2", _inline(text))


@singledispatch
def _markdown(block: Block) -> str:
    raise TypeError(f"blocks must be blocks of a document; got {type(block).__name__}")


@_markdown.register
def _(block: Paragraph) -> str:
    return _paragraph(block.text)


@_markdown.register
def _(block: Facts) -> str:
    items = [f"- {_escape(key)}: {_escape(value)}" for key, value in block.items]
    return _titled(block.title, "\n".join(items))


@_markdown.register
def _(block: Table) -> str:
    rule = "|---|" + "---:|" * (len(block.columns) - 1)
    head = _row([_escape(column) for column in block.columns])
    rows = [_row([_cell(cell) for cell in row]) for row in block.cells]
    return _titled(block.title, "\n".join([head, rule, *rows]), _paragraph(block.note))


@_markdown.register
def _(block: Verdicts) -> str:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in block.counts().items())
    head = ["", "claim", "outcome", "published", "measured", "reason"]
    lines = [_row(head), "|---" * len(head) + "|"]
    for verdict in block.verdicts:
        sentences = (verdict.claim, verdict.published, verdict.measured, verdict.reason)
        claim, *others = (_inline(sentence, in_table=True) for sentence in sentences)
        lines.append(_row([_escape(verdict.number), claim, f"**{verdict.outcome}**", *others]))
    return _titled(block.title, counts, "\n".join(lines))


@_markdown.register(LineChart)
@_markdown.register(RankDiagram)
@_markdown.register(Strips)
def _(block: LineChart | RankDiagram | Strips) -> str:
    return _markdown(chart_table(block))


def _titled(title: str, *parts: str) -> str:
    heading = f"**{_escape(title)}**" if title.strip() else ""
    return "\n\n".join(part for part in (heading, *parts) if part)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(cell: Cell) -> str:
    text = _escape(cell.text)
    mark = _escape(cell.mark)
    return (f"**{text}**" if cell.strong and text else text) + (f" {mark}" if mark else "")


def _comment(text: str) -> str:
    return f"% {_one_line(text)}"


def _latex_table(table: Table, label: str) -> str:
    columns = "l" + "r" * (len(table.columns) - 1)
    rows = [" & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.cells]
    note = rf"\par\smallskip{{\footnotesize {_latex_inline(table.note)}}}"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(table.title)}}}",
            rf"\label{{{label}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            " & ".join(map(_latex, table.columns)) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            *([note] if table.note else []),
            r"\end{table}",
        ]
    )


def _latex_cell(cell: Cell) -> str:
    text, mark = _latex(cell.text), _latex(cell.mark)
    return (rf"\textbf{{{text}}}" if cell.strong else text) + (f" {mark}" if mark else "")


def _latex_inline(text: str) -> str:
    commands = {"plain": "{}", "code": r"\texttt{{{}}}", "bold": r"\textbf{{{}}}"}
    return "".join(
        commands[kind].format(_latex_escape(words)) for kind, words in spans(_one_line(text))
    )


def _latex(text: str) -> str:
    return _latex_escape(_one_line(text))


def _latex_escape(line: str) -> str:
    # Two hyphens, as in an option of a command, would become a dash.
    return re.sub("-(?=-)", "-{}", "".join(_LATEX.get(char, char) for char in line))
