"""``labelweave compare``: methods side by side on the same folds."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelweave.cli.errors import BadInputError, WorkFailedError, argument
from labelweave.cli.inputs import chosen_metrics, load_dataset, writable, write_text
from labelweave.cli.options import (
    DatasetArgument,
    LabelsOption,
    MetricsOption,
    ScaleOption,
    SeedOption,
    Splits,
    Test,
    scale_of,
)

if TYPE_CHECKING:
    from labelweave.evaluation import Comparison, FoldResult


def compare(
    dataset: DatasetArgument,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            help="Methods, separated by commas, with options in brackets: br, cc, pcc(C=1), or the "
            "import path of a scikit-learn classifier. The first one is the reference.",
        ),
    ] = "br,cc,pcc",
    folds: Annotated[int, typer.Option("--folds", "-k", min=2, help="Number of folds.")] = 10,
    splits: Annotated[
        Splits, typer.Option("--splits", help="Shuffled rows, or fair shares of every label.")
    ] = Splits.kfold,
    seed: SeedOption = 0,
    metrics: MetricsOption = None,
    labels: LabelsOption = None,
    scale: ScaleOption = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes; -1 for as many as there are cores.")
    ] = -1,
    test: Annotated[
        Test, typer.Option("--test", help="t-test over folds: paired, or corrected for overlap.")
    ] = Test.paired,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep every fold's figures as JSON.")
    ] = None,
) -> None:
    """Compare methods by cross-validation on the same folds.

    Shows mean and standard deviation of every measure, the best in bold, and where the first
    method is significantly better or worse than another.

    \b
    labelweave compare emotions --methods br,cc,pcc --folds 10
    labelweave compare songs.csv --labels last:6 --methods "br(C=1),pcc(C=1,label_penalty=0.1)"
    labelweave compare scene -m br,sklearn.tree.DecisionTreeClassifier(max_depth=5) -k 5
    labelweave compare yeast --splits stratified --test corrected --output yeast.json
    """  # noqa: D301
    if jobs == 0:
        raise BadInputError(
            "--jobs: 0 is no number of processes; use 1 or more, or -1 for all cores"
        )
    writable(output, "--output")
    measures = chosen_metrics(metrics)

    from labelweave import evaluation, report

    with argument("--methods"):
        estimators = evaluation.make_methods(methods, seed=seed)
    data = load_dataset(dataset, labels)
    splitter = evaluation.make_splitter(splits.value, folds, seed)
    with argument("--folds"):
        next(splitter.split(data.X, data.Y))
    with _progress(len(estimators) * folds) as advance:
        result = evaluation.compare(
            estimators,
            data.X,
            data.Y,
            folds=splitter,
            metrics=[metric.name for metric in measures],
            scale=scale_of(scale),
            n_jobs=jobs,
            progress=advance,
            name=data.name,
        )
    if output is not None:
        write_text(output, result.to_json(), "--output")
    if len(result.failures()) < len(result.results):
        report.show_comparison(result, report.make_console(sys.stdout), test=test.value)
    _tell_troubles(result)


def _tell_troubles(result: Comparison) -> None:
    """Say on the error stream what went wrong; fail if a method has no figure at all."""
    from labelweave import report

    for note in report.warning_notes(result):
        typer.echo(f"warning: {note}", err=True)
    failures = report.failure_notes(result)
    failed = Counter(fold.method for fold in result.failures())
    if any(failed[name] == len(result.of_method(name)) for name in failed):
        error = WorkFailedError("\n       ".join(failures))
        error.add_note(result.failures()[0].traceback or "")
        raise error
    for note in failures:
        typer.echo(f"warning: {note}", err=True)


@contextmanager
def _progress(total: int) -> Iterator[Callable[[FoldResult], None]]:
    """Show a bar on the error stream while fold after fold arrives; nothing on a pipe."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from labelweave import report

    console = report.make_console(sys.stderr)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("folds", total=total)

        def advance(run: FoldResult) -> None:
            bar.update(task, advance=1, description=f"{run.method}, fold {run.fold + 1}")

        yield advance
