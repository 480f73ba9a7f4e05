"""The results of a plan, as its tables, figures and claims ask for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.evaluation import METRICS, paired_t_test
from labelweave.evaluation.significance import Standing
from labelweave.reproduce.store import Record

__all__ = ["COLUMNS", "Results"]

#: What :meth:`Results.rows` yields.
COLUMNS = ("measurement", "data", "method", "seed", "fold", "name", "index", "value")

# With fewer folds, a t-test could hardly find any difference.
_LEAST_FOLDS = 5


@dataclass(frozen=True)
class Results:
    """The records of all tasks of a plan.

    Parameters
    ----------
    records : tuple of Record
        Outcomes of tasks; those that failed have no values.

    Examples
    --------
    >>> from labelweave.reproduce.task import Task
    >>> runs = [Record(Task("fold", "emotions", "br", fold, 0), {"exact_match": value}, 1.0)
    ...         for fold, value in enumerate([0.2, 0.3])]
    >>> results = Results(tuple(runs))
    >>> results.values("fold", "emotions", "br", "exact_match")
    array([0.2, 0.3])
    >>> results.data("fold")
    ('emotions',)
    """

    records: tuple[Record, ...]

    def select(self, measurement: str, data: str, method: str) -> list[Record]:
        """Return the successful records of one method on one data set, by seed and fold."""
        found = [
            record
            for record in self.records
            if (record.task.measurement, record.task.data, record.task.method)
            == (measurement, data, method)
            and not record.error
        ]
        return sorted(found, key=lambda record: (record.task.seed, record.task.fold))

    def where(self, **settings: Any) -> Results:
        """Return the records of tasks that have these settings.

        Examples
        --------
        >>> from labelweave.reproduce.task import Task
        >>> runs = [Record(Task("fold", "emotions", "br", 0, 0, {"scale": scale}), {}, 1.0)
        ...         for scale in ("auto", "minmax")]
        >>> len(Results(tuple(runs)).where(scale="auto").records)
        1
        """
        return Results(
            tuple(
                record
                for record in self.records
                if all(record.task.settings.get(name) == want for name, want in settings.items())
            )
        )

    def on(self, *data: str) -> Results:
        """Return the records of these data sets."""
        return Results(tuple(record for record in self.records if record.task.data in data))

    def values(self, measurement: str, data: str, method: str, name: str) -> Floats:
        """Return one value per seed and fold, nan where it is missing; vectors are stacked."""
        found = self.select(measurement, data, method)
        return np.array([record.values.get(name, np.nan) for record in found], dtype=np.float64)

    def mean(self, measurement: str, data: str, method: str, name: str) -> float:
        """Return the mean over seeds and folds; nan if there is none."""
        values = self.values(measurement, data, method, name)
        return float(values.mean()) if len(values) else float("nan")

    def data(self, measurement: str) -> tuple[str, ...]:
        """Return the data sets of a measurement, in the order of the plan."""
        tasks = (record.task for record in self.records if not record.error)
        return tuple(dict.fromkeys(task.data for task in tasks if task.measurement == measurement))

    def has(self, measurement: str, data: str, *methods: str) -> bool:
        """Whether every method has results on a data set, and none of its tasks failed."""
        return all(
            self.select(measurement, data, method) and not self.n_failed(measurement, data, method)
            for method in methods
        )

    def n_failed(self, measurement: str, data: str, method: str) -> int:
        """Return the number of tasks of one method on one data set that failed."""
        return sum(
            bool(record.error)
            for record in self.records
            if (record.task.measurement, record.task.data, record.task.method)
            == (measurement, data, method)
        )

    def replacing(self, method: str, name: str, by: str) -> Results:
        """Return results in which a value of one method is replaced by another of its values."""
        return Results(
            tuple(
                replace(record, values=record.values | {name: record.values[by]})
                if record.task.method == method and by in record.values
                else record
                for record in self.records
            )
        )

    def compare(self, data: str, method: str, rival: str, metric: str) -> Standing | None:
        """Compare two methods by paired t-tests over the folds, one per seed; the majority counts.

        None if there are no scores to compare, or fewer than five folds.
        """
        verdicts = [
            paired_t_test(*pair).standing(higher_is_better=METRICS[metric].higher_is_better)
            for pair in self._paired(data, method, rival, metric)
            if len(pair[0]) >= _LEAST_FOLDS
        ]
        counts = Counter(verdict for verdict in verdicts if verdict is not None)
        if not counts:
            return None
        top, n = counts.most_common(1)[0]
        return top if 2 * n > counts.total() else "tie"

    def _paired(
        self, data: str, method: str, rival: str, metric: str
    ) -> Iterable[tuple[Floats, Floats]]:
        """Yield the scores of two methods on the folds that both have, seed by seed."""
        by_method = [
            {(o.task.seed, o.task.fold): o.values.get(metric, np.nan) for o in found}
            for found in (self.select("fold", data, name) for name in (method, rival))
        ]
        common = sorted(by_method[0].keys() & by_method[1].keys())
        for seed in dict.fromkeys(seed for seed, _ in common):
            folds = [key for key in common if key[0] == seed]
            first, second = (np.array([scores[key] for key in folds]) for scores in by_method)
            yield first, second

    def failures(self) -> list[str]:
        """Describe the tasks that failed, one line each."""
        return [f"{o.task.measurement} of {o.task}: {o.error}" for o in self.records if o.error]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the columns of :data:`COLUMNS`: one row per number; vectors have an index."""
        for record in self.records:
            task = record.task
            about = (task.measurement, task.data, task.method, task.seed, task.fold)
            for name, value in sorted(record.values.items()):
                if isinstance(value, list):
                    for index, entry in enumerate(value):
                        yield (*about, name, index, entry)
                else:
                    yield (*about, name, "", value)
