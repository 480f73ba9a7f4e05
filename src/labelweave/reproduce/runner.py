"""Run the tasks of a plan that are not finished yet, in parallel, and keep every result."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave.reproduce.measurements import MEASUREMENTS, SHARED, TIMED
from labelweave.reproduce.store import Record, ResultStore
from labelweave.reproduce.task import Task, data_hash
from labelweave.versions import code_version

__all__ = ["Progress", "run"]


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Parameters
    ----------
    record : Record
        The task that has just finished.
    done, total : int
        Numbers of tasks, those of earlier runs among them.
    seconds_left : float
        Estimate of the remaining time.
    """

    record: Record
    done: int
    total: int
    seconds_left: float


def run(
    tasks: Sequence[Task],
    store: ResultStore,
    *,
    n_jobs: int = -1,
    progress: Callable[[Progress], None] | None = None,
) -> list[Record]:
    """Run the tasks that have no result in the store, and return the record of each task.

    Tasks that failed are tried again by the next run. Tasks that share a fit run one after another
    in one process, and are finished together. Measurements of time come last and have the machine
    to themselves.

    Parameters
    ----------
    tasks : sequence of Task
        The tasks, in the order in which to start them.
    store : ResultStore
        Where results are kept.
    n_jobs : int, default=-1
        Number of worker processes; -1 for all cores.
    progress : callable, optional
        Called with a :class:`Progress` for each finished task.
    """
    keys = [task.key(data_hash(task.data), code_version()) for task in tasks]
    wanted = dict(zip(keys, tasks, strict=True))
    with store.writing() as append:
        kept = store.read()
        found = {key: kept[key] for key in wanted if key in kept and not kept[key].error}
        missing = {key: task for key, task in wanted.items() if key not in found}
        estimate = _Estimate(list(missing.values()), list(found.values()), n_jobs)
        for key, record in _run_all(missing, n_jobs):
            append(key, record)
            found[key] = record
            left = estimate.after(record)
            if progress is not None:
                progress(Progress(record, len(found), len(wanted), left))
    return [found[key] for key in keys]


def _run_all(tasks: dict[str, Task], n_jobs: int) -> Iterator[tuple[str, Record]]:
    groups: dict[str, list[tuple[str, Task]]] = defaultdict(list)
    for key, task in tasks.items():
        if task.measurement not in TIMED:
            groups[_shared_key(task) or key].append((key, task))
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    for measured in parallel(delayed(_measure_all)(group) for group in groups.values()):
        yield from measured
    for key, task in tasks.items():
        if task.measurement in TIMED:
            yield _measure(key, task)


def _shared_key(task: Task) -> str | None:
    """Return the key of the tasks to measure together with this one, None if there are none."""
    try:
        return SHARED[task.measurement](task)
    except Exception:  # no such measurement or method: the task fails by itself, with its name
        return None


def _measure_all(tasks: Sequence[tuple[str, Task]]) -> list[tuple[str, Record]]:
    return [_measure(key, task) for key, task in tasks]


def _measure(key: str, task: Task) -> tuple[str, Record]:
    start = time.perf_counter()
    values, error = {}, ""
    with threadpool_limits(limits=1):
        try:
            values = MEASUREMENTS[task.measurement](task)
        except Exception as failure:
            error = " ".join(f"{type(failure).__name__}: {failure}".split())
    return key, Record(task, values, time.perf_counter() - start, error)


class _Estimate:
    """The time left, from the mean time of finished tasks of the same kind."""

    def __init__(self, missing: Sequence[Task], finished: Sequence[Record], n_jobs: int) -> None:
        self._seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._left: dict[tuple[str, str, str], int] = defaultdict(int)
        self._workers = min(cpu_count() if n_jobs < 0 else n_jobs, max(len(missing), 1))
        for task in missing:
            self._left[_kind(task)] += 1
        for record in finished:
            self._seconds[_kind(record.task)].append(record.seconds)

    def after(self, record: Record) -> float:
        """Count a finished task and return the seconds that are left."""
        kind = _kind(record.task)
        self._left[kind] -= 1
        self._seconds[kind].append(record.seconds)
        means = {kind: sum(taken) / len(taken) for kind, taken in self._seconds.items()}
        overall = sum(means.values()) / len(means)
        return sum(
            n * means.get(kind, overall) / (1 if kind[0] in TIMED else self._workers)
            for kind, n in self._left.items()
        )


def _kind(task: Task) -> tuple[str, str, str]:
    return task.measurement, task.data, task.method
