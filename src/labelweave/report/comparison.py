"""A comparison as a document: results, ranks, folds, times, problems and the command."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Mask
from labelweave._common.wording import Symbols
from labelweave.evaluation import Comparison, rank_methods
from labelweave.evaluation.results import Figure, heading, legend, score_rows
from labelweave.metrics import METRICS
from labelweave.report.document import (
    Block,
    Cell,
    Document,
    Facts,
    Paragraph,
    RankDiagram,
    Section,
    Strips,
    Table,
    write_document,
)

_SYMBOLS = Symbols.of("utf-8")
_SCALING = {"auto": "yes if they are dense", "True": "yes", "False": "no"}
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def write_report(
    comparisons: Comparison | Sequence[Comparison],
    path: str | os.PathLike[str],
    *,
    test: str = "paired",
    alpha: float = 0.05,
    command: str = "",
) -> None:
    """Write a report on one comparison, or on several data sets with the methods' ranks.

    Parameters
    ----------
    comparisons : Comparison or sequence of Comparison
        One comparison per data set.
    path : str or path-like
        A file with the extension ``.html`` (one page with charts, which needs no other file),
        ``.md`` (Markdown) or ``.tex`` (the tables, one ``table`` environment each).
    test, alpha
        The t-test of the first method against each of the others and its level of significance,
        as in `Comparison.verdicts`.
    command : str, default=""
        The command that repeats the comparison.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave import compare
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, cv=2, metrics=["f1_micro"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, f"{folder}/report.html")
    """
    document = comparison_document(comparisons, test=test, alpha=alpha, command=command)
    write_document(document, path)


def comparison_document(
    comparisons: Comparison | Sequence[Comparison],
    *,
    test: str = "paired",
    alpha: float = 0.05,
    command: str = "",
) -> Document:
    """Return the report that `write_report` writes."""
    all_of_them = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    if not all_of_them:
        raise ValueError("comparisons must hold at least one comparison; it is empty")
    if len(all_of_them) == 1:
        (only,) = all_of_them
        title, subtitle = f"Methods compared on {_name(only)}", heading(only)
        body = [
            Section("Results", (comparison_table(only, test=test, alpha=alpha),)),
            Section("Folds", _fold_strips(only, test, alpha)),
            Section("Times", _time_strips(only)),
        ]
    else:
        title = f"Methods compared on {len(all_of_them)} data sets"
        subtitle = ", ".join(map(_name, all_of_them))
        ranks = tuple(_rank_blocks(all_of_them, alpha))
        body = [Section("Ranks", ranks)] if ranks else []
        for one in all_of_them:
            table = comparison_table(one, test=test, alpha=alpha)
            charts = (*_fold_strips(one, test, alpha), *_time_strips(one))
            body.append(Section(_name(one), (table, *charts)))
    end = (
        Section("Problems", _problems(all_of_them)),
        Section("Settings", _settings(all_of_them)),
        Section("Environment", _environment(all_of_them, command)),
    )
    return Document(title, subtitle, (*body, *end))


def comparison_table(
    comparison: Comparison,
    *,
    test: str = "paired",
    alpha: float = 0.05,
    symbols: Symbols = _SYMBOLS,
    best: str = "bold",
    with_spread: bool = True,
) -> Table:
    """Return means ± standard deviations, a row per metric and a column per method.

    The note calls the style of the best scores `best`, and explains the marks of significance.
    """
    rows = score_rows(comparison, symbols, test=test, alpha=alpha, with_spread=with_spread)
    cells: tuple[tuple[Cell | str, ...], ...] = tuple(
        (row.title, *(_cell(row.figures.get(name), symbols) for name in comparison.methods))
        for row in rows
    )
    note = "; ".join(legend(comparison, symbols, best, test=test, alpha=alpha))
    return Table(heading(comparison), ("", *comparison.methods), cells, f"{note}.")


def _cell(figure: Figure | None, symbols: Symbols) -> Cell:
    if figure is None:
        return Cell("")
    is_missing = figure.written == symbols.missing
    return Cell(figure.written, strong=figure.is_best, muted=is_missing, mark=figure.mark)


def _fold_strips(comparison: Comparison, test: str, alpha: float) -> tuple[Strips, ...]:
    """Return one chart per metric, with the scores of every method on every fold."""
    return tuple(
        Strips(
            METRICS[metric].title,
            "higher is better" if METRICS[metric].higher_is_better else "lower is better",
            {name: tuple(comparison.scores(name, metric).tolist()) for name in comparison.methods},
            comparison.verdicts(metric, test=test, alpha=alpha),
        )
        for metric in comparison.metrics
    )


def _time_strips(comparison: Comparison) -> tuple[Strips, ...]:
    return tuple(
        Strips(
            f"Time to {phase}",
            "seconds per fold",
            {name: tuple(comparison.seconds(name, phase).tolist()) for name in comparison.methods},
        )
        for phase in ("fit", "predict")
    )


def _name(comparison: Comparison) -> str:
    return comparison.data.name or "data"


def _problems(comparisons: Sequence[Comparison]) -> tuple[Block, ...]:
    notes: list[tuple[str, str]] = []
    for comparison in comparisons:
        of_data = f"{_name(comparison)}, " if len(comparisons) > 1 else ""
        notes += [(f"{of_data}failure", note) for note in comparison.failure_notes()]
        notes += [(f"{of_data}warning", note) for note in warning_notes(comparison)]
    if not notes:
        return (Paragraph("No method failed, and none raised a warning."),)
    return (Facts("Failures and warnings", tuple(notes)),)


def warning_notes(comparison: Comparison, *, limit: int = 3, width: int = 200) -> list[str]:
    """Summarise the warnings of all folds, one line per method and warning.

    Warnings that differ only in numbers count as one; a method has at most `limit` lines.
    """
    notes = []
    for method in comparison.methods:
        first: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for run in comparison.of_method(method):
            kinds = [_NUMBER.sub("#", message) for message in run.warnings]
            counts.update(dict.fromkeys(kinds).keys())
            for kind, message in zip(kinds, run.warnings, strict=True):
                first.setdefault(kind, message)
        for kind, count in counts.most_common(limit):
            text = " ".join(first[kind].split())
            text = text if len(text) <= width else text[: width - 3] + "..."
            notes.append(f"{method} ({count} of {comparison.n_folds} folds): {text}")
        if len(counts) > limit:
            notes.append(f"{method}: {len(counts) - limit} more kinds of warnings")
    return notes


def _settings(comparisons: Sequence[Comparison]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for comparison in comparisons:
        train, test = comparison.mean_sizes()
        items = (
            ("size", heading(comparison)),
            ("split by", comparison.splitter),
            ("rows per fold", f"{train:g} to train, {test:g} to test, on average"),
            ("features scaled", _SCALING.get(comparison.scale, comparison.scale)),
        )
        blocks.append(Facts(f"Data: {_name(comparison)}", items))
    methods = {name: made for one in comparisons for name, made in one.methods.items()}
    return (*blocks, Facts("Methods", tuple(methods.items())))


def _environment(comparisons: Sequence[Comparison], command: str) -> tuple[Block, ...]:
    blocks: list[Block] = [command_paragraph(command)] if command else []
    machines = list(dict.fromkeys(tuple(one.versions.items()) for one in comparisons))
    for machine in machines:
        names = [_name(one) for one in comparisons if tuple(one.versions.items()) == machine]
        title = "Environment" if len(machines) == 1 else f"Environment of {', '.join(names)}"
        blocks.append(Facts(title, machine))
    return tuple(blocks)


def command_paragraph(command: str) -> Paragraph:
    """Return the command that repeats a run, as code."""
    # Backticks would end the code.
    return Paragraph("To repeat it: " + (command if "`" in command else f"`{command}`"))


@dataclass(frozen=True)
class _Ranking:
    """Average ranks of methods by one metric, over the data sets where all of them have it."""

    title: str
    ranks: dict[str, float]
    p_value: float
    n_data_sets: int
    critical_difference: float

    def diagram(self) -> RankDiagram:
        note = (
            f"{self.n_data_sets} data sets, Friedman's p = {self.p_value:.2g}; a bar connects "
            "methods that do not differ significantly."
        )
        return RankDiagram(self.title, self.ranks, self.critical_difference, note)


def rank_diagram(
    title: str,
    methods: Sequence[str],
    scores: ArrayLike,
    *,
    higher_is_better: bool,
    alpha: float = 0.05,
) -> RankDiagram | None:
    """Return the critical-difference diagram of mean scores (n_data_sets, n_methods).

    Methods without any score (NaN) are not ranked, and only data sets with scores of all others
    count. The result is None if fewer than two methods or data sets are left.
    """
    ranking = _ranking(title, methods, np.asarray(scores, float), higher_is_better, alpha)
    return None if ranking is None else ranking.diagram()


def _rank_blocks(comparisons: Sequence[Comparison], alpha: float) -> list[Block]:
    """Return average ranks as a table and as diagrams; an empty list if none can be computed."""
    rankings = [
        ranking
        for metric in comparisons[0].metrics
        if all(metric in comparison.metrics for comparison in comparisons)
        and (ranking := _metric_ranking(comparisons, metric, alpha))
    ]
    if not rankings:
        return []
    return [_rank_table(rankings, alpha), *(ranking.diagram() for ranking in rankings)]


def _metric_ranking(
    comparisons: Sequence[Comparison], metric: str, alpha: float
) -> _Ranking | None:
    methods = [
        name for name in comparisons[0].method_names if all(name in c.methods for c in comparisons)
    ]
    means = np.array([[_mean(c.scores(name, metric)) for name in methods] for c in comparisons])
    means = means.reshape(len(comparisons), len(methods))
    about = METRICS[metric]
    return _ranking(about.title, methods, means, about.higher_is_better, alpha)


def _ranking(
    title: str, methods: Sequence[str], means: Floats, higher_is_better: bool, alpha: float
) -> _Ranking | None:
    if means.ndim != 2:
        return None
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


def _rank_table(rankings: Sequence[_Ranking], alpha: float) -> Table:
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
