"""Stream, on one machine or a cluster.

What ``labelweave stream`` says of a learner.

``labelweave stream --cluster``: the partitions of a stream, learned by workers.

``labelweave stream``: learn from a stream of rows in bounded memory.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.errors import BadInputError, WorkFailedError, argument
from labelweave.cli.inputs import check_writable
from labelweave.cli.options import (
    ClusterOption,
    MaxFeaturesOption,
    MaxLabelsOption,
    MaxMemoryOption,
    ReadOptions,
    SeedOption,
)
from labelweave.cli.outputs import resumable, workers

if TYPE_CHECKING:
    from labelweave.distributed.partitioned import PartitionedLearner
    from labelweave.models.online import StreamLearner
    from labelweave.models.online.classifier import BayesianOnlineClassifier


def figures(learner: StreamLearner | PartitionedLearner, seconds: float) -> str:
    """Return how far a learner has come, how fast and how well."""
    rows = learner.n_rows - learner.n_resumed
    parts = [f"{learner.n_rows:,} rows", f"{rows / max(seconds, 1e-9):,.0f} rows/s"]
    quality = learner.quality
    macro, micro = quality.macro(), quality.micro()
    if learner.score and macro == macro:  # nan after the first batch, which is not predicted
        parts.append(f"prequential F1 macro {macro:.3f} micro {micro:.3f}")
    if learner.n_bad:
        parts.append(f"{learner.n_bad:,} bad lines")
    return ", ".join(parts)


def show_summary(
    learner: StreamLearner | PartitionedLearner, seconds: float, out: Path, resumed: str
) -> None:
    """Say on standard error what was learned and where the model is."""
    lines = [f"learned from {figures(learner, seconds)}", resumed]
    if learner.n_bad:
        lines.append(f"first bad line: {learner.complaint}")
    size = f"{learner.state.n_features} features, {learner.state.n_labels} labels"
    typer.echo("\n".join(filter(None, [*lines, f"model: {out} ({size})"])), err=True)


@contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Lock the model and its checkpoint against other processes."""
    from labelweave._common.files import LockedError, locked

    try:
        with locked(out.with_name(out.name + ".lock")):
            yield
    except LockedError as error:
        raise BadInputError(
            f"--out: another process is learning {out}; wait for it or choose another file"
        ) from error


def stream_partitions(
    model: BayesianOnlineClassifier,
    files: list[str],
    out: Path,
    *,
    cluster: str,
    restart: bool,
    **options: Any,
) -> None:
    """Learn a model from files, each on a worker, and save it."""
    from labelweave import persistence

    folder = out.with_name(out.name + ".partitions")
    if restart:
        shutil.rmtree(folder, ignore_errors=True)
    kept = f"finished partitions are kept in {folder}: the same command goes on from there"
    with workers(None, cluster, kept=kept) as engine, resumable(kept):
        from labelweave._common.engine import LostWorkError
        from labelweave.distributed.cluster import ClusterLostError
        from labelweave.distributed.partitioned import OtherRunError, PartitionedLearner
        from labelweave.models.online.stream import CheckpointError

        started = time.perf_counter()
        with argument("FILE"), _progress_of_partitions() as show:
            try:
                learner = PartitionedLearner(
                    files, model.settings(), engine, checkpoint=folder, **options
                )
                learner.run(show)
            except OtherRunError as error:
                raise BadInputError(f"--out: {error}; use --restart to start anew") from error
            except CheckpointError as error:
                raise WorkFailedError(f"--out: {error}") from error
            except (ClusterLostError, LostWorkError) as error:
                raise WorkFailedError(f"{error}; {kept}") from error
            if not learner.label_names:
                raise ValueError("the files have no labels to learn from")
        seconds = time.perf_counter() - started
    model.adopt(learner.state, learner.label_names)
    model.first_feature_ = learner.first_feature
    with argument("--out"):
        persistence.save_model(model, out)
    learner.remove_checkpoint()  # only once the model is on disk
    resumed = f"{learner.n_resumed:,} rows had been learned before" if learner.n_resumed else ""
    show_summary(learner, seconds, out, resumed)


@contextmanager
def _progress_of_partitions() -> Iterator[Callable[[PartitionedLearner], None]]:
    """Show a status line on standard error, updated with every partition, unless it is a pipe."""
    from rich.status import Status

    from labelweave.report.console import make_console

    console = make_console(sys.stderr)
    started = time.perf_counter()
    if not console.is_terminal:
        yield lambda _: None
        return

    def text(learner: PartitionedLearner) -> str:
        place = f"round {learner.round} of {learner.rounds}, "
        place += f"partition {learner.n_done} of {len(learner.partitions)}"
        return f"{place}: {figures(learner, time.perf_counter() - started)}"

    with Status("starting", console=console) as status:
        yield lambda learner: status.update(text(learner))


