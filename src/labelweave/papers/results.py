"""The results of a plan, with queries for tables, figures and claims; tables of several plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.keyed_lines import KeyedLines
from labelweave.evaluation import paired_t_test
from labelweave.evaluation.significance import Standing
from labelweave.metrics import METRICS
from labelweave.papers.measurements import load_data
from labelweave.papers.plan import Task
from labelweave.report.document import Cell, Table

# With fewer folds, a t-test could hardly find any difference.
_LEAST_FOLDS = 5
#: Columns of :meth:`Results.rows`.
COLUMNS = ("measurement", "data", "method", "seed", "fold", "name", "index", "value")
_MISSING = Cell("–", muted=True)
_MARKS = {"better": "●", "worse": "○", "tie": "", None: ""}


@dataclass(frozen=True)
class Record:
    """The result of a task: numbers or lists of numbers by name, or the reason of a failure."""

    task: Task
    values: dict[str, Any]
    seconds: float  # of the whole task
    error: str = ""


def result_lines(folder: Path) -> KeyedLines[Record]:
    """Return the file of results in a folder: one line for each finished task."""

    def record(content: dict[str, Any]) -> Record:
        return Record(**content | {"task": Task(**content["task"])})

    return KeyedLines(folder / "results.jsonl", asdict, record)


@dataclass(frozen=True)
class Results:
    """The records of all tasks of a plan; those that failed have no values."""

    records: tuple[Record, ...]

    def where(self, **settings: Any) -> Results:
        """Return the records of tasks that have these settings."""
        wanted = settings.items()
        return self._only(
            lambda task: all(task.settings.get(name) == value for name, value in wanted)
        )

    def on(self, *data: str) -> Results:
        """Return the records of these data sets."""
        return self._only(lambda task: task.data in data)

    def _only(self, wanted: Callable[[Task], bool]) -> Results:
        return Results(tuple(record for record in self.records if wanted(record.task)))

    def select(self, measurement: str, data: str, method: str) -> list[Record]:
        """Return the successful records of one method on one data set, by seed and fold."""
        found = self._of_kind(measurement, data, method)
        return sorted(
            (record for record in found if not record.error),
            key=lambda record: (record.task.seed, record.task.fold),
        )

    def n_failed(self, measurement: str, data: str, method: str) -> int:
        return sum(bool(record.error) for record in self._of_kind(measurement, data, method))

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str, str], list[Record]]:
        found: dict[tuple[str, str, str], list[Record]] = {}
        for record in self.records:
            found.setdefault(record.task.kind, []).append(record)
        return found

    def _of_kind(self, measurement: str, data: str, method: str) -> list[Record]:
        return self._by_kind.get((measurement, data, method), [])

    def has(self, measurement: str, data: str, *methods: str) -> bool:
        """Whether every method has results on a data set, and none of its tasks failed."""
        return all(
            self.select(measurement, data, method) and not self.n_failed(measurement, data, method)
            for method in methods
        )

    def data(self, measurement: str) -> tuple[str, ...]:
        """Return the data sets of a measurement, in the order of the plan."""
        tasks = (record.task for record in self.records if not record.error)
        return tuple(dict.fromkeys(task.data for task in tasks if task.measurement == measurement))

    def values(self, measurement: str, data: str, method: str, name: str) -> Floats:
        """Return one value per seed and fold, nan if it is missing; vectors are stacked."""
        found = self.select(measurement, data, method)
        return np.array([record.values.get(name, np.nan) for record in found], dtype=np.float64)

    def mean(self, measurement: str, data: str, method: str, name: str) -> float:
        """Return the mean over seeds and folds; nan if there is none."""
        values = self.values(measurement, data, method, name)
        return float(values.mean()) if len(values) else float("nan")

    def paired(
        self,
        measurement: str,
        data: str,
        methods: tuple[str, str],
        name: str,
        seed: int | None = None,
    ) -> tuple[Floats, Floats]:
        """Return the values of two methods on their common folds, of one seed or of all seeds."""
        first, second = (
            {
                (record.task.seed, record.task.fold): record.values.get(name, np.nan)
                for record in self.select(measurement, data, method)
                if seed is None or seed == record.task.seed
            }
            for method in methods
        )
        common = sorted(first.keys() & second.keys())
        return np.array([first[key] for key in common]), np.array([second[key] for key in common])

    def compare(self, data: str, method: str, rival: str, metric: str) -> Standing | None:
        """Compare two methods by the majority of paired t-tests, one per seed; None if untested."""
        higher = METRICS[metric].higher_is_better
        seeds = sorted({record.task.seed for record in self.select("fold", data, method)})
        pairs = [self.paired("fold", data, (method, rival), metric, seed) for seed in seeds]
        standings = [
            paired_t_test(*pair).standing(higher_is_better=higher)
            for pair in pairs
            if len(pair[0]) >= _LEAST_FOLDS
        ]
        counts = Counter(standing for standing in standings if standing is not None)
        if not counts:
            return None
        top, n = counts.most_common(1)[0]
        return top if 2 * n > counts.total() else "tie"

    def tally(
        self, metric: str, method: str, rival: str, data: Sequence[str] | None = None
    ) -> tuple[int, int, int]:
        """Count the data sets on which a method is significantly better, tied and worse."""
        names = self.data("fold") if data is None else data
        standings = [self.compare(name, method, rival, metric) for name in names]
        return standings.count("better"), standings.count("tie"), standings.count("worse")

    def replacing(self, method: str, name: str, by: str) -> Results:
        """Return results in which the value `name` of one method is replaced by its value `by`."""
        return Results(
            tuple(
                replace(record, values=record.values | {name: record.values[by]})
                if record.task.method == method and by in record.values
                else record
                for record in self.records
            )
        )

    def failures(self) -> list[str]:
        """Describe the tasks that failed, one line each."""
        return [f"{r.task.measurement} of {r.task}: {r.error}" for r in self.records if r.error]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of :data:`COLUMNS`: one row per number; vectors have an index."""
        for record in self.records:
            about = (*record.task.kind, record.task.seed, record.task.fold)
            for name, value in sorted(record.values.items()):
                entries = enumerate(value) if isinstance(value, list) else [("", value)]
                yield from ((*about, name, index, entry) for index, entry in entries)


