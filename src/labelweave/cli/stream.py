"""``labelweave stream``: learn from a stream of rows in bounded memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.errors import BadInputError, WorkFailedError, argument
from labelweave.cli.inputs import ReadOptions, check_writable
from labelweave.cli.options import MaxMemoryOption, SeedOption

if TYPE_CHECKING:
    from labelweave.online import OnlineSettings, StreamLearner


def stream(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="svmlight or XMC text, plain or compressed; - reads standard input.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to save the model to, e.g. model.skops.")
    ],
    method: Annotated[
        str, typer.Option("--method", "-m", help="An online method, with options.")
    ] = "bomc-cmn",
    passes: Annotated[int, typer.Option("--passes", min=1, help="Number of passes over FILE.")] = 1,
    labels: Annotated[
        int | None,
        typer.Option("--labels", min=1, help="Number of labels, if known; svmlight only."),
    ] = None,
    features: Annotated[
        int | None,
        typer.Option(
            "--features", min=1, help="Largest number of features to accept.", show_default="2^24"
        ),
    ] = None,
    zero_based: Annotated[
        bool, typer.Option("--zero-based", help="Feature indices of svmlight text start at 0.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Skip and count malformed lines instead of stopping.")
    ] = False,
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=1, help="Number of rows between checkpoints.")
    ] = 100_000,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start from scratch even if there is a checkpoint.")
    ] = False,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Number of rows per batch.")] = 1000,
    score: Annotated[
        bool,
        typer.Option(
            "--score/--no-score", help="Predict and score each batch before learning from it."
        ),
    ] = True,
    max_memory: MaxMemoryOption = None,
    seed: SeedOption = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Number of threads.")] = 1,
) -> None:
    """Learn from a stream of rows in one pass and in bounded memory.

    Each batch is predicted before the model learns from it: a label is assigned to the fraction of
    rows that have had it so far, or by its probability if that is fewer than two rows. The F1 shown
    is that of these predictions. The state is saved to MODEL.checkpoint at regular intervals. After
    an interruption or a power failure, the same command resumes from the checkpoint (standard input
    must supply the same rows again) and ends with the same model. The checkpoint is removed once
    the model is safely on disk.

    \b
    labelweave stream news.svm.gz --out news.skops --checkpoint-every 50000
    zcat day*.svm.gz | labelweave stream - --labels 103 --skip-bad --out news.skops
    labelweave predict news.skops tomorrow.svm --proba
    """  # noqa: D301
    check_writable(out, "--out")

    from labelweave import datasets, persistence
    from labelweave._common.files import remove

    with argument("--method"):
        model, settings = _online_model(method, seed)
    if file == "-" and passes > 1:
        raise BadInputError("--passes: standard input can be read only once")
    checkpoint = out.with_name(out.name + ".checkpoint")
    with argument("FILE"):
        source = datasets.RowStream(
            sys.stdin.buffer if file == "-" else file,
            zero_based=zero_based,
            n_features=features,
            n_labels=labels,
            skip_bad=skip_bad,
        )
    from labelweave.online import StreamLearner

    started = time.perf_counter()
    limits = ReadOptions(max_memory=max_memory).limits()
    with source, _exclusive(out):
        if restart:
            remove(checkpoint)
        with argument("FILE"):
            learner = StreamLearner(
                source,
                settings,
                passes=passes,
                batch_lines=batch,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                score=score,
                n_threads=jobs,
                limits=limits,
            )
        _learn(learner)
        seconds = time.perf_counter() - started
        model.adopt(learner.state, learner.label_names)
        with argument("--out"):
            persistence.save(model, out)
        remove(checkpoint)  # only once the model is on disk
    typer.echo(_summary(learner, seconds, out), err=True)


def _online_model(method: str, seed: int) -> tuple[Any, OnlineSettings]:
    from labelweave import evaluation
    from labelweave.online import BayesianOnlineClassifier

    model = evaluation.make_method(method, seed=seed)
    if not isinstance(model, BayesianOnlineClassifier):
        raise ValueError(f"{method} cannot learn from a stream; use bomc-cmn")
    return model, model.settings()


@contextmanager
def _exclusive(out: Path) -> Iterator[None]:
    """Lock the model and its checkpoint against other processes."""
    from labelweave._common.files import LockedError, locked

    try:
        with locked(out.with_name(out.name + ".lock")):
            yield
    except LockedError as error:
        raise BadInputError(
            f"--out: another process is learning {out}; wait for it or choose another file"
        ) from error


def _learn(learner: StreamLearner) -> None:
    from labelweave.online.checkpoint import CheckpointError

    with argument("--out"):
        try:
            learner.resume()
        except ValueError as error:
            raise ValueError(f"{error}; use --restart to start from scratch") from error
    with argument("FILE"), _progress() as show:
        try:
            learner.run(show)
        except CheckpointError as error:
            raise WorkFailedError(f"--out: {error}") from error
        if not learner.label_names:
            raise ValueError(f"{learner.stream.source.name} has no labels to learn from")


def _figures(learner: StreamLearner, seconds: float) -> str:
    rows = learner.n_rows - learner.n_resumed
    parts = [f"{learner.n_rows:,} rows", f"{rows / max(seconds, 1e-9):,.0f} rows/s"]
    macro, micro = learner.quality.macro(), learner.quality.micro()
    if learner.score and macro == macro:  # nan after the first batch, which is not predicted
        parts.append(f"prequential F1 macro {macro:.3f} micro {micro:.3f}")
    if learner.n_bad:
        parts.append(f"{learner.n_bad:,} bad lines")
    return ", ".join(parts)


def _summary(learner: StreamLearner, seconds: float, out: Path) -> str:
    lines = [f"learned from {_figures(learner, seconds)}"]
    if learner.n_resumed:
        lines.append(f"resumed after row {learner.n_resumed:,}")
    if learner.n_bad:
        lines.append(f"first bad line: {learner.complaint}")
    size = f"{learner.state.n_features} features, {learner.state.n_labels} labels"
    return "\n".join([*lines, f"model: {out} ({size})"])


@contextmanager
def _progress() -> Iterator[Callable[[StreamLearner], None]]:
    """Show a status line on standard error, updated with every batch, unless it is a pipe."""
    from rich.status import Status

    from labelweave import report

    console = report.make_console(sys.stderr)
    started = time.perf_counter()
    if not console.is_terminal:
        yield lambda _: None
        return
    with Status("reading", console=console) as status:
        yield lambda learner: status.update(_figures(learner, time.perf_counter() - started))
