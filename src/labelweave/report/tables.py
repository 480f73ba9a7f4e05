"""Tables of comparisons: one row per metric, one column per method, as in papers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelweave._common.arrays import Floats
from labelweave.evaluation import METRICS, Comparison, verdicts, win_tie_loss
from labelweave.evaluation.comparison_display import heading
from labelweave.evaluation.significance import Verdict
from labelweave.report.console import Symbols

__all__ = ["comparison_tables", "show_comparison"]

_TALLY = "wins/ties/losses"


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
class _Figure:
    """The content of a cell: a number, whether it is the best in its row, and its mark."""

    written: str
    is_best: bool = False
    mark: str = ""

    def text(self, width: int, bold: bool) -> Text:
        """Align the numbers; star and mark have columns of their own at the end."""
        star = "*" if self.is_best and not bold else " "
        text = Text(f"{self.written:>{width}}{star}{self.mark}")
        if self.is_best and bold:
            text.stylize("bold", width - len(self.written), width)
        return text


@dataclass(frozen=True)
class _Row:
    """One row of the table before it is split into blocks: a title and one cell per method."""

    title: str
    figures: dict[str, _Figure]


@dataclass(frozen=True)
class _Layout:
    """All rows, and the width of each method's column; columns are two spaces apart."""

    rows: list[_Row]
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

    def _cell(self, row: _Row, method: str) -> Text:
        figure = row.figures.get(method)
        # The last two characters are for star and mark.
        return figure.text(self.widths[method] - 2, self.style.bold) if figure else Text()


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
    >>> result = compare({"prior": DummyClassifier()}, X, Y, folds=2, metrics=["f1_micro"])
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
    for line in _legend(comparison, console, test, alpha):
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
    judged = {
        metric: verdicts(comparison, metric, test=test, alpha=alpha)
        for metric in comparison.metrics
    }
    style = _Style(
        Symbols.of(console.encoding),
        bold=console.is_terminal,
        lines=not console.options.ascii_only,
    )
    layout = _layout(comparison, judged, style)
    # If a column is too wide, first wrap the names, then drop the standard deviations.
    for with_spread in (True, False):
        if not layout.fits(console.width):
            narrower = replace(style, name_width=0, with_spread=with_spread)
            layout = _layout(comparison, judged, narrower)
    return [layout.table(block) for block in layout.blocks(console.width)]


def _legend(comparison: Comparison, console: Console, test: str, alpha: float) -> list[str]:
    symbols = Symbols.of(console.encoding)
    best = "bold" if console.is_terminal else "*"
    lines = [f"mean {symbols.plus_minus} standard deviation over folds"]
    if len(comparison.methods) > 1:
        first = comparison.method_names[0]
        lines[0] += f"; {best}: best"
        lines.append(
            f"{symbols.better}/{symbols.worse}: {first} is significantly better/worse "
            f"({test} t-test, p < {alpha:g}); last row: its wins, ties, losses"
        )
    return lines


def _layout(
    comparison: Comparison, judged: dict[str, dict[str, Verdict | None]], style: _Style
) -> _Layout:
    rows = _rows(comparison, judged, style)
    numbers = max(len(figure.written) for row in rows for figure in row.figures.values())
    widths = {
        name: max(numbers + 2, min(len(name), style.name_width)) for name in comparison.method_names
    }
    return _Layout(rows, style, widths)


def _rows(
    comparison: Comparison, judged: dict[str, dict[str, Verdict | None]], style: _Style
) -> list[_Row]:
    names = comparison.method_names
    rows = []
    for metric in comparison.metrics:
        figures = {name: comparison.scores(name, metric) for name in names}
        higher = METRICS[metric].higher_is_better
        rows.append(_Row(METRICS[metric].title, _figures(figures, higher, judged[metric], style)))
    for phase in ("fit", "predict"):
        seconds = {name: comparison.seconds(name, phase) for name in names}
        rows.append(_Row(f"{phase} seconds", _figures(seconds, False, {}, style)))
    if len(names) > 1:
        counts = win_tie_loss(judged).items()
        rows.append(_Row(_TALLY, {name: _Figure(str(tally)) for name, tally in counts}))
    return rows


def _figures(
    values: dict[str, Floats],
    higher_is_better: bool,
    judged: dict[str, Verdict | None],
    style: _Style,
) -> dict[str, _Figure]:
    """Format the scores of one row, all with the same number of decimals."""
    finished = {name: folds[~np.isnan(folds)] for name, folds in values.items()}
    means = {name: float(np.mean(folds)) for name, folds in finished.items() if len(folds)}
    decimals = _decimals(means.values())
    # Methods whose printed scores are equal are equally good.
    choose = max if higher_is_better else min
    best = choose(means.values(), default=math.nan)
    marks = {"better": style.symbols.better, "worse": style.symbols.worse}
    figures = {}
    for name, folds in finished.items():
        if name not in means:
            figures[name] = _Figure(style.symbols.missing)
            continue
        mean = f"{means[name]:.{decimals}f}"
        spread = _spread(folds, decimals, style) if style.with_spread else ""
        is_best = len(values) > 1 and mean == f"{best:.{decimals}f}"
        figures[name] = _Figure(mean + spread, is_best, marks.get(judged.get(name) or "", ""))
    return figures


def _spread(folds: Floats, decimals: int, style: _Style) -> str:
    if len(folds) < 2 or not np.isfinite(folds).all():
        return ""
    return f" {style.symbols.plus_minus} {np.std(folds, ddof=1):.{decimals}f}"


def _decimals(means: Iterable[float]) -> int:
    """Return the number of decimals: four for small values, fewer for large ones."""
    largest = max((abs(mean) for mean in means if math.isfinite(mean)), default=0.0)
    return 4 if largest < 10 else 3 if largest < 100 else 2 if largest < 10_000 else 0
