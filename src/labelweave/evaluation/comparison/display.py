"""Display a comparison as text, Markdown or HTML: the same figures, marks and legend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labelweave._common.notebook import Marked, Share, html_table
from labelweave._common.wording import Symbols
from labelweave.evaluation.comparison.score_rows import Figure, legend, score_rows

if TYPE_CHECKING:
    from labelweave.evaluation.comparison.results import Comparison

__all__ = ["as_html", "as_markdown", "as_text", "heading"]

_SYMBOLS = Symbols.of("utf-8")


def heading(comparison: Comparison) -> str:
    """Describe the data set and the number of folds."""
    data = comparison.data
    return (
        f"{data.name or 'data'}: {data.n_rows} rows, {data.n_features} features, "
        f"{data.n_labels} label{'s' if data.n_labels != 1 else ''}; {comparison.n_folds} folds"
    )


def as_text(comparison: Comparison) -> str:
    """Return a plain-text table, its legend, and which methods failed."""
    import pandas as pd

    several = len(comparison.methods) > 1
    rows = {
        row.title: [_plain(row.figures.get(name), several=several) for name in comparison.methods]
        for row in score_rows(comparison, _SYMBOLS)
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(comparison.methods))
    lines = [line.rstrip() for line in table.to_string().splitlines()]
    return "\n".join([heading(comparison), *lines, *_notes(comparison, "*")])


def as_html(comparison: Comparison) -> str:
    """Return an HTML table for notebooks, its legend, and which methods failed."""
    rows: list[list[str | Share | Marked]] = [
        [row.title, *(_marked(row.figures.get(name)) for name in comparison.methods)]
        for row in score_rows(comparison, _SYMBOLS)
    ]
    header = ["", *comparison.methods]
    return html_table(heading(comparison), header, rows, _notes(comparison, "bold"))


def as_markdown(comparison: Comparison, *, test: str = "paired", alpha: float = 0.05) -> str:
    """Return a Markdown table, its legend, and which methods failed."""
    lines = [_markdown_row(["", *comparison.methods])]
    lines += ["|---|" + "---:|" * len(comparison.methods)]
    lines += [
        _markdown_row([row.title, *(_bold(row.figures.get(m)) for m in comparison.methods)])
        for row in score_rows(comparison, _SYMBOLS, test=test, alpha=alpha)
    ]
    notes = [f"- {note}" for note in _notes(comparison, "bold", test=test, alpha=alpha)]
    return "\n\n".join([heading(comparison), "\n".join(lines), "\n".join(notes)]) + "\n"


def _notes(
    comparison: Comparison, best: str, *, test: str = "paired", alpha: float = 0.05
) -> list[str]:
    explained = legend(comparison, _SYMBOLS, best, test=test, alpha=alpha)
    return [*explained, *comparison.failure_notes()]


def _plain(figure: Figure | None, *, several: bool) -> str:
    """Return a figure; of several methods, with places of their own for star and mark."""
    if figure is None:
        return ""
    signs = f"{'*' if figure.is_best else ' '}{figure.mark or ' '}" if several else ""
    return figure.written + signs


def _bold(figure: Figure | None) -> str:
    if figure is None:
        return ""
    written = f"**{figure.written}**" if figure.is_best else figure.written
    return f"{written} {figure.mark}".rstrip()


def _marked(figure: Figure | None) -> Marked:
    if figure is None:
        return Marked("")
    return Marked(figure.written, strong=figure.is_best, mark=figure.mark)


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
