"""Run the plans of papers and write their report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from labelweave._common.files import replacing
from labelweave.report import Document, write_document
from labelweave.reproduce.document import reproduction_document
from labelweave.reproduce.plan import Experiment, Plan, tasks_of
from labelweave.reproduce.results import Results
from labelweave.reproduce.runner import Progress, run
from labelweave.reproduce.store import ResultStore
from labelweave.reproduce.task import load_data

__all__ = ["reproduce"]


def reproduce(
    plans: Sequence[Plan],
    folder: Path,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    n_seeds: int = 1,
    n_jobs: int = -1,
    progress: Callable[[Progress], None] | None = None,
    command: str = "",
) -> Document:
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
    progress : callable, optional
        Called after each task.
    command : str
        The command that repeats the run, for the report.

    Returns
    -------
    Document
        The report.

    Examples
    --------
    >>> import tempfile
    >>> grid = Experiment("tables", "fold", ("emotions",), ("br(C=1)",), n_folds=1,
    ...                   settings={"n_folds": 10, "metrics": ["exact_match"]})
    >>> plan = Plan("brief", "A brief paper", (grid,), (grid,), lambda results: [], claims=())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     document = reproduce([plan], Path(folder), n_jobs=1)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['report.html', 'report.md', 'report.tex', 'results.jsonl', 'values.csv']
    """
    chosen: list[tuple[Plan, list[Experiment]]] = []
    skipped: dict[str, str] = {}
    for plan in plans:
        experiments = plan.chosen(quick=quick, only=only)
        chosen.append((plan, [_on_this_machine(e, skipped) for e in experiments]))
    tasks = {plan.name: tasks_of(experiments, n_seeds) for plan, experiments in chosen}
    store = ResultStore(folder)
    records = iter(
        run([t for some in tasks.values() for t in some], store, n_jobs=n_jobs, progress=progress)
    )
    parts = [(plan, Results(tuple(next(records) for _ in tasks[plan.name]))) for plan, _ in chosen]
    document = reproduction_document(
        parts, command=command, skipped=[f"{name}: {why}" for name, why in skipped.items()]
    )
    for ending in ("html", "md", "tex"):
        write_document(document, folder / f"report.{ending}")
    with replacing(folder / "values.csv") as file:
        file.write("".join(results.to_csv() for _, results in parts).encode())
    return document


def _on_this_machine(experiment: Experiment, skipped: dict[str, str]) -> Experiment:
    """Return the experiment without data sets that cannot be loaded, and note why."""
    for name in experiment.data:
        if name not in skipped:
            try:
                load_data(name)
            except FileNotFoundError as error:
                skipped[name] = str(error)
    return replace(experiment, data=tuple(n for n in experiment.data if n not in skipped))
