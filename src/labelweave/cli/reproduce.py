"""``labelweave reproduce``: run the experiments of the papers and judge their claims."""

from __future__ import annotations

import os
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelweave.cli.options import ClusterOption, JobsOption, WorkFailedError, argument
from labelweave.cli.outputs import COMMAND_LINE, check_workers, workers

if TYPE_CHECKING:
    from labelweave.papers.reproduction import Reproduction
    from labelweave.report.document import Document


Paper = StrEnum("Paper", ["p2cg", "mc", "bomc", "all"])
ExperimentsOption = Annotated[
    str | None,
    typer.Option("--only", help="Comma-separated experiments, such as tables or figure-3."),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        exists=True,
        file_okay=False,
        help="Folder of the data sets (else LABELWEAVE_DATA).",
    ),
]


def reproduce(
    ctx: typer.Context,
    paper: Annotated[Paper, typer.Argument(metavar="PAPER", help="p2cg, mc, bomc or all.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="A small subset on bundled data, in a few minutes.")
    ] = False,
    only: ExperimentsOption = None,
    data: DataOption = None,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Number of seeds; each repeats all folds.")
    ] = 1,
    results: Annotated[
        Path, typer.Option("--results", help="Folder for results and report.")
    ] = Path("reproduction"),
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Reproduce the experiments of a paper, with a verdict on every claim.

    Every finished fold is kept, so an interrupted run continues where it stopped. The report is
    written to RESULTS/report.html, report.md and report.tex, all values to values.csv.

    \b
    labelweave reproduce all --quick
    labelweave reproduce mc --data data --seeds 5
    labelweave reproduce p2cg --only figures --results p2cg
    labelweave reproduce mc --data data --cluster tcp://host:8786
    """  # noqa: D301
    check_workers(jobs, cluster)
    if data is not None:
        os.environ["LABELWEAVE_DATA"] = str(data.resolve())  # for the worker processes, too

    from labelweave import papers
    from labelweave._common.progress import progress_shown
    from labelweave.papers.reproduction import check_experiments, plans_of

    plans = plans_of(paper.value)
    chosen = [] if only is None else [name.strip() for name in only.split(",")]
    with argument("--only"):
        check_experiments(plans, chosen, quick=quick)
    with argument("--results"):
        _make_folder(results)
    kept = "the same command continues where it was"
    with (
        workers(jobs, cluster, kept=kept, folds=True) as engine,
        progress_shown("reproducing", lines=True),
    ):
        found = papers.reproduce(
            plans,
            results,
            quick=quick,
            only=chosen,
            n_seeds=seeds,
            engine=engine,
            command=ctx.meta.get(COMMAND_LINE, ""),
        )
    _show(found, results)


def _show(found: Reproduction, results: Path) -> None:
    for line in found.left_out:
        typer.echo(f"warning: left out {line}", err=True)
    if not found.n_tasks:
        raise WorkFailedError("no data set is on this machine: name their folder with --data")
    _show_verdicts(found.document)
    typer.echo(f"report: {results / 'report.html'}")
    if found.failures:
        raise WorkFailedError(
            f"{len(found.failures)} tasks failed and are tried again by the next run; the first: "
            f"{found.failures[0]}"
        )


def _make_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file; name a folder")
    path.mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise PermissionError(f"{path} cannot be written to; choose another folder")


def _show_verdicts(document: Document) -> None:
    from labelweave.report.document import Verdicts

    counts: Counter[str] = Counter()
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Verdicts):
                for verdict in block.verdicts:
                    counts[verdict.outcome] += 1
                    typer.echo(f"{verdict.number:>3}  {verdict.outcome:<15} {verdict.claim}")
    typer.echo(", ".join(f"{n} {outcome}" for outcome, n in counts.items()))
