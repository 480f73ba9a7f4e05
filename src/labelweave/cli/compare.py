"""``labelweave compare`` and ``report``: methods on the same folds, and reports on the results."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.inputs import announce_preprocessing, chosen_metrics, load_dataset
from labelweave.cli.options import (
    ClusterOption,
    DatasetArgument,
    JobsOption,
    MetricsOption,
    ReadOptions,
    ScaleOption,
    SeedOption,
    WorkFailedError,
    argument,
    reads_data,
    scale_of,
)
from labelweave.cli.outputs import (
    COMMAND_LINE,
    SCORE_FORMATS,
    TextFormat,
    check_report,
    check_workers,
    check_writable,
    comparison_text,
    workers,
    write_comparison,
    write_report,
)

if TYPE_CHECKING:
    from labelweave._common.engine import Engine
    from labelweave.data import Dataset
    from labelweave.evaluation import Comparison


Splits = StrEnum("Splits", ["kfold", "stratified"])
Test = StrEnum("Test", ["paired", "corrected"])
MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods",
        "-m",
        help="Comma-separated methods, with options in parentheses: br, cc, pcc(C=1), or the "
        "import path of a scikit-learn classifier. The first one is the reference.",
    ),
]
DecisionsOption = Annotated[
    str,
    typer.Option(
        "--decisions",
        help="'matching' judges each measure by the labels that are best for it, from one fit "
        "of each method; methods that were given a decision or an approximate search, such as "
        "cc, keep it. "
        "'own' predicts once, by each method's own decision. Comma-separated decisions, such as "
        "subset,hamming,f1: every method is scored once for each of them.",
    ),
]
FoldsOption = Annotated[int, typer.Option("--folds", "-k", min=2, help="Number of folds.")]
SplitsOption = Annotated[
    Splits, typer.Option("--splits", help="How to split: shuffled, or stratified by labels.")
]
TestOption = Annotated[
    Test,
    typer.Option(
        "--test", help="t-test over folds: paired, or corrected for overlapping training sets."
    ),
]
ScoresOption = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Save the scores of every fold (.json, .csv) or the table (.md)."
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="Write a report with table, folds, times, settings and versions: one HTML file "
        "to share (.html), Markdown (.md) or LaTeX (.tex).",
    ),
]
FormatOption = Annotated[
    TextFormat | None,
    typer.Option("--format", help="Print the table as Markdown or LaTeX, or the folds as CSV."),
]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--results",
        help="Keep each finished fold in this file (.jsonl), so that the same command continues "
        "where it stopped.",
    ),
]


@reads_data
def compare(
    ctx: typer.Context,
    dataset: DatasetArgument,
    methods: MethodsOption = "br,cc,auto",
    decisions: DecisionsOption = "matching",
    folds: FoldsOption = 10,
    splits: SplitsOption = Splits.kfold,
    seed: SeedOption = 0,
    metrics: MetricsOption = None,
    *,
    read_options: ReadOptions,
    scale: ScaleOption = None,
    jobs: JobsOption = None,
    cluster: ClusterOption = None,
    test: TestOption = Test.paired,
    output: ScoresOption = None,
    report_file: ReportOption = None,
    form: FormatOption = None,
    results: ResultsOption = None,
) -> None:
    """Compare methods by cross-validation on the same folds.

    Shows the mean and standard deviation of every metric, with the best in bold, and marks where
    the first method is significantly better or worse than another.

    \b
    labelweave compare emotions --methods br,cc,pcc --folds 10
    labelweave compare songs.csv --labels last:6 --methods "br(C=1),pcc(C=1,label_penalty=0.1)"
    labelweave compare scene -m br,sklearn.tree.DecisionTreeClassifier(max_depth=5) -k 5
    labelweave compare yeast --splits stratified --test corrected --output yeast.json
    labelweave compare yeast --methods br,auto --decisions subset,hamming,f1
    labelweave compare yeast --methods auto,mlknn --decisions own
    labelweave compare emotions --methods br,cc,pcc,sc --report emotions.html
    labelweave compare yeast --methods br,mc --results yeast.jsonl --cluster tcp://host:8786
    """  # noqa: D301
    check_workers(jobs, cluster)
    check_writable(output, "--output", SCORE_FORMATS)
    check_report(report_file)
    check_writable(results, "--results")
    names = [metric.name for metric in chosen_metrics(metrics)]
    if report_file is not None:  # a report also shows how reliable the probabilities are
        names = list(dict.fromkeys([*names, "calibration_error"]))
    estimators, judged_by = _estimators(methods, decisions, seed)
    data = load_dataset(dataset, read_options)
    splitter = _splitter(splits, folds, seed, data)

    from labelweave.evaluation import compare
    from labelweave.models.methods import with_preprocessing

    first = next(iter(estimators.values()))
    announce_preprocessing(with_preprocessing(first, data.X, scale_of(scale)))

    with _running(jobs, cluster, results) as engine:
        result = compare(
            estimators,
            data.X,
            data.Y,
            cv=splitter,
            metrics=names,
            decisions=judged_by,
            scale=scale_of(scale),
            engine=engine,
            results=results,
            name=data.name,
        )
    if output is not None:
        write_comparison(result, output, test=test.value)
    if report_file is not None:
        write_report(result, report_file, test=test.value, command=ctx.meta.get(COMMAND_LINE, ""))
    _show(result, form, judged_by, test)
    _report_problems(result)


def _estimators(methods: str, decisions: str, seed: int) -> tuple[dict[str, Any], str]:
    """Return estimators by name, and how `compare` decides for them: "matching" or "own"."""
    from labelweave.models.methods import make_decisions, make_methods, with_decisions

    with argument("--methods"):
        estimators = make_methods(methods, seed=seed)
    if decisions in ("matching", "own"):
        return estimators, decisions
    with argument("--decisions"):
        return with_decisions(estimators, make_decisions(decisions)), "own"


def _splitter(splits: Splits, folds: int, seed: int, data: Dataset) -> Any:
    from sklearn.model_selection import KFold

    from labelweave.evaluation import IterativeStratification

    splitter: Any = (
        KFold(folds, shuffle=True, random_state=seed)
        if splits == Splits.kfold
        else IterativeStratification(folds, random_state=seed)
    )
    with argument("--folds"):
        next(splitter.split(data.X, data.Y))
    return splitter


@contextmanager
def _running(jobs: int | None, cluster: str | None, results: Path | None) -> Iterator[Engine]:
    """Yield the engine of the folds, and show progress."""
    from sklearn.exceptions import FitFailedWarning

    from labelweave._common.progress import progress_shown

    kept = None
    if results is not None:
        kept = f"finished folds are kept in {results}: the same command continues where it was"
    with (
        workers(jobs, cluster, kept=kept, folds=True) as engine,
        progress_shown("comparing methods"),
        warnings.catch_warnings(),
    ):
        # Failed fits are reported at the end, with the exit code.
        warnings.simplefilter("ignore", FitFailedWarning)
        yield engine


def _show(result: Comparison, form: TextFormat | None, judged_by: str, test: Test) -> None:
    from labelweave.report.console import make_console, show_comparison

    if form is not None:
        typer.echo(comparison_text(result, form, test=test.value), nl=False)
    elif len(result.failures()) < len(result.results):
        show_comparison(result, make_console(sys.stdout), test=test.value)
        if judged_by == "matching":
            typer.echo(
                "each measure is judged by the labels that are best for it, where a method has "
                "probabilities and a free decision; --decisions own: one prediction for all"
            )


def _report_problems(result: Comparison) -> None:
    """Report problems on standard error; raise an error if a method failed on all folds."""
    from labelweave.report.comparison import warning_notes

    for note in warning_notes(result):
        typer.echo(f"warning: {note}", err=True)
    failures = result.failure_notes()
    failed = Counter(fold.method for fold in result.failures())
    if any(failed[name] == len(result.of_method(name)) for name in failed):
        error = WorkFailedError("\n       ".join(failures))
        error.add_note(result.failures()[0].traceback or "")
        raise error
    for note in failures:
        typer.echo(f"warning: {note}", err=True)


def report(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Files (.json) that `labelweave compare -o` wrote."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--report",
            "-o",
            help="The report: one HTML file to share (.html), Markdown (.md) or LaTeX (.tex).",
        ),
    ],
    test: TestOption = Test.paired,
) -> None:
    """Write a report on comparisons; methods compared on several data sets are ranked over them.

    Ranks are only given if all files have the same methods.

    \b
    labelweave compare emotions -m br,cc,pcc -o emotions.json
    labelweave compare yeast -m br,cc,pcc -o yeast.json
    labelweave report emotions.json yeast.json --report both.html
    """  # noqa: D301
    check_report(output)
    with argument("FILES"):
        comparisons = [read_comparison(file) for file in files]
        names = Counter(each.data.name for each in comparisons)
        if repeated := [name for name, n in names.items() if n > 1]:
            raise ValueError(f"{repeated[0]} is compared in {names[repeated[0]]} of the files")
    write_report(comparisons, output, test=test.value, command=ctx.meta.get(COMMAND_LINE, ""))
    typer.echo(f"report: {output}", err=True)


def read_comparison(file: Path) -> Comparison:
    """Read a comparison from a file; errors name the file."""
    from labelweave.evaluation import Comparison

    try:
        return Comparison.from_json(file.read_text("utf-8"))
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ValueError(f"{file} is not a comparison: {reason}") from error
