"""Ranks of methods over several comparisons: a table, and a diagram for each metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Mask
from labelweave.evaluation import METRICS, Comparison, rank_methods
from labelweave.report.charts import RankDiagram
from labelweave.report.document import Block, Cell, Table

__all__ = ["rank_blocks", "rank_diagram"]


@dataclass(frozen=True)
class _Ranking:
    """Average ranks of the methods that have a metric, on the data sets on which all have it."""

    title: str
    ranks: dict[str, float]
    p_value: float
    n_data_sets: int
    critical_difference: float


def rank_blocks(comparisons: Sequence[Comparison], alpha: float = 0.05) -> list[Block]:
    """Return average ranks as a table and as diagrams; nothing if there is nothing to rank."""
    rankings = [
        ranking
        for metric in comparisons[0].metrics
        if all(metric in comparison.metrics for comparison in comparisons)
        and (ranking := _ranking(comparisons, metric, alpha))
    ]
    if not rankings:
        return []
    return [_table(rankings, alpha), *map(_diagram, rankings)]


def rank_diagram(
    title: str,
    methods: Sequence[str],
    scores: ArrayLike,
    *,
    higher_is_better: bool,
    alpha: float = 0.05,
) -> RankDiagram | None:
    """Return the critical-difference diagram of methods over data sets.

    Parameters
    ----------
    title : str
        Title of the diagram.
    methods : sequence of str
        Names of the methods.
    scores : array-like of shape (n_data_sets, n_methods)
        Mean scores, nan where there is none. Methods without any are not ranked, and only data sets
        on which all others have one count.
    higher_is_better : bool
        Whether high scores are good.
    alpha : float, default=0.05
        Significance level.

    Returns
    -------
    RankDiagram or None
        None if fewer than two methods or data sets are left.

    Examples
    --------
    >>> scores = [[0.9, 0.8], [0.7, 0.5], [0.6, 0.4]]
    >>> rank_diagram("F1", ["cc", "br"], scores, higher_is_better=True).ranks
    {'cc': 1.0, 'br': 2.0}
    """
    ranking = _rank_scores(title, methods, np.asarray(scores, float), higher_is_better, alpha)
    return None if ranking is None else _diagram(ranking)


def _diagram(ranking: _Ranking) -> RankDiagram:
    return RankDiagram(ranking.title, ranking.ranks, ranking.critical_difference, _note(ranking))


def _ranking(comparisons: Sequence[Comparison], metric: str, alpha: float) -> _Ranking | None:
    methods = [
        name for name in comparisons[0].method_names if all(name in c.methods for c in comparisons)
    ]
    means = np.array([[_mean(c.scores(name, metric)) for name in methods] for c in comparisons])
    means = means.reshape(len(comparisons), len(methods))
    about = METRICS[metric]
    return _rank_scores(about.title, methods, means, about.higher_is_better, alpha)


def _rank_scores(
    title: str, methods: Sequence[str], means: Floats, higher_is_better: bool, alpha: float
) -> _Ranking | None:
    if means.ndim != 2:
        return None
    # Methods without the metric are not ranked; data sets without a score of another do not count.
    has_metric: Mask = np.any(~np.isnan(means), axis=0)
    means = means[:, has_metric]
    means = means[~np.isnan(means).any(axis=1)]
    n_data_sets, n_methods = means.shape
    if n_data_sets < 2 or n_methods < 2:
        return None
    ranking = rank_methods(means, higher_is_better=higher_is_better)
    names = [name for name, has in zip(methods, has_metric, strict=True) if has]
    return _Ranking(
        title,
        dict(zip(names, ranking.average.tolist(), strict=True)),
        ranking.p_value,
        n_data_sets,
        ranking.critical_difference(alpha),
    )


def _mean(scores: Floats) -> float:
    known = scores[~np.isnan(scores)]
    return float(np.mean(known)) if len(known) else math.nan


def _table(rankings: Sequence[_Ranking], alpha: float) -> Table:
    methods = list(dict.fromkeys(name for ranking in rankings for name in ranking.ranks))
    columns = ("metric", *methods, "data sets", "Friedman p", "critical difference")
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (
            ranking.title,
            *(_rank(ranking, method) for method in methods),
            str(ranking.n_data_sets),
            f"{ranking.p_value:.2g}",
            f"{ranking.critical_difference:.3g}",
        )
        for ranking in rankings
    )
    note = (
        "1 is best; bold: best. Friedman's test, with Iman and Davenport's statistic, asks whether "
        "the ranks differ at all; two methods differ significantly if their ranks are at least the "
        f"critical difference apart (Nemenyi's test at {alpha:g})."
    )
    return Table("Average ranks", columns, rows, note)


def _rank(ranking: _Ranking, method: str) -> Cell:
    if method not in ranking.ranks:
        return Cell("–", muted=True)
    written = f"{ranking.ranks[method]:.2f}"
    return Cell(written, strong=written == f"{min(ranking.ranks.values()):.2f}")


def _note(ranking: _Ranking) -> str:
    return (
        f"{ranking.n_data_sets} data sets, Friedman's p = {ranking.p_value:.2g}; a bar connects "
        "methods that do not differ significantly."
    )
