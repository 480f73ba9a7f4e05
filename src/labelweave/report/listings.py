"""Small tables: the figures of one model, the known data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelweave.datasets import CatalogueEntry
from labelweave.evaluation import Metric
from labelweave.report.console import Symbols

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["show_catalogue", "show_label_table", "show_scores"]


def _plain_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def show_scores(scores: Mapping[str, float], metrics: Iterable[Metric], console: Console) -> None:
    """Print one figure a line; a dash where the model has no answer.

    Examples
    --------
    >>> import sys
    >>> from labelweave.evaluation import resolve_metrics
    >>> from labelweave.report import make_console
    >>> metrics = resolve_metrics(["exact_match", "cll_loss"])
    >>> show_scores({"exact_match": 0.25}, metrics, make_console(sys.stdout))
    exact match  0.2500
    CLL-loss          –
    """
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
    """Print the figures of every label, one line each.

    Parameters
    ----------
    table : pandas.DataFrame
        What :func:`labelweave.evaluation.per_label` returned.
    console : rich.console.Console
        Where.

    Examples
    --------
    >>> import sys
    >>> from labelweave.evaluation import per_label
    >>> from labelweave.report import make_console
    >>> table = per_label([[1, 0], [0, 1]], [[1, 1], [0, 1]], label_names=["sun", "rain"])
    >>> show_label_table(table, make_console(sys.stdout))
    <BLANKLINE>
    label  support  predicted  precision  recall      f1
    sun          1          1     1.0000  1.0000  1.0000
    rain         1          2     0.5000  1.0000  0.6667
    """
    shown = _plain_table()
    shown.add_column("label", no_wrap=True)
    for column in table.columns:
        shown.add_column(column.replace("_", " "), justify="right", no_wrap=True)
    missing = Symbols.of(console.encoding).missing
    for label, *figures in table.itertuples():
        cells = [missing if f != f else f"{f:.4f}" if isinstance(f, float) else f for f in figures]
        shown.add_row(Text(str(label)), *map(str, cells))
    console.print()
    console.print(shown)


def show_catalogue(entries: Iterable[CatalogueEntry], console: Console) -> None:
    """Print the data sets known by name, and where their data is.

    Examples
    --------
    >>> import sys
    >>> from labelweave.datasets import catalogue
    >>> from labelweave.report import make_console
    >>> show_catalogue(catalogue()[:1], make_console(sys.stdout))
    name      rows  features  labels  per row  ...
    emotions   593        72       6    1.868  ...
    """
    table = _plain_table()
    table.add_column("name", no_wrap=True)
    for title in ("rows", "features", "labels", "per row"):
        table.add_column(title, justify="right", no_wrap=True)
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
