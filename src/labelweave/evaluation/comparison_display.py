"""Display a comparison as text, Markdown or a plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave.evaluation.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.evaluation.comparison import Comparison

__all__ = ["as_markdown", "as_text", "draw", "heading", "summary"]


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


def draw(comparison: Comparison, metrics: list[str] | None = None) -> Any:
    """Draw one panel per metric: one point per fold, and a bar at the mean of each method."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("plot requires matplotlib: pip install 'labelweave[plot]'") from error
    chosen = list(comparison.metrics if metrics is None else metrics)
    names = list(comparison.methods)
    figure = Figure(
        figsize=(2.6 * len(chosen) + 1.2, 0.35 * len(names) + 1.2), layout="constrained"
    )
    panels = figure.subplots(1, len(chosen), sharey=True, squeeze=False)[0]
    for ax, metric in zip(panels, chosen, strict=True):
        for place, name in enumerate(names):
            values = comparison.scores(name, metric)
            values = values[np.isfinite(values)]
            ax.plot(values, np.full(len(values), place), "o", color="#7b8794", alpha=0.5, ms=4)
            if len(values):
                ax.plot(values.mean(), place, "|", color="#1f2933", ms=16)
        ax.set_title(METRICS[metric].title, fontsize=9)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    return figure
