"""The figures of a comparison as they are written: means and spreads, the best, and marks.

Tables on the console, in notebooks and in documents are made from the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.wording import Symbols
from labelweave.evaluation.comparison.significance import Standing, verdicts, win_tie_loss
from labelweave.metrics import METRICS

if TYPE_CHECKING:
    from labelweave.evaluation.comparison.results import Comparison

__all__ = ["Figure", "ScoreRow", "legend", "score_rows"]


@dataclass(frozen=True)
class Figure:
    """A number as written, whether it is the best in its row, and its mark."""

    written: str
    is_best: bool = False
    mark: str = ""


@dataclass(frozen=True)
class ScoreRow:
    """One row: a title, and a figure for each method that has one."""

    title: str
    figures: dict[str, Figure]


def score_rows(
    comparison: Comparison,
    symbols: Symbols,
    *,
    test: str = "paired",
    alpha: float = 0.05,
    with_spread: bool = True,
) -> list[ScoreRow]:
    """Return one row per metric, the seconds, and the first method's wins, ties and losses."""
    judged = {
        metric: verdicts(comparison, metric, test=test, alpha=alpha)
        for metric in comparison.metrics
    }
    names = comparison.method_names
    rows = []
    for metric in comparison.metrics:
        scores = {name: comparison.scores(name, metric) for name in names}
        higher = METRICS[metric].higher_is_better
        figures = _figures(scores, higher, judged[metric], symbols, with_spread)
        rows.append(ScoreRow(METRICS[metric].title, figures))
    for phase in ("fit", "predict"):
        seconds = {name: comparison.seconds(name, phase) for name in names}
        figures = _figures(seconds, False, {}, symbols, with_spread)
        rows.append(ScoreRow(f"{phase} seconds", figures))
    if len(names) > 1:
        counts = win_tie_loss(judged).items()
        rows.append(
            ScoreRow("wins/ties/losses", {name: Figure(str(tally)) for name, tally in counts})
        )
    return rows


def legend(
    comparison: Comparison, symbols: Symbols, best: str, *, test: str, alpha: float
) -> list[str]:
    """Explain spreads, the sign of the best score, and marks."""
    lines = [f"mean {symbols.plus_minus} standard deviation over folds"]
    if len(comparison.methods) > 1:
        first = comparison.method_names[0]
        lines[0] += f"; {best}: best"
        lines.append(
            f"{symbols.better}/{symbols.worse}: {first} is significantly better/worse "
            f"({test} t-test, p < {alpha:g}); last row: its wins, ties, losses"
        )
    return lines


def _figures(
    values: dict[str, Floats],
    higher_is_better: bool,
    judged: dict[str, Standing | None],
    symbols: Symbols,
    with_spread: bool,
) -> dict[str, Figure]:
    """Format the scores of one row, all with the same number of decimals."""
    finished = {name: folds[~np.isnan(folds)] for name, folds in values.items()}
    means = {name: float(np.mean(folds)) for name, folds in finished.items() if len(folds)}
    decimals = _decimals(means.values())
    # Methods whose printed scores are equal are equally good.
    choose = max if higher_is_better else min
    best = choose(means.values(), default=math.nan)
    marks = {"better": symbols.better, "worse": symbols.worse}
    figures = {}
    for name, folds in finished.items():
        if name not in means:
            figures[name] = Figure(symbols.missing)
            continue
        mean = f"{means[name]:.{decimals}f}"
        spread = _spread(folds, decimals, symbols) if with_spread else ""
        is_best = len(values) > 1 and mean == f"{best:.{decimals}f}"
        figures[name] = Figure(mean + spread, is_best, marks.get(judged.get(name) or "", ""))
    return figures


def _spread(folds: Floats, decimals: int, symbols: Symbols) -> str:
    if len(folds) < 2 or not np.isfinite(folds).all():
        return ""
    return f" {symbols.plus_minus} {np.std(folds, ddof=1):.{decimals}f}"


def _decimals(means: Iterable[float]) -> int:
    """Return the number of decimals: four for small values, fewer for large ones."""
    largest = max((abs(mean) for mean in means if math.isfinite(mean)), default=0.0)
    return 4 if largest < 10 else 3 if largest < 100 else 2 if largest < 10_000 else 0
