"""Tables that several plans show: data sets, scores with published figures, wins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.evaluation import METRICS
from labelweave.report.document import Cell, Table
from labelweave.reproduce.results import Results
from labelweave.reproduce.task import load_data

__all__ = ["data_table", "duration", "mean_and_deviation", "score_table", "tally", "wins_table"]

_MISSING = Cell("–", muted=True)
_MARKS = {"better": "●", "worse": "○", "tie": "", None: ""}


def mean_and_deviation(values: Floats, digits: int = 3) -> str:
    """Return the mean and standard deviation over the folds.

    Examples
    --------
    >>> mean_and_deviation(np.array([0.2, 0.4]))
    '0.300 ± 0.141'
    """
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


def data_table(names: Iterable[str]) -> Table:
    """Return the sizes of the data sets, as the papers' first tables give them.

    Examples
    --------
    >>> data_table(["emotions"]).cells[0][1].text
    '593'
    """
    rows = []
    for name in names:
        data = load_data(name)
        rows.append(
            (
                name,
                f"{data.n_rows:,}",
                f"{data.n_features:,}",
                str(data.n_labels),
                f"{data.cardinality:.3f}",
                str(data.n_label_sets),
            )
        )
    columns = ("data set", "rows", "features", "labels", "labels per row", "distinct label sets")
    return Table("Data sets", columns, tuple(rows))


def score_table(
    title: str,
    results: Results,
    metric: str,
    methods: Mapping[str, str],
    *,
    published: Mapping[str, Mapping[str, str]] | None = None,
    reference: str = "",
    note: str = "",
) -> Table:
    """Return a table of one metric: a row per data set, a column per method.

    Parameters
    ----------
    title : str
        Caption.
    results : Results
        Results of the measurement ``fold``.
    metric : str
        Name of the metric.
    methods : mapping
        Specifications of the methods by heading.
    published : mapping, optional
        Published figures by data set and heading, in a row below the measured ones.
    reference : str
        Heading of the method to which the marks refer: where it is significantly better (●) or
        worse (○) than the other.
    note : str
        A note below the table.
    """
    rows: list[tuple[Cell | str, ...]] = []
    for data in results.data("fold"):
        cells = _measured(results, data, metric, methods, reference)
        if all(cell is _MISSING for cell in cells):
            continue
        rows.append((data, *cells))
        if published and data in published:
            given = [published[data].get(heading, "–") for heading in methods]
            rows.append(
                (Cell("published", muted=True), *(Cell(text, muted=True) for text in given))
            )
    return Table(title, ("data set", *methods), tuple(rows), note)


def _measured(
    results: Results, data: str, metric: str, methods: Mapping[str, str], reference: str
) -> list[Cell]:
    scores = {h: results.values("fold", data, spec, metric) for h, spec in methods.items()}
    means = {h: v.mean() for h, v in scores.items() if len(v) and not np.isnan(v).any()}
    if not means:
        return [_MISSING] * len(methods)
    best = (max if METRICS[metric].higher_is_better else min)(means.values())
    cells = []
    for heading, specification in methods.items():
        if heading not in means:
            cells.append(_MISSING)
            continue
        mark = ""
        if reference and heading != reference:
            verdict = results.compare(data, methods[reference], specification, metric)
            mark = _MARKS[verdict]
        text = mean_and_deviation(scores[heading])
        n_failed = results.n_failed("fold", data, specification)
        if n_failed:
            text += f" ({n_failed} failed)"
        cells.append(Cell(text, strong=means[heading] == best, mark=mark))
    return cells


def tally(
    results: Results, metric: str, method: str, rival: str, data: Sequence[str] | None = None
) -> tuple[int, int, int]:
    """Return on how many data sets a method is significantly better, neither, and worse."""
    names = results.data("fold") if data is None else data
    verdicts = [results.compare(name, method, rival, metric) for name in names]
    return verdicts.count("better"), verdicts.count("tie"), verdicts.count("worse")


def wins_table(
    title: str,
    metric: str,
    versions: Mapping[str, tuple[Results, Mapping[str, str]]],
    champion: str,
    rivals: Sequence[str],
    published: Mapping[str, str] | None = None,
) -> Table:
    """Return wins/ties/losses over the data sets: a row per rival, a column per version.

    Parameters
    ----------
    title : str
        Caption.
    metric : str
        Name of the metric.
    versions : mapping
        Results and the specifications of methods, by the heading of the column.
    champion : str
        The method whose wins are counted.
    rivals : sequence of str
        The methods it is compared with, of the same version.
    published : mapping, optional
        The published counts by rival.
    """
    rows = []
    for rival in rivals:
        counts = [
            tally(results, metric, methods[champion], methods[rival])
            for results, methods in versions.values()
        ]
        if rival != champion and any(map(any, counts)):
            given = [] if published is None else [published.get(rival, "–")]
            cells = ["/".join(map(str, count)) if any(count) else _MISSING for count in counts]
            rows.append((rival, *given, *cells))
    columns = [] if published is None else ["published"]
    return Table(title, ("wins/ties/losses against", *columns, *versions), tuple(rows))


def duration(seconds: float) -> str:
    """Return a duration in the unit that suits it.

    Examples
    --------
    >>> duration(0.0025), duration(9.2), duration(10080), duration(1e15)
    ('2.5 ms', '9.2 s', '2.8 h', '3e+07 years')
    """
    for size, unit in ((3.156e7, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            amount = seconds / size
            return f"{amount:.1f} {unit}" if amount < 1e4 else f"{amount:.0e} {unit}"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