def mean_and_deviation(values: Floats, digits: int = 3) -> str:
    """Return the mean and standard deviation over the folds."""
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1):.{digits}f}"


def duration(seconds: float) -> str:
    """Return a duration in a suitable unit."""
    for size, unit in ((3.156e7, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            amount = seconds / size
            return f"{amount:.1f} {unit}" if amount < 1e4 else f"{amount:.0e} {unit}"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def data_table(names: Iterable[str]) -> Table:
    """Return the sizes of the data sets, as in the papers' first tables."""
    rows = []
    for name in names:
        data = load_data(name)
        sizes = f"{data.n_rows:,}", f"{data.n_features:,}", str(data.n_labels)
        rows.append((name, *sizes, f"{data.cardinality:.3f}", str(data.n_label_sets)))
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
    """Return a table of one metric of the folds: a row per data set, a column per method.

    `methods` are specifications by heading. Published figures, by data set and heading, are placed
    below the measured ones. A mark shows that the method with the heading `reference` is
    significantly better (●) or worse (○).
    """
    rows: list[tuple[Cell | str, ...]] = []
    for data in results.data("fold"):
        cells = _measured(results, data, metric, methods, reference)
        if all(cell is _MISSING for cell in cells):
            continue
        rows.append((data, *cells))
        if published and data in published:
            given = ["published", *(published[data].get(heading, "–") for heading in methods)]
            rows.append(tuple(Cell(text, muted=True) for text in given))
    return Table(title, ("data set", *methods), tuple(rows), note)


def _measured(
    results: Results, data: str, metric: str, methods: Mapping[str, str], reference: str
) -> list[Cell]:
    scores = {h: results.values("fold", data, spec, metric) for h, spec in methods.items()}
    means = {h: v.mean() for h, v in scores.items() if len(v) and not np.isnan(v).any()}
    choose = max if METRICS[metric].higher_is_better else min
    best = choose(means.values(), default=np.nan)
    cells = []
    for heading, specification in methods.items():
        if heading not in means:
            cells.append(_MISSING)
            continue
        mark = ""
        if reference and heading != reference:
            standing = results.compare(data, methods[reference], specification, metric)
            mark = _MARKS[standing]
        text = mean_and_deviation(scores[heading])
        n_failed = results.n_failed("fold", data, specification)
        if n_failed:
            text += f" ({n_failed} failed)"
        cells.append(Cell(text, strong=means[heading] == best, mark=mark))
    return cells
