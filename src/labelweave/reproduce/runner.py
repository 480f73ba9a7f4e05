"""Run the tasks of a plan that are not finished yet, in parallel, and keep every result."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from labelweave._common.engine import (
    MACHINE_ERRORS,
    Call,
    Engine,
    JoblibEngine,
    Lost,
    process_to_itself,
)
from labelweave.data import Dataset
from labelweave.reproduce.measurements import MEASUREMENTS, SHARED, TIMED
from labelweave.reproduce.measurements.folds import forget_fit
from labelweave.reproduce.store import Record, ResultStore
from labelweave.reproduce.task import Task, data_hash, handed_data, load_data
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
    engine: Engine | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> list[Record]:
    """Run the tasks that have no result in the store, and return the record of each task.

    Tasks that failed are tried again by the next run. Tasks that share a fit run one after another
    in one process, and are finished together. Measurements of time come last, on this machine, and
    have it to themselves.

    Parameters
    ----------
    tasks : sequence of Task
        The tasks, in the order in which to start them.
    store : ResultStore
        Where results are kept.
    n_jobs : int, default=-1
        Number of worker processes; -1 for all cores.
    engine : Engine, optional
        Where to run instead, such as the workers of a cluster (:mod:`labelweave.distributed`);
        they are sent the data sets.
    progress : callable, optional
        Called with a :class:`Progress` for each finished task.
    """
    engine = JoblibEngine(n_jobs) if engine is None else engine
    keys = [task.key(data_hash(task.data), code_version()) for task in tasks]
    wanted = dict(zip(keys, tasks, strict=True))
    with store.writing() as append:
        kept = store.read()
        found = {key: kept[key] for key in wanted if key in kept and not kept[key].error}
        missing = {key: task for key, task in wanted.items() if key not in found}
        estimate = _Estimate(list(missing.values()), list(found.values()), engine.n_workers)
        for key, record in _run_all(missing, engine):
            append(key, record)
            found[key] = record
            left = estimate.after(record)
            if progress is not None:
                progress(Progress(record, len(found), len(wanted), left))
    return [found[key] for key in keys]


Group = list[tuple[str, Task]]  # tasks of one data set, by key


def _run_all(tasks: dict[str, Task], engine: Engine) -> Iterator[tuple[str, Record]]:
    groups: dict[str, Group] = defaultdict(list)
    timed: list[Group] = []
    for key, task in tasks.items():
        if task.measurement in TIMED:
            timed.append([(key, task)])
        else:
            groups[_shared_key(task) or key].append((key, task))
    yield from _run_groups(list(groups.values()), engine)
    yield from _run_groups(timed, JoblibEngine(1))


def _run_groups(groups: Sequence[Group], engine: Engine) -> Iterator[tuple[str, Record]]:
    names = dict.fromkeys(group[0][1].data for group in groups)
    data = {name: engine.share(load_data(name)) for name in names}
    calls = [
        Call(str(group[0][1]), _measure_all, (group, group[0][1].data, data[group[0][1].data]))
        for group in groups
    ]
    for number, result in engine.run(calls):
        if isinstance(result, Lost):
            yield from ((key, Record(task, {}, 0.0, result.reason)) for key, task in groups[number])
        else:
            yield from result


def _shared_key(task: Task) -> str | None:
    """Return the key of the tasks to measure together with this one, None if there are none."""
    try:
        return SHARED[task.measurement](task)
    except Exception:  # no such measurement or method: the task fails by itself, with its name
        return None


def _measure_all(group: Group, name: str, data: Dataset) -> list[tuple[str, Record]]:
    with process_to_itself(), handed_data(name, data):
        try:
            return [_measure(key, task) for key, task in group]
        finally:
            # A worker may outlive the run, and be handed other data by the same name.
            forget_fit()


def _measure(key: str, task: Task) -> tuple[str, Record]:
    start = time.perf_counter()
    values, error = {}, ""
    try:
        values = MEASUREMENTS[task.measurement](task)
    except MACHINE_ERRORS:
        raise  # another worker may succeed
    except Exception as failure:
        error = " ".join(f"{type(failure).__name__}: {failure}".split())
    return key, Record(task, values, time.perf_counter() - start, error)


class _Estimate:
    """The time left, from the mean time of finished tasks of the same kind."""

    def __init__(self, missing: Sequence[Task], finished: Sequence[Record], n_workers: int) -> None:
        self._seconds: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._left: dict[tuple[str, str, str], int] = defaultdict(int)
        self._workers = min(n_workers, max(len(missing), 1))
        for task in missing:
            self._left[_kind(task)] += 1
        for record in finished:
            self._seconds[_kind(record.task)].append(record.seconds)

    def after(self, record: Record) -> float:
        """Count a finished task and return the seconds that are left."""
        kind = _kind(record.task)
        self._left[kind] -= 1
        if not record.error:
            self._seconds[kind].append(record.seconds)
        means = {kind: sum(taken) / len(taken) for kind, taken in self._seconds.items()}
        overall = sum(means.values()) / max(len(means), 1)
        return sum(
            n * means.get(kind, overall) / (1 if kind[0] in TIMED else self._workers)
            for kind, n in self._left.items()
        )


def _kind(task: Task) -> tuple[str, str, str]:
    return task.measurement, task.data, task.method
