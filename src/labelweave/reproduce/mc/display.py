"""Tables and figures of the MC paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.evaluation import METRICS
from labelweave.report.comparison import rank_diagram
from labelweave.report.document import Block, Cell, LineChart, Paragraph, Section, Series, Table
from labelweave.reproduce.mc.claims import WINS
from labelweave.reproduce.mc.experiments import (
    DENSE,
    LIKELIHOODS,
    OURS,
    OWN_PENALTIES,
    PENALTIES,
    PUBLISHED,
    as_ours,
    as_published,
    as_reported,
    at_penalty,
    standardised,
    with_penalty,
)
from labelweave.reproduce.results import Results
from labelweave.reproduce.tables import data_table, score_table, wins_table

__all__ = ["show"]

_TABLES = {
    "exact_match": "Exact match (table 2)",
    "cll_loss": "CLL-loss per row (table 3)",
    "f1_micro": "Micro F1 (table 4)",
    "f1_macro": "Macro F1 (table 5)",
}
_MARKS = "Mean ± standard deviation over the folds; ●/○: MC is significantly better/worse."


def show(results: Results) -> tuple[Section, ...]:
    """Return the sections of the report that show tables and figures."""
    published, ours = as_reported(as_published(results)), as_reported(as_ours(results))
    sections = [Section("data", (data_table(published.data("fold")), _size_table(published, ours)))]
    for metric, title in _TABLES.items():
        names = LIKELIHOODS if metric == "cll_loss" else tuple(PUBLISHED)
        blocks: list[Block] = [
            _scores(f"{title}, as published", published, metric, PUBLISHED, names),
            _scores(f"{title}, our defaults", ours, metric, OURS, names),
            _wins(published, ours, metric, title, names),
            *_ranks(ours, metric, title, names),
        ]
        sections.append(Section(title, tuple(blocks)))
    sections.append(Section("number of trees (figure 3)", _charts(results)))
    sections.append(Section("what decides", _deviations(results)))
    return tuple(sections)


def _scores(
    title: str, results: Results, metric: str, methods: dict[str, str], names: Sequence[str]
) -> Table:
    chosen = {name: methods[name] for name in names if name in methods}
    return score_table(title, results, metric, chosen, reference="MC", note=_MARKS)


def _size_table(published: Results, ours: Results) -> Table:
    """Return how many trees the mixtures have, and their C."""
    rows = []
    for data in published.data("fold"):
        cells = [
            _spread(results.values("fold", data, method, name), digits)
            for results, method in ((published, PUBLISHED["MC"]), (ours, OURS["MC"]))
            for name, digits in (("n_components", 1), ("C", 3))
        ]
        rows.append((data, *cells))
    columns = ("data set", "trees, as published", "C", "trees, our default", "C")
    note = "Mean over the folds, smallest to largest. A mixture of one tree is SC but for its rows."
    return Table("Size and penalty of the mixtures", columns, tuple(rows), note)


def _spread(values: Floats, digits: int) -> str:
    known = values[~np.isnan(values)]
    if not len(known):
        return "–"
    return f"{known.mean():.{digits}f} ({known.min():.3g}–{known.max():.3g})"


def _wins(
    published: Results, ours: Results, metric: str, title: str, names: Sequence[str]
) -> Table:
    champions = {"MC as published": (published, PUBLISHED), "our MC": (ours, OURS)}
    given = {name: f"{wins} wins of {n}" for name, (wins, n) in WINS.items()}
    shown = given if metric == "exact_match" else None
    return wins_table(f"{title}: data sets", metric, champions, "MC", names, shown)


def _ranks(results: Results, metric: str, title: str, names: Sequence[str]) -> list[Block]:
    """Return the critical-difference diagram; MMOC ran on too few data sets to be ranked."""
    methods = {name: OURS[name] for name in names if name != "MMOC"}
    means = [
        [results.mean("fold", data, method, metric) for method in methods.values()]
        for data in results.data("fold")
    ]
    higher = METRICS[metric].higher_is_better
    ranks = f"{title}: average ranks, our defaults"
    diagram = rank_diagram(ranks, list(methods), means, higher_is_better=higher)
    return [] if diagram is None else [diagram]


def _charts(results: Results) -> tuple[Block, ...]:
    blocks: list[Block] = []
    penalties = dict.fromkeys(
        record.task.settings["C"]
        for record in results.records
        if record.task.measurement == "tree_counts"
    )
    for metric, label in (("cll_loss", "CLL-loss per row"), ("exact_match", "exact match")):
        for data in results.data("tree_counts"):
            series = [
                line for C in penalties for line in _curve(at_penalty(results, C), data, metric, C)
            ]
            blocks.append(LineChart(f"{data}: {label}", "trees", label, tuple(series)))
    return tuple(blocks) or (Paragraph("Not measured."),)


def _curve(results: Results, data: str, metric: str, C: float | str) -> list[Series]:
    """Return a curve of mixtures as published at a C, or of our defaults with their own."""
    method = OURS["MC"] if C == "cv" else PUBLISHED["MC"]
    name = "our defaults" if C == "cv" else f"as published, C = {C:g}"
    found = results.select("tree_counts", data, method)
    if not found:
        return []
    counts = tuple(map(float, found[0].task.settings["counts"]))
    curves = results.values("tree_counts", data, method, metric)
    error = curves.std(axis=0, ddof=min(1, len(curves) - 1)) / np.sqrt(len(curves))
    return [Series(name, counts, tuple(curves.mean(axis=0)), tuple(error))]


def _deviations(results: Results) -> tuple[Block, ...]:
    """Return what scaling, the size of C and labels' own penalty do to methods as published."""
    published, metric = as_reported(as_published(results)), "exact_match"
    names = tuple(PUBLISHED)
    return (
        _scores(
            "Exact match as published, features standardised",
            standardised(results),
            metric,
            PUBLISHED,
            names,
        ),
        _scores(
            "Exact match as published, labels with a penalty of their own",
            published.on(*DENSE),
            metric,
            PUBLISHED | OWN_PENALTIES,
            names,
        ),
        *(_sweep(published, data) for data in published.data("fold") if data in DENSE),
    )


def _sweep(results: Results, data: str) -> Table:
    """Return exact matches at given values of C: a row per method."""
    rows: list[tuple[Cell | str, ...]] = []
    for name in PUBLISHED:
        means = [
            results.mean("fold", data, with_penalty(name, C), "exact_match") for C in PENALTIES
        ]
        if not np.isnan(means).all():
            best = np.nanmax(means)
            cells = (
                Cell("–", muted=True)
                if np.isnan(mean)
                else Cell(f"{mean:.3f}", strong=mean == best)
                for mean in means
            )
            rows.append((name, *cells))
    columns = ("C", *(f"{C:g}" for C in PENALTIES))
    note = "As published, features in [0, 1]; the best C of each method in bold; five folds."
    return Table(f"{data}: exact match by C", columns, tuple(rows), note)
