"""Run the plans of papers and write their report.

Tasks that are not finished yet are measured in parallel, and every result is kept.
"""

from __future__ import annotations

import csv
import io
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from labelweave._common.engine import (
    MACHINE_ERRORS,
    Call,
    Engine,
    JoblibEngine,
    Lost,
    process_to_itself,
)
from labelweave._common.files import replacing
from labelweave._common.progress import stage
from labelweave.data import Dataset
from labelweave.evaluation.tasks import Kept, SharedFit, keeping, run_tasks
from labelweave.papers import bomc_claims, mc, measurements, p2cg, posteriors
from labelweave.papers.measurements import data_hash, load_data, shared_key
from labelweave.papers.plan import Claim, Experiment, Plan, Task, tasks_of
from labelweave.papers.results import COLUMNS, Record, Results, result_lines
from labelweave.report.comparison import command_paragraph
from labelweave.report.document import (
    OUTCOMES,
    Document,
    Facts,
    Paragraph,
    Section,
    Table,
    Verdict,
    Verdicts,
    write_document,
)
from labelweave.versions import code_version, environment, library_versions

#: The papers by name.
PAPERS: dict[str, Plan] = {plan.name: plan for plan in (p2cg.PLAN, mc.PLAN, bomc_claims.PLAN)}

#: Every measurement by its name in a plan.
MEASUREMENTS: dict[str, Callable[[Task, Dataset], dict[str, Any]]] = {
    "fold": measurements.fold,
    "convergence": measurements.convergence,
    "enumeration": measurements.enumeration,
    "tree_counts": measurements.tree_counts,
    "map_agreement": measurements.map_agreement,
    "stream": measurements.stream,
    "training_time": measurements.training_time,
    "in_parts": measurements.in_parts,
    "expected_f1": posteriors.expected_f1,
    "message_changes": posteriors.message_changes,
    "bias_variance": posteriors.bias_variance,
}
# Measurements of time must not compete for cores.
_TIMED = ("enumeration", "training_time")


@dataclass(frozen=True)
class Reproduction:
    """The outcome of a run: the report, and its missing results.

    `failures` are the failed tasks, one line each; the next run tries them again. `left_out` lists
    the data sets that are not on this machine, and how to get them. `n_tasks` counts all tasks.
    """

    document: Document
    failures: tuple[str, ...]
    left_out: tuple[str, ...]
    n_tasks: int


@dataclass(frozen=True)
class Progress:
    """The progress of a run: the task that has just finished, and an estimate of the time left."""

    record: Record
    done: int
    total: int
    seconds_left: float


