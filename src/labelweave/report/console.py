"""Tables and trees on the console: styled on a terminal, as plain lines in a pipe."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelweave._common.wording import Symbols
from labelweave.data.catalogue import CatalogueEntry
from labelweave.evaluation import Comparison
from labelweave.evaluation.results import heading, legend
from labelweave.metrics import Metric
from labelweave.models.explanations import Explanation
from labelweave.report import document
from labelweave.report.comparison import comparison_table

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.models.structure import Structure

# A pipe has no width: lines are not wrapped unless COLUMNS is set.
_UNLIMITED = 10_000
# The name of a method is wrapped if it is longer than this and than the scores below it.
_NAME_WIDTH = 24
# Substitutes for streams that cannot represent box-drawing characters.
_PLAIN = str.maketrans({"├": "|", "└": "`", "─": "-", "│": "|"})


class _Console(Console):
    """A console whose caller handles a broken pipe; rich's would end the program."""

    def on_broken_pipe(self) -> None:
        raise


def make_console(file: TextIO) -> Console:
    """Return a console for a stream: styled on a terminal, plain and unwrapped otherwise."""
    is_terminal = file.isatty()
    wrapped = is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return _Console(
        file=file,
        force_terminal=None if is_terminal else False,
        width=None if wrapped else _UNLIMITED,
        highlight=False,
        soft_wrap=False,
    )


def show_comparison(
    comparison: Comparison, console: Console, *, test: str = "paired", alpha: float = 0.05
) -> None:
    console.print(Text(heading(comparison), style="bold"))
    for table in comparison_tables(comparison, console, test=test, alpha=alpha):
        console.print()
        console.print(table)
    console.print()
    best = "bold" if console.is_terminal else "*"
    symbols = Symbols.of(console.encoding)
    for line in legend(comparison, symbols, best, test=test, alpha=alpha):
        console.print(Text(line, style="dim"))


def comparison_tables(
    comparison: Comparison, console: Console, *, test: str = "paired", alpha: float = 0.05
) -> list[Table]:
    """Return the table of a comparison, in blocks of methods if the console is narrow."""
    symbols = Symbols.of(console.encoding)
    table, spare = (
        comparison_table(comparison, test=test, alpha=alpha, symbols=symbols, with_spread=spread)
        for spread in (True, False)
    )
    # If a column is too wide, first wrap the names, then drop the standard deviations.
    for shown, name_width in ((table, _NAME_WIDTH), (table, 0), (spare, 0)):
        widths = _column_widths(shown, name_width)
        if widths[0] + 2 + max(widths[1:]) <= console.width:
            break
    return [_block(shown, columns, widths, console) for columns in _split(widths, console.width)]


def _column_widths(table: document.Table, name_width: int) -> list[int]:
    """Return the column widths, with room for a star and a mark after every score."""
    titles = max(len(row[0].text) for row in table.cells)
    scores = max(len(cell.text) for row in table.cells for cell in row[1:]) + 2
    return [titles, *(max(scores, min(len(name), name_width)) for name in table.columns[1:])]


def _split(widths: list[int], width: int) -> list[list[int]]:
    """Split columns into blocks of at least one that fit into the width beside the titles."""
    blocks: list[list[int]] = []
    room = 0
    for column, needed in enumerate(widths[1:], 1):
        if not blocks or needed + 2 > room:
            blocks.append([])
            room = width - widths[0]
        blocks[-1].append(column)
        room -= needed + 2
    return blocks


def _block(table: document.Table, columns: list[int], widths: list[int], console: Console) -> Table:
    has_lines = not console.options.ascii_only
    shown = Table(
        box=box.SIMPLE_HEAD if has_lines else None,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1 if has_lines else 2, 0, 0),
        header_style="bold",
    )
    shown.add_column("", no_wrap=True)
    for k in columns:
        name = table.columns[k]
        # A name too long for its column is wrapped, first at its options.
        folded = name if len(name) <= widths[k] else name.replace("(", "(\n", 1)
        shown.add_column(Text(folded, justify="right", overflow="fold"), width=widths[k])
    for row in table.cells:
        scores = (_score(row[k], widths[k] - 2, console.is_terminal) for k in columns)
        shown.add_row(Text(row[0].text), *scores)
    return shown


def _score(cell: document.Cell, width: int, bold: bool) -> Text:
    """Align the numbers; the star and the mark have separate columns at the end."""
    if not cell.text:
        return Text()
    star = "*" if cell.strong and not bold else " "
    text = Text(f"{cell.text:>{width}}{star}{cell.mark}")
    if cell.strong and bold:
        text.stylize("bold", width - len(cell.text), width)
    return text


def _plain_table(left: Sequence[str] = (), right: Sequence[str] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in left:
        table.add_column(title, no_wrap=True)
    for title in right:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def show_scores(scores: Mapping[str, float], metrics: Iterable[Metric], console: Console) -> None:
    """Print one score per line; a dash for metrics that do not apply to the model."""
    table = _plain_table()
    table.show_header = False
    table.add_column()
    table.add_column(justify="right")
    missing = Symbols.of(console.encoding).missing
    for metric in metrics:
        known = metric.name in scores
        table.add_row(metric.title, f"{scores[metric.name]:.4f}" if known else missing)
    console.print(table)


def show_label_table(table: pd.DataFrame, console: Console) -> None:
    """Print a frame of scores with one line per label."""
    shown = _plain_table(["label"], [column.replace("_", " ") for column in table.columns])
    missing = Symbols.of(console.encoding).missing
    for label, *figures in table.itertuples():
        cells = [missing if f != f else f"{f:.4f}" if isinstance(f, float) else f for f in figures]
        shown.add_row(Text(str(label)), *map(str, cells))
    console.print()
    console.print(shown)


def show_explanation(
    explanation: Explanation, console: Console, *, row: int = 0, max_terms: int = 20
) -> None:
    """Print the largest contributions to a log-ratio, the sum of the others, and the total."""
    missing = Symbols.of(console.encoding).missing
    table = _plain_table(("term", "kind"), ("value", "contribution"))
    frame = explanation.to_frame(row, max_terms)
    for term, kind, value, contribution in frame.itertuples(index=False):
        known = missing if value != value else f"{value:.4g}"
        table.add_row(Text(term), kind, known, f"{contribution:.3f}")
    table.add_row("sum", "", "", f"{explanation.log_ratio[row]:.3f}")
    console.print(Text(explanation.title(row)))
    console.print(table)


def show_datasets(entries: Iterable[CatalogueEntry], console: Console) -> None:
    table = _plain_table(["name"], ("rows", "features", "labels", "per row"))
    table.add_column("found in", no_wrap=True)
    table.add_column("description")
    missing = Symbols.of(console.encoding).missing
    for entry in entries:
        table.add_row(
            entry.name,
            str(entry.n_rows),
            str(entry.n_features) + (" sparse" if entry.is_sparse else ""),
            str(entry.n_labels),
            f"{entry.cardinality:.3f}",
            entry.found_in or ("OpenML" if entry.openml_id else missing),
            Text(entry.description),
        )
    console.print(table)


def show_structures(structures: Sequence[Structure], console: Console) -> None:
    for number, structure in enumerate(structures, start=1):
        if len(structures) > 1:
            console.print(f"Tree {number} of {len(structures)}", style="bold", markup=False)
        text = repr(structure)
        try:
            text.encode(console.encoding)
        except UnicodeEncodeError:
            text = text.translate(_PLAIN)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
