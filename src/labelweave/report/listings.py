"""Small tables: the figures of one model, the known data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelweave.datasets import CatalogueEntry
from labelweave.evaluation import Metric
from labelweave.report.console import Symbols

__all__ = ["show_catalogue", "show_scores"]


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
