"""Tables of comparisons: one row per metric, one column per method, as in papers."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelweave._common.wording import Symbols
from labelweave.evaluation import Comparison
from labelweave.evaluation.results import Figure, ScoreRow, heading, legend, score_rows

__all__ = ["comparison_tables", "show_comparison"]


@dataclass(frozen=True)
class _Style:
    """How scores are formatted: whether bold and lines are available, and what fits."""

    symbols: Symbols
    bold: bool
    lines: bool
    with_spread: bool = True
    # A method's name is wrapped if it is longer than this and than the scores below it.
    name_width: int = 24


@dataclass(frozen=True)
class _Layout:
    """All rows, and the width of each method's column; columns are two spaces apart."""

    rows: list[ScoreRow]
    style: _Style
    widths: dict[str, int]

    def blocks(self, width: int) -> list[list[str]]:
        """Split the methods into blocks that fit the given width, with at least one method each."""
        titles = max(len(row.title) for row in self.rows)
        blocks: list[list[str]] = []
        room = 0
        for name, column in self.widths.items():
            if not blocks or column + 2 > room:
                blocks.append([])
                room = width - titles
            blocks[-1].append(name)
            room -= column + 2
        return blocks

    def fits(self, width: int) -> bool:
        """Whether the widest column fits next to the titles."""
        titles = max(len(row.title) for row in self.rows)
        return titles + 2 + max(self.widths.values()) <= width

    def table(self, methods: list[str]) -> Table:
        """Return the table for some of the methods."""
        lines = self.style.lines
        table = Table(
            box=box.SIMPLE_HEAD if lines else None,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1 if lines else 2, 0, 0),
            header_style="bold",
        )
        table.add_column("", no_wrap=True)
        for name in methods:
            # A name too long for its column is wrapped, first at its options.
            folded = name if len(name) <= self.widths[name] else name.replace("(", "(\n", 1)
            header = Text(folded, justify="right", overflow="fold")
            table.add_column(header, width=self.widths[name])
        for row in self.rows:
            table.add_row(Text(row.title), *(self._cell(row, name) for name in methods))
        return table

    def _cell(self, row: ScoreRow, method: str) -> Text:
        figure = row.figures.get(method)
        # The last two characters are for star and mark.
        return _text(figure, self.widths[method] - 2, self.style.bold) if figure else Text()


def _text(figure: Figure, width: int, bold: bool) -> Text:
    """Align the numbers; star and mark have columns of their own at the end."""
    star = "*" if figure.is_best and not bold else " "
    text = Text(f"{figure.written:>{width}}{star}{figure.mark}")
    if figure.is_best and bold:
        text.stylize("bold", width - len(figure.written), width)
    return text


def show_comparison(
    comparison: Comparison, console: Console, *, test: str = "paired", alpha: float = 0.05
) -> None:
    """Print a comparison: heading, table and legend.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    console : rich.console.Console
        Where to print; see :func:`make_console`.
    test : {"paired", "corrected"}, default="paired"
        The t-test of the first method against each of the others.
    alpha : float, default=0.05
        Significance level.

    Examples
    --------
    >>> import sys
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave.evaluation import compare
    >>> from labelweave.report import make_console
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, cv=2, metrics=["f1_micro"])
    >>> show_comparison(result, make_console(sys.stdout))
    data: 40 rows, 5 features, 5 labels; 2 folds
    <BLANKLINE>
                                 prior
    ─...
    micro F1         0... ± 0...
    fit seconds      0... ± 0...
    predict seconds  0... ± 0...
    <BLANKLINE>
    mean ± standard deviation over folds
    """
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
    """Return a comparison as one table, or as several blocks if the console is narrow.

    The best score of a row is bold, or followed by a star on a plain stream. A mark after a score
    means that the first method is significantly better or worse. The last row counts its wins, ties
    and losses.

    Returns
    -------
    list of rich.table.Table
        Blocks of methods; each block repeats the row titles.
    """
    style = _Style(
        Symbols.of(console.encoding),
        bold=console.is_terminal,
        lines=not console.options.ascii_only,
    )
    layout = _layout(comparison, style, test, alpha)
    # If a column is too wide, first wrap the names, then drop the standard deviations.
    for with_spread in (True, False):
        if not layout.fits(console.width):
            narrower = replace(style, name_width=0, with_spread=with_spread)
            layout = _layout(comparison, narrower, test, alpha)
    return [layout.table(block) for block in layout.blocks(console.width)]


def _layout(comparison: Comparison, style: _Style, test: str, alpha: float) -> _Layout:
    rows = score_rows(
        comparison, style.symbols, test=test, alpha=alpha, with_spread=style.with_spread
    )
    numbers = max(len(figure.written) for row in rows for figure in row.figures.values())
    widths = {
        name: max(numbers + 2, min(len(name), style.name_width)) for name in comparison.method_names
    }
    return _Layout(rows, style, widths)