def reproduce(
    papers: str | Sequence[str | Plan],
    folder: str | os.PathLike[str] = "reproduction",
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

    Results are kept in ``folder/results.jsonl``, so a stopped run continues where it was; results
    of other settings, data or versions of the code are not used. The report is written to
    ``report.html``, ``report.md`` and ``report.tex``, all values to ``values.csv``. The returned
    object has the report as `document`, and lists missing results in `failures` and `left_out`.

    Parameters
    ----------
    papers : str or sequence of str
        "p2cg", "mc", "bomc", several of them, or "all".
    folder : path, default="reproduction"
        The folder of results and report.
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
        Called after each measured task with its `record`, the numbers of tasks `done` and in
        `total`, and an estimate of the `seconds_left`, as attributes of an object.
    command : str
        The command that repeats the run, for the report.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = reproduce("bomc", folder, quick=True, only=["biases"], n_jobs=1)
    >>> found.n_tasks, found.failures
    (8, ())
    """
    plans = plans_of(papers)
    check_experiments(plans, only, quick=quick)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    skipped: dict[str, str] = {}
    tasks = {
        plan.name: tasks_of(
            [_on_this_machine(e, skipped) for e in plan.chosen(quick=quick, only=only)], n_seeds
        )
        for plan in plans
    }
    everything = [task for some in tasks.values() for task in some]
    runner = JoblibEngine(n_jobs) if engine is None else engine
    records = iter(run(everything, place, runner, progress))
    parts = [(plan, Results(tuple(islice(records, len(tasks[plan.name]))))) for plan in plans]
    left_out = tuple(f"{name}: {why}" for name, why in skipped.items())
    document = reproduction_document(parts, command=command, skipped=left_out)
    for ending in ("html", "md", "tex"):
        write_document(document, place / f"report.{ending}")
    _write_values(parts, place / "values.csv")
    failures = tuple(line for _, results in parts for line in results.failures())
    return Reproduction(document, failures, left_out, len(everything))


def plans_of(papers: str | Sequence[str | Plan]) -> list[Plan]:
    if papers == "all":
        return list(PAPERS.values())
    plans = []
    for paper in [papers] if isinstance(papers, str) else papers:
        if isinstance(paper, str) and paper not in PAPERS:
            raise ValueError(f"there is no paper {paper!r}: choose from {', '.join(PAPERS)}, all")
        plans.append(PAPERS[paper] if isinstance(paper, str) else paper)
    return plans


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


def _on_this_machine(experiment: Experiment, skipped: dict[str, str]) -> Experiment:
    """Return the experiment without data sets that cannot be loaded, and note why."""
    for name in experiment.data:
        if name not in skipped:
            try:
                load_data(name)
            except FileNotFoundError as error:
                skipped[name] = str(error)
    return replace(experiment, data=tuple(n for n in experiment.data if n not in skipped))


def _write_values(parts: Sequence[tuple[Plan, Results]], path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["paper", *COLUMNS])
    for plan, results in parts:
        writer.writerows((plan.name, *row) for row in results.rows())
    with replacing(path) as file:
        file.write(text.getvalue().encode())


# Measuring


def run(
    tasks: Sequence[Task],
    folder: Path,
    engine: Engine,
    progress: Callable[[Progress], None] | None = None,
) -> list[Record]:
    """Run the tasks that have no result in the folder, and return the record of each task.

    Tasks that share a fit run in one process and finish together. The data sets are sent to the
    workers. Measurements of time come last and run on this machine, one by one.
    """
    keys = [task.key(data_hash(task.data), code_version()) for task in tasks]
    wanted = dict(zip(keys, tasks, strict=True))
    with keeping(result_lines(folder)) as kept:
        done = {key: kept.found[key] for key in wanted if key in kept.found}
        missing = {key: task for key, task in wanted.items() if key not in done}
        with stage("tasks", len(missing)) as advance:
            for key, record in _measured(dict(missing), kept, engine):
                done[key] = record
                del missing[key]
                advance()
                if progress is not None:
                    left = _seconds_left(done.values(), missing.values(), engine.n_workers)
                    progress(Progress(record, len(done), len(wanted), left))
    return [done[key] for key in keys]


def _measured(
    tasks: Mapping[str, Task], kept: Kept[Record], engine: Engine
) -> Iterator[tuple[str, Record]]:
    def lost(task: Task, failure: Lost) -> Record:
        return Record(task, {}, 0.0, failure.reason)

    for timed, where in ((False, engine), (True, JoblibEngine(1))):
        some = {k: task for k, task in tasks.items() if (task.measurement in _TIMED) == timed}
        call = _calls_on(where)
        yield from run_tasks(some, kept, where, shared=shared_key, call=call, lost=lost)


def _calls_on(engine: Engine) -> Callable[[Sequence[Task]], Call]:
    """Return a function that makes calls of tasks; it sends each data set to the engine once."""

    @cache
    def shared(name: str) -> Any:
        return engine.share(load_data(name))

    return lambda tasks: Call(str(tasks[0]), measure_all, (tasks, shared(tasks[0].data)))


def measure_all(tasks: Sequence[Task], data: Dataset) -> list[Record]:
    """Measure tasks that may share a fit."""
    fit = SharedFit()
    with process_to_itself():
        return [_measure(task, data, fit) for task in tasks]


def _measure(task: Task, data: Dataset, fit: SharedFit) -> Record:
    start, reason = time.perf_counter(), ""
    try:
        if task.measurement == "fold":
            values = measurements.fold(task, data, fit)
        else:
            values = MEASUREMENTS[task.measurement](task, data)
    except MACHINE_ERRORS:
        raise  # another worker may succeed
    except Exception as error:
        values, reason = {}, Lost.by(str(task), error).reason
    return Record(task, values, time.perf_counter() - start, reason)


def _seconds_left(finished: Iterable[Record], missing: Collection[Task], n_workers: int) -> float:
    """Estimate the time left from the mean time of finished tasks of the same kind."""
    taken: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for record in finished:
        if not record.error:
            taken[record.task.kind].append(record.seconds)
    means = {kind: sum(seconds) / len(seconds) for kind, seconds in taken.items()}
    overall = sum(means.values()) / max(len(means), 1)
    parallel, alone = 0.0, 0.0
    for task in missing:
        seconds = means.get(task.kind, overall)
        if task.measurement in _TIMED:
            alone += seconds
        else:
            parallel += seconds
    return parallel / max(1, min(n_workers, len(missing))) + alone


# The report: verdicts, tables and figures, deviations, environment


def reproduction_document(
    parts: Sequence[tuple[Plan, Results]], *, command: str = "", skipped: Sequence[str] = ()
) -> Document:
    """Return the report of one or several papers; `skipped` lists data sets that were left out."""
    judged = {plan.name: verdicts(plan, results) for plan, results in parts}
    sections = [_summary(judged, skipped)]
    for plan, results in parts:
        sections.append(Section(plan.title, (Verdicts("Claims", judged[plan.name]),)))
        sections += [_of_paper(plan, section) for section in plan.show(results)]
        notes = (
            *plan.deviations,
            *_omissions(plan, results),
            *(f"Failed: {line}" for line in results.failures()),
        )
        sections.append(_of_paper(plan, Section("deviations", tuple(map(Paragraph, notes)))))
    sections.append(_environment(parts, command))
    names = ", ".join(plan.name.upper() for plan, _ in parts)
    return Document(f"Reproduction of {names}", "Published and measured", tuple(sections))


def verdicts(plan: Plan, results: Results) -> tuple[Verdict, ...]:
    def verdict(claim: Claim) -> Verdict:
        found = claim.judge(results)
        stated = str(claim.number), claim.text
        return Verdict(*stated, found.outcome, claim.published, found.measured, found.reason)

    return tuple(map(verdict, plan.claims))


def _of_paper(plan: Plan, section: Section) -> Section:
    """Return a section of a paper without its empty tables."""
    blocks = tuple(b for b in section.blocks if not (isinstance(b, Table) and not b.rows))
    title = f"{plan.name.upper()}: {section.title}"
    return Section(title, blocks or (Paragraph("Not measured."),))


def _omissions(plan: Plan, results: Results) -> list[str]:
    """List the methods that were not run on some of the data sets, with the reasons."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for experiment in plan.experiments:
        for (data, method), reason in experiment.omitted.items():
            if data in results.data(experiment.measurement):
                reasons.setdefault((method, reason), []).append(data)
    return [
        f"`{method}` was not run on {', '.join(data)}: {reason}."
        for (method, reason), data in reasons.items()
    ]


def _summary(judged: dict[str, tuple[Verdict, ...]], skipped: Sequence[str]) -> Section:
    rows = []
    for name, found in judged.items():
        counts = Counter[str](verdict.outcome for verdict in found)
        rows.append((name.upper(), *(str(counts[outcome]) for outcome in OUTCOMES)))
    table = Table("Claims by outcome", ("paper", *OUTCOMES), tuple(rows))
    return Section("Summary", (table, *(Paragraph(f"Left out: {line}") for line in skipped)))


def _environment(parts: Sequence[tuple[Plan, Results]], command: str) -> Section:
    tasks = [record.task for _, results in parts for record in results.records]
    data = dict.fromkeys(task.data for task in tasks)
    seeds = sorted({task.seed for task in tasks})
    facts = {
        "code": code_version(),
        "seeds": ", ".join(map(str, seeds)),
        **environment(),
        **library_versions(),
    }
    return Section(
        "Environment",
        (
            *((command_paragraph(command),) if command else ()),
            Facts("Software and machine", tuple(facts.items())),
            Facts("Data sets, by digest", tuple((name, data_hash(name)) for name in data)),
        ),
    )