def stream(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="svmlight or XMC text, plain or compressed; - reads standard input. With "
            "--cluster several: the partitions of the stream.",
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
    max_features: MaxFeaturesOption = None,
    max_labels: MaxLabelsOption = None,
    seed: SeedOption = 0,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Number of threads.", show_default="1"),
    ] = None,
    cluster: ClusterOption = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds",
            min=1,
            help="With --cluster: how often to learn from each partition.",
            show_default="1",
        ),
    ] = None,
) -> None:
    """Learn from a stream of rows in one pass and in bounded memory.

    Each batch is predicted before the model learns from it: a label is assigned to the fraction of
    rows that have had it so far, or by its probability if that is fewer than two rows. The F1 shown
    is that of these predictions. The state is saved to MODEL.checkpoint at regular intervals. After
    an interruption or a power failure, the same command resumes from the checkpoint (standard input
    must supply the same rows again) and ends with the same model. The checkpoint is removed once
    the model is safely on disk.

    On a cluster each FILE is learned by a worker, from the same prior, and what they taught is
    added up: the same model for any number of workers. Further rounds learn each FILE from what all
    the others taught. What is finished is kept in MODEL.partitions.

    \b
    labelweave stream news.svm.gz --out news.skops --checkpoint-every 50000
    zcat day*.svm.gz | labelweave stream - --labels 103 --skip-bad --out news.skops
    labelweave predict news.skops tomorrow.svm --proba
    labelweave stream part-*.svm.gz --labels 103 --out news.skops --cluster tcp://host:8786
    """  # noqa: D301
    from labelweave.data.load import refuse_other_formats

    check_writable(out, "--out")
    with argument("FILE"):
        for file in files:
            refuse_other_formats(file)
    reading: dict[str, Any] = {
        "zero_based": zero_based,
        "n_labels": labels,
        "max_features": max_features,
        "max_labels": max_labels,
        "skip_bad": skip_bad,
    }
    limits = ReadOptions(max_memory=max_memory).limits()
    with argument("--method"):
        model = _online_model(method, seed)
    if cluster is not None:
        _refuse_with_cluster(files, passes, jobs)
        with exclusive(out):
            stream_partitions(
                model,
                files,
                out,
                cluster=cluster,
                restart=restart,
                rounds=rounds or 1,
                options=reading,
                batch_rows=batch,
                score=score,
                limits=limits,
            )
        return
    if len(files) > 1 or rounds is not None:
        raise BadInputError(
            f"{'FILE: several files' if len(files) > 1 else '--rounds'}: only with --cluster; "
            "--cluster local learns on the cores of this machine"
        )
    if files == ["-"] and passes > 1:
        raise BadInputError("--passes: standard input can be read only once")
    _stream_file(
        model,
        files[0],
        out,
        restart=restart,
        reading=reading,
        passes=passes,
        batch_lines=batch,
        checkpoint_every=checkpoint_every,
        score=score,
        n_threads=jobs or 1,
        limits=limits,
    )


def _stream_file(
    model: BayesianOnlineClassifier,
    file: str,
    out: Path,
    *,
    restart: bool,
    reading: dict[str, Any],
    **options: Any,
) -> None:
    """Learn a model from one file or from standard input, and save it."""
    from labelweave import persistence
    from labelweave._common.files import remove
    from labelweave.data.row_text import RowStream
    from labelweave.models.online import StreamLearner

    checkpoint = out.with_name(out.name + ".checkpoint")
    with argument("FILE"):
        source = RowStream(sys.stdin.buffer if file == "-" else file, **reading)
    started = time.perf_counter()
    with source, exclusive(out):
        if restart:
            remove(checkpoint)
        with argument("FILE"):
            learner = StreamLearner(source, model.settings(), checkpoint=checkpoint, **options)
        _learn(learner)
        seconds = time.perf_counter() - started
        model.adopt(learner.state, learner.label_names)
        model.first_feature_ = source.first_feature
        with argument("--out"):
            persistence.save_model(model, out)
        remove(checkpoint)  # only once the model is on disk
    resumed = f"resumed after row {learner.n_resumed:,}" if learner.n_resumed else ""
    show_summary(learner, seconds, out, resumed)


def _online_model(method: str, seed: int) -> BayesianOnlineClassifier:
    from labelweave.models.methods import make_method
    from labelweave.models.online.classifier import BayesianOnlineClassifier

    model = make_method(method, seed=seed)
    if not isinstance(model, BayesianOnlineClassifier):
        raise ValueError(f"{method} cannot learn from a stream; use bomc-cmn")
    model.settings()  # checks the options
    return model


def _refuse_with_cluster(files: list[str], passes: int, jobs: int | None) -> None:
    """Raise an error for what a cluster has no use for."""
    if "-" in files:
        raise BadInputError("FILE: workers cannot read standard input; name files")
    if passes > 1:
        raise BadInputError("--passes: not with --cluster; --rounds learns each FILE again")
    if jobs is not None:
        raise BadInputError("--jobs: not with --cluster; local:4 is a cluster of four processes")


def _learn(learner: StreamLearner) -> None:
    from labelweave.models.online.stream import CheckpointError

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


@contextmanager
def _progress() -> Iterator[Callable[[StreamLearner], None]]:
    """Show a status line on standard error, updated with every batch, unless it is a pipe."""
    from rich.status import Status

    from labelweave.report.console import make_console

    console = make_console(sys.stderr)
    started = time.perf_counter()
    if not console.is_terminal:
        yield lambda _: None
        return
    with Status("reading", console=console) as status:
        yield lambda learner: status.update(figures(learner, time.perf_counter() - started))
