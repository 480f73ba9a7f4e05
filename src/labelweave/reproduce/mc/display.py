"""Tables and figures of the MC paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelweave.evaluation import METRICS
from labelweave.report import Block, LineChart, Paragraph, Section, Series, Table, rank_diagram
from labelweave.reproduce.mc.claims import WINS
from labelweave.reproduce.mc.experiments import LIKELIHOODS, OURS, PUBLISHED, as_reported
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
    reported = as_reported(results)
    sections = [Section("data", (data_table(results.data("fold")),))]
    for metric, title in _TABLES.items():
        names = LIKELIHOODS if metric == "cll_loss_row" else tuple(PUBLISHED)
        blocks: list[Block] = []
        for version, methods in (("as published", PUBLISHED), ("our defaults", OURS)):
            chosen = {name: methods[name] for name in names}
            blocks.append(
                score_table(
                    f"{title}, {version}", reported, metric, chosen, reference="MC", note=_MARKS
                )
            )
        blocks.append(_wins(reported, metric, title, names))
        blocks += _ranks(reported, metric, title, names)
        sections.append(Section(title, tuple(blocks)))
    sections.append(Section("number of trees (figure 3)", _charts(results)))
    return tuple(sections)


def _wins(results: Results, metric: str, title: str, names: Sequence[str]) -> Table:
    champions = {"MC as published": PUBLISHED["MC"], "our MC": OURS["MC"]}
    rivals = {
        name: {"MC as published": PUBLISHED[name], "our MC": OURS[name]}
        for name in names
        if name != "MC"
    }
    published = {name: f"{wins} wins of {n}" for name, (wins, n) in WINS.items()}
    given = published if metric == "exact_match" else None
    return wins_table(f"{title}: data sets", results, metric, champions, rivals, given)


def _ranks(results: Results, metric: str, title: str, names: Sequence[str]) -> list[Block]:
    """Return the critical-difference diagram; MMOC ran on too few data sets to be ranked."""
    methods = {name: OURS[name] for name in names if name != "MMOC"}
    methods |= {"MC as published": PUBLISHED["MC"]}
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
    for metric, label in (("cll_loss_row", "CLL-loss per row"), ("exact_match", "exact match")):
        for data in results.data("tree_counts"):
            series = []
            for method, name in ((PUBLISHED["MC"], "as published"), ("mc", "our defaults")):
                found = results.select("tree_counts", data, method)
                if not found:
                    continue
                counts = tuple(map(float, found[0].task.settings["counts"]))
                curves = results.values("tree_counts", data, method, metric)
                error = curves.std(axis=0, ddof=min(1, len(curves) - 1)) / np.sqrt(len(curves))
                series.append(Series(name, counts, tuple(curves.mean(axis=0)), tuple(error)))
            blocks.append(LineChart(f"{data}: {label}", "trees", label, tuple(series)))
    return tuple(blocks) or (Paragraph("Not measured."),)
