"""Tables and figures of the P2CG paper."""

from __future__ import annotations

from labelweave.report.document import Block, LineChart, Paragraph, Section, Series, Table
from labelweave.reproduce.p2cg.claims import seconds_per_vector
from labelweave.reproduce.p2cg.experiments import (
    CHAIN,
    HAMMING_LOSS,
    OUR_METHODS,
    PUBLISHED_METHODS,
    SUBSET_LOSS,
    TEST_SECONDS,
)
from labelweave.reproduce.results import Results
from labelweave.reproduce.tables import data_table, duration, score_table
from labelweave.reproduce.task import load_data

__all__ = ["show"]


def show(results: Results) -> tuple[Section, ...]:
    """Return the sections of the report that show tables and figures."""
    blocks: list[Block] = [data_table(results.data("fold"))]
    titles = {
        "exact_match": "exact match (table 2: one minus 0/1 loss)",
        "hamming_loss": "Hamming loss (table 3)",
    }
    matches = {
        data: {name: (1 - mean, spread) for name, (mean, spread) in by_method.items()}
        for data, by_method in SUBSET_LOSS.items()
    }
    published = {"exact_match": matches, "hamming_loss": HAMMING_LOSS}
    for metric, title in titles.items():
        blocks.append(
            score_table(
                f"{title}, C = 1 for features and labels",
                results,
                metric,
                PUBLISHED_METHODS,
                published=_written(published[metric]),
                reference="P2CG",
                note="Mean ± standard deviation over the folds; ●/○: P2CG is significantly "
                "better/worse (paired t-test, 0.05). PCC is a certified search here: what it "
                "proves is what enumeration would give.",
            )
        )
        blocks.append(
            score_table(f"{title}, our defaults", results, metric, OUR_METHODS, reference="P2CG")
        )
    return (
        Section("accuracy", tuple(blocks)),
        Section("test time", (_time_table(results),)),
        Section("convergence", _charts(results)),
    )


def _written(losses: dict[str, dict[str, tuple[float, float]]]) -> dict[str, dict[str, str]]:
    return {
        data: {name: f"{mean:.3f} ± {spread:.3f}" for name, (mean, spread) in by_method.items()}
        for data, by_method in losses.items()
    }


def _time_table(results: Results) -> Table:
    rows = []
    for data in results.data("enumeration"):
        record = results.select("enumeration", data, CHAIN)[0]
        n_rows, n_labels = load_data(data).n_rows, record.values["n_labels"]
        sampling = record.values["sampling_seconds_per_row"] * n_rows
        counted = record.values.get("seconds_per_row")
        enumerated = (
            duration(counted * n_rows)
            if counted is not None
            else duration(seconds_per_vector(results) * 2.0**n_labels * n_rows) + " (extrapolated)"
        )
        published = {name: duration(s) for name, s in TEST_SECONDS.get(data, {}).items()}
        if published and "PCC" not in published:
            published["PCC"] = "over a week"
        rows.append(
            (
                data,
                str(n_labels),
                enumerated,
                published.get("PCC", "–"),
                duration(sampling),
                published.get("P2CG", "–"),
            )
        )
    return Table(
        "Test time for all rows (table 4)",
        ("data set", "labels", "PCC, enumerated", "published", "P2CG", "published"),
        tuple(rows),
        "Enumeration was timed on 20 rows, one core, and multiplied by the number of rows. Where "
        "it is infeasible, the time per vector on the largest data set that was enumerated is "
        "multiplied by the number of vectors.",
    )


def _charts(results: Results) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for data in results.data("convergence"):
        series = []
        for method, name in ((CHAIN, "C = 1"), ("p2cg", "our defaults")):
            traces = results.values("convergence", data, method, "mean_probability")
            if not len(traces):
                continue
            mean = traces.mean(axis=0)
            sweeps = tuple(map(float, range(len(mean))))
            series.append(Series(name, sweeps, tuple(mean)))
            mode = results.mean("convergence", data, method, "mode_probability")
            ends = (0.0, sweeps[-1])
            series.append(Series(f"best found, {name}", ends, (mode, mode), dashed=True))
        blocks.append(
            LineChart(
                f"Mean probability of the best label vector so far, {data} (figures 2 and 3)",
                "sweeps",
                "mean P(ŷ | x)",
                tuple(series),
            )
        )
    return tuple(blocks) or (Paragraph("Not measured."),)
