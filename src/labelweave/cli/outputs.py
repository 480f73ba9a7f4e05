"""Files that commands write, in the format of the extension, and the workers of commands."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import typer

from labelweave.cli.options import BadInputError, WorkFailedError, argument

if TYPE_CHECKING:
    import pandas as pd

    from labelweave._common.engine import Engine
    from labelweave.distributed.cluster import DaskEngine
    from labelweave.evaluation import Comparison


TextFormat = StrEnum("TextFormat", ["markdown", "latex", "csv"])
#: The key of the typed command in the context of a command.
COMMAND_LINE = "labelweave.command_line"
SCORE_FORMATS: Final = (".json", ".csv", ".md")
_COMPRESSIONS: Final[dict[str, Literal["gzip", "xz", "bz2"]]] = {
    ".gz": "gzip",
    ".xz": "xz",
    ".bz2": "bz2",
}


def check_writable(path: Path | None, option: str, endings: Sequence[str] = ()) -> None:
    """Raise an error before the work if its result cannot be written or its format is unknown."""
    from labelweave._common.files import require_writable

    if path is None:
        return
    with argument(option):
        require_writable(path)
    if endings and path.suffix.lower() not in endings:
        raise BadInputError(
            f"{option}: {path} must have one of the extensions {', '.join(endings)}"
        )


def check_report(path: Path | None) -> None:
    """Raise an error before the work if the report cannot be written or the format is unknown."""
    check_writable(path, "--report")
    if path is not None:
        from labelweave.report.document import check_document_path

        with argument("--report"):
            check_document_path(path)


def write_report(
    results: Comparison | Sequence[Comparison], path: Path, *, test: str, command: str
) -> None:
    from labelweave.report import write_report

    with argument("--report"):
        write_report(results, path, test=test, command=command)


def comparison_text(result: Comparison, form: TextFormat, *, test: str) -> str:
    """Return the table of means as Markdown or LaTeX, or the scores of every fold as CSV."""
    from labelweave.report.comparison import comparison_table
    from labelweave.report.document import Document, Section
    from labelweave.report.text import to_latex, to_markdown

    if form == TextFormat.csv:
        return str(result.to_frame().to_csv(index=False))
    table = comparison_table(result, test=test)
    document = Document(result.data.name, "", (Section("Results", (table,)),))
    return to_markdown(document) if form == TextFormat.markdown else to_latex(document)


def write_comparison(result: Comparison, path: Path, *, test: str) -> None:
    """Write the scores of every fold as JSON or CSV, or the table of means as Markdown."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = result.to_frame().to_csv(index=False)
    else:
        text = result.to_markdown(test=test) if ending == ".md" else result.to_json()
    _write_text(path, text, "--output")


def _write_text(path: Path, text: str, option: str) -> None:
    from labelweave._common.files import replacing

    with argument(option), replacing(path) as file:
        file.write(text.encode())


def write_scores(scores: Mapping[str, float], about: Mapping[str, Any], path: Path) -> None:
    """Write the scores of one model; JSON also includes the metadata `about`."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = "".join(["metric,value\n", *(f"{k},{v!r}\n" for k, v in scores.items())])
    elif ending == ".md":
        lines = [f"| {name} | {value:.4f} |" for name, value in scores.items()]
        text = "\n".join(["| metric | value |", "|---|---:|", *lines]) + "\n"
    else:
        figures = {k: v if math.isfinite(v) else str(v) for k, v in scores.items()}
        text = json.dumps({**about, "scores": figures}, indent=2) + "\n"
    _write_text(path, text, "--output")


def write_table(table: pd.DataFrame, path: Path | None) -> None:
    """Write a table as CSV, compressed if the extension says so, or to standard output."""
    if path is None:
        table.to_csv(sys.stdout, index=False, float_format="%.6g")
        return
    from labelweave._common.files import replacing

    with argument("--output"), replacing(path) as result:
        compression = _COMPRESSIONS.get(path.suffix.lower())
        table.to_csv(result, index=False, float_format="%.6g", mode="wb", compression=compression)


def check_workers(jobs: int | None, cluster: str | None) -> None:
    """Raise an error if --jobs is not a number of processes, or if --cluster is given as well."""
    if jobs == 0:
        raise BadInputError("--jobs: must be at least 1, or -1 for all cores; got 0")
    if jobs is not None and cluster is not None:
        raise BadInputError("--jobs: not with --cluster; local:4 is a cluster of four processes")


@contextmanager
def workers(
    jobs: int | None, cluster: str | None, *, kept: str | None, folds: bool = False
) -> Iterator[Engine]:
    """Yield the engine that runs the work; `kept` describes the results that survive a stop."""
    from labelweave._common.engine import JoblibEngine
    from labelweave._common.keyed_lines import KeyedLinesError

    here = nullcontext(JoblibEngine(-1 if jobs is None else jobs))
    with here if cluster is None else _cluster(cluster, kept, folds) as engine:
        try:
            yield engine
        except KeyboardInterrupt:
            if kept is not None:
                typer.echo(f"interrupted; {kept}", err=True)
            raise
        except KeyedLinesError as error:
            raise BadInputError(f"--results: {error}") from error


@contextmanager
def _cluster(cluster: str, kept: str | None, folds: bool) -> Iterator[Engine]:
    with argument("--cluster"):
        # Imported here because most commands need no cluster and dask is slow to import.
        from labelweave.distributed import connect
        from labelweave.distributed.cluster import ClusterLostError, WorkerMismatchError
    with _quiet(), ExitStack() as stack:
        try:
            with argument("--cluster"):
                engine = stack.enter_context(connect(cluster))
            if folds:
                _warn_of_threads(engine)
            yield engine
        except WorkerMismatchError as error:
            raise BadInputError(f"--cluster: {error}") from error
        except ClusterLostError as error:
            kept = kept or "nothing is kept without --results FILE"
            raise WorkFailedError(f"{error}; {kept}") from error


def _warn_of_threads(engine: DaskEngine) -> None:
    threads = max(engine.client.nthreads().values(), default=1)
    if threads > 1:
        typer.echo(
            f"warning: workers of the cluster have up to {threads} threads but run one fold at a "
            "time: start them with `dask worker --nworkers auto --nthreads 1`",
            err=True,
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the logs of dask and tornado, because the command reports errors itself."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)
