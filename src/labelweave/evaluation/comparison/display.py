"""Display a comparison as text, Markdown or HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave._common.notebook import html_table
from labelweave.evaluation.metrics.registry import METRICS

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.evaluation.comparison.results import Comparison

__all__ = ["as_html", "as_markdown", "as_text", "heading", "summary"]


def summary(comparison: Comparison) -> pd.DataFrame:
    """Return the mean and standard deviation over folds as text, one column per method."""
    import pandas as pd

    rows = {
        METRICS[metric].title: [
            _mean_and_spread(comparison.scores(name, metric)) for name in comparison.methods
        ]
        for metric in comparison.metrics
    }
    for phase in ("fit", "predict"):
        rows[f"{phase} seconds"] = [
            _mean_and_spread(comparison.seconds(name, phase)) for name in comparison.methods
        ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=list(comparison.methods))


def _mean_and_spread(values: Any) -> str:
    known = values[~np.isnan(values)]
    if len(known) == 0:
        return "–"
    if len(known) == 1 or not np.isfinite(known).all():
        return f"{known.mean():.4f}"
    return f"{known.mean():.4f} ± {known.std(ddof=1):.4f}"


def heading(comparison: Comparison) -> str:
    """Describe the data set and the number of folds."""
    data = comparison.data
    return (
        f"{data.name or 'data'}: {data.n_rows} rows, {data.n_features} features, "
        f"{data.n_labels} label{'s' if data.n_labels != 1 else ''}; {comparison.n_folds} folds"
    )


def as_text(comparison: Comparison) -> str:
    """Return a plain-text table, and which methods failed."""
    table = summary(comparison).to_string()
    return "\n".join([heading(comparison), table, *comparison.failure_notes()])


def as_html(comparison: Comparison) -> str:
    """Return an HTML table for notebooks, and which methods failed."""
    table = summary(comparison)
    rows = [[title, *cells] for title, *cells in table.itertuples()]
    return html_table(heading(comparison), ["", *table.columns], rows, comparison.failure_notes())


def as_markdown(comparison: Comparison) -> str:
    """Return a Markdown table, and which methods failed."""
    table = summary(comparison)
    lines = [_markdown_row(["", *table.columns])]
    lines += [_markdown_row([title, *row]) for title, *row in table.itertuples()]
    rule = "|---|" + "---:|" * len(table.columns)
    notes = [f"- {note}" for note in comparison.failure_notes()]
    blocks = [heading(comparison), "\n".join([lines[0], rule, *lines[1:]]), "\n".join(notes)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _markdown_row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
