"""Simple tables: scores of one model, an explanation, and the named data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelweave._common.wording import Symbols
from labelweave.datasets import CatalogueEntry
from labelweave.metrics import Metric
from labelweave.models import Explanation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["show_datasets", "show_explanation", "show_label_table", "show_scores"]


def _plain_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def show_scores(scores: Mapping[str, float], metrics: Iterable[Metric], console: Console) -> None:
    """Print one score per line; a dash for metrics that do not apply to the model.

    Examples
    --------
    >>> import sys
    >>> from labelweave.metrics import resolve_metrics
    >>> from labelweave.report import make_console
    >>> metrics = resolve_metrics(["exact_match", "cll_loss_sum"]).values()
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
    """Print the scores of each label, one line per label.

    Parameters
    ----------
    table : pandas.DataFrame
        The result of :func:`labelweave.metrics.scores_by_label`.
    console : rich.console.Console
        Where to print.

    Examples
    --------
    >>> import sys
    >>> from labelweave.metrics import scores_by_label
    >>> from labelweave.report import make_console
    >>> table = scores_by_label([[1, 0], [0, 1]], [[1, 1], [0, 1]], label_names=["sun", "rain"])
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


def show_explanation(
    explanation: Explanation, console: Console, *, row: int = 0, max_terms: int = 20
) -> None:
    """Print what adds up to a log-odds or a log-ratio, the largest contributions first.

    Parameters
    ----------
    explanation : Explanation
    console : rich.console.Console
        Where to print.
    row : int, default=0
    max_terms : int, default=20
        Number of contributions to print; the others are summed up.

    Examples
    --------
    >>> import sys
    >>> from labelweave.models import BinaryRelevance, explain_label
    >>> from labelweave.report import make_console
    >>> model = BinaryRelevance(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [[0], [1], [1], [1]])
    >>> show_explanation(explain_label(model, [[2.0]], 0), make_console(sys.stdout))
    y0
    term        kind     value  contribution
    base value  base         –         1.300
    x0          feature      2         0.409
    sum                                1.710
    """
    missing = Symbols.of(console.encoding).missing
    table = _plain_table()
    for title in ("term", "kind"):
        table.add_column(title, no_wrap=True)
    for title in ("value", "contribution"):
        table.add_column(title, justify="right", no_wrap=True)
    for term, kind, value, contribution in explanation.to_frame(row, max_terms).itertuples(
        index=False
    ):
        known = missing if value != value else f"{value:.4g}"
        table.add_row(Text(term), kind, known, f"{contribution:.3f}")
    table.add_row("sum", "", "", f"{explanation.log_ratio[row]:.3f}")
    console.print(Text(explanation.title(row)))
    console.print(table)


def show_datasets(entries: Iterable[CatalogueEntry], console: Console) -> None:
    """Print the named data sets, and where they are found.

    Examples
    --------
    >>> import sys
    >>> from labelweave.datasets import list_datasets
    >>> from labelweave.report import make_console
    >>> show_datasets(list_datasets()[:1], make_console(sys.stdout))
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
