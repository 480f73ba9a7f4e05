"""Run the plans of papers and write their report."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from labelweave._common.engine import Engine
from labelweave._common.files import replacing
from labelweave.report.document import Document, write_document
from labelweave.reproduce.document import reproduction_document
from labelweave.reproduce.plan import Experiment, Plan, tasks_of
from labelweave.reproduce.results import COLUMNS, Results
from labelweave.reproduce.runner import Progress, run
from labelweave.reproduce.store import ResultStore
from labelweave.reproduce.task import load_data

__all__ = ["Reproduction", "check_experiments", "reproduce"]


@dataclass(frozen=True)
class Reproduction:
    """What came of a run.

    Parameters
    ----------
    document : Document
        The report.
    failures : tuple of str
        The tasks that failed, one line each; the next run tries them again.
    left_out : tuple of str
        Data sets that are not on this machine, and how to get them.
    n_tasks : int
        Number of tasks, those of earlier runs among them.
    """

    document: Document
    failures: tuple[str, ...]
    left_out: tuple[str, ...]
    n_tasks: int


def reproduce(
    plans: Sequence[Plan],
    folder: Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    n_seeds: int = 1,
    n_jobs: int = -1,
    engine: Engine | None = None,
    progress: Callable[[Progress], None] | None = None,
    command: str = "",
) -> Reproduction:
    """Run the experiments of papers and write the report.

    Results are kept in ``folder/results.jsonl``: a run that was stopped continues where it was, and
    results of other settings, data or versions of the code are not used. The report is written to
    ``report.html``, ``report.md`` and ``report.tex``, all values to ``values.csv``.

    Parameters
    ----------
    plans : sequence of Plan
        The papers.
    folder : path
        Where results and report are kept.
    quick : bool, default=False
        Run a small subset on bundled data.
    only : sequence of str
        Names of the experiments to run; by default all.
    n_seeds : int, default=1
        Number of seeds, from 0; each of them repeats all folds.
    n_jobs : int, default=-1
        Number of worker processes; -1 for all cores.
    engine : Engine, optional
        Where to run instead, such as the workers of a cluster (:mod:`labelweave.distributed`).
        Measurements of time stay on this machine.
    progress : callable, optional
        Called after each task.
    command : str
        The command that repeats the run, for the report.

    Returns
    -------
    Reproduction
        The report, what failed, and what was left out.

    Examples
    --------
    >>> import tempfile
    >>> grid = Experiment("tables", "fold", ("emotions",), ("br(C=1)",), n_folds=1,
    ...                   settings={"n_folds": 10, "metrics": ["exact_match"]})
    >>> plan = Plan("brief", "A brief paper", (grid,), (grid,), lambda results: [], claims=())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = reproduce([plan], Path(folder), n_jobs=1)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['report.html', 'report.md', 'report.tex', 'results.jsonl', 'values.csv']
    >>> found.failures
    ()
    """
    check_experiments(plans, only, quick=quick)
    skipped: dict[str, str] = {}
    tasks = {
        plan.name: tasks_of(
            [_on_this_machine(e, skipped) for e in plan.chosen(quick=quick, only=only)], n_seeds
        )
        for plan in plans
    }
    everything = [task for some in tasks.values() for task in some]
    store = ResultStore(folder)
    records = iter(run(everything, store, n_jobs=n_jobs, engine=engine, progress=progress))
    parts = [(plan, Results(tuple(islice(records, len(tasks[plan.name]))))) for plan in plans]
    left_out = tuple(f"{name}: {why}" for name, why in skipped.items())
    document = reproduction_document(parts, command=command, skipped=left_out)
    for ending in ("html", "md", "tex"):
        write_document(document, folder / f"report.{ending}")
    _write_values(parts, folder / "values.csv")
    failures = tuple(line for _, results in parts for line in results.failures())
    return Reproduction(document, failures, left_out, len(everything))


def check_experiments(plans: Sequence[Plan], only: Sequence[str], *, quick: bool) -> None:
    """Raise a ValueError if no plan has one of the experiments."""
    known = {
        plan.name: list(dict.fromkeys(n for e in plan.chosen(quick=quick) for n in e.names))
        for plan in plans
    }
    for name in only:
        if not any(name in names for names in known.values()):
            choices = "; ".join(f"{plan}: {', '.join(names)}" for plan, names in known.items())
            raise ValueError(f"there is no experiment {name!r}: choose from {choices}")


def _write_values(parts: Sequence[tuple[Plan, Results]], path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["paper", *COLUMNS])
    for plan, results in parts:
        writer.writerows((plan.name, *row) for row in results.rows())
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def _on_this_machine(experiment: Experiment, skipped: dict[str, str]) -> Experiment:
    """Return the experiment without data sets that cannot be loaded, and note why."""
    for name in experiment.data:
        if name not in skipped:
            try:
                load_data(name)
            except FileNotFoundError as error:
                skipped[name] = str(error)
    return replace(experiment, data=tuple(n for n in experiment.data if n not in skipped))
