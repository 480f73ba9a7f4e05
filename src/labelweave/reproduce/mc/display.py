"""Tables and figures of the MC paper."""

from __future__ import annotations

import numpy as np

from labelweave.evaluation import average_ranks, nemenyi_critical_difference
from labelweave.report import Block, LineChart, Paragraph, RankDiagram, Section, Series
from labelweave.reproduce.mc.experiments import OURS, PUBLISHED
from labelweave.reproduce.results import Results
from labelweave.reproduce.tables import data_table, score_table, wins_table

__all__ = ["show"]

_TABLES = {
    "exact_match": "Exact match (table 2)",
    "cll_loss_row": "CLL-loss per row (table 3)",
    "f1_micro": "Micro F1 (table 4)",
    "f1_macro": "Macro F1 (table 5)",
}
_MARKS = "Mean ± standard deviation over the folds; ●/○: MC is significantly better/worse."


def show(results: Results) -> tuple[Section, ...]:
    """Return the sections of the report that show tables and figures."""
    sections = [Section("data", (data_table(results.data("fold")),))]
    for metric, title in _TABLES.items():
        blocks: list[Block] = []
        for version, methods in (("as published", PUBLISHED), ("our defaults", OURS)):
            blocks.append(
                score_table(
                    f"{title}, {version}", results, metric, methods, reference="MC", note=_MARKS
                )
            )
        champions = {"MC as published": PUBLISHED["MC"], "our MC": OURS["MC"]}
        rivals = {
            name: {"MC as published": PUBLISHED[name], "our MC": OURS[name]}
            for name in PUBLISHED
            if name != "MC"
        }
        blocks.append(wins_table(f"{title}: data sets", results, metric, champions, rivals))
        blocks += _ranks(results, metric, title)
        sections.append(Section(title, tuple(blocks)))
    sections.append(Section("number of trees (figure 3)", _charts(results)))
    return tuple(sections)


def _ranks(results: Results, metric: str, title: str) -> list[Block]:
    """Return the critical-difference diagram of the methods that ran on every data set."""
    names = results.data("fold")
    methods = {**OURS, "MC published": PUBLISHED["MC"]}
    scores = {
        heading: [results.mean("fold", data, method, metric) for data in names]
        for heading, method in methods.items()
    }
    complete = {heading: row for heading, row in scores.items() if not np.isnan(row).any()}
    if len(names) < 2 or len(complete) < 2:
        return []
    better_high = metric != "cll_loss_row"
    ranks = average_ranks(np.array(list(complete.values())).T, higher_is_better=better_high)
    return [
        RankDiagram(
            f"{title}: average ranks over {len(names)} data sets",
            dict(zip(complete, map(float, ranks), strict=True)),
            nemenyi_critical_difference(len(complete), len(names)),
            "Methods that ran on every data set, our defaults; a bar joins methods that do not "
            "differ significantly (Nemenyi, 0.05).",
        )
    ]


def _charts(results: Results) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for metric, label in (("cll_loss_row", "CLL-loss per row"), ("exact_match", "exact match")):
        for data in results.data("tree_counts"):
            series = []
            for method, name in ((PUBLISHED["MC"], "as published"), ("mc", "our defaults")):
                found = results.select("tree_counts", data, method)
                if not found:
                    continue
                counts = tuple(map(float, found[0].task.settings["counts"]))
                curves = results.values("tree_counts", data, method, metric)
                error = curves.std(axis=0) / np.sqrt(len(curves))
                series.append(Series(name, counts, tuple(curves.mean(axis=0)), tuple(error)))
            blocks.append(LineChart(f"{data}: {label}", "trees", label, tuple(series)))
    return tuple(blocks) or (Paragraph("Not measured."),)
