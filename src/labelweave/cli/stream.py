"""``labelweave stream``: learn from a stream of rows, on this machine or on a cluster."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.options import (
    BadInputError,
    ClusterOption,
    ReadOptions,
    SeedOption,
    WorkFailedError,
    ZeroBasedFlag,
    argument,
    reads,
)
from labelweave.cli.outputs import check_writable, workers

if TYPE_CHECKING:
    from labelweave.distributed.partitioned import PartitionedLearner
    from labelweave.models.online import StreamLearner
    from labelweave.models.online.classifier import BayesianOnlineClassifier


FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="svmlight or XMC text, plain or compressed; - reads standard input. With "
        "--cluster several: the partitions of the stream.",
    ),
]
OutOption = Annotated[
    Path, typer.Option("--out", "-o", help="File to save the model to, e.g. model.skops.")
]
MethodOption = Annotated[
    str, typer.Option("--method", "-m", help="An online method, with options.")
]
PassesOption = Annotated[int, typer.Option("--passes", min=1, help="Number of passes over FILE.")]
LabelsOption = Annotated[
    int | None, typer.Option("--labels", min=1, help="Number of labels, if known; svmlight only.")
]
SkipBadOption = Annotated[
    bool, typer.Option("--skip-bad", help="Skip and count malformed lines instead of stopping.")
]
CheckpointEveryOption = Annotated[
    int, typer.Option("--checkpoint-every", min=1, help="Number of rows between checkpoints.")
]
RestartOption = Annotated[
    bool, typer.Option("--restart", help="Start from scratch even if there is a checkpoint.")
]
BatchOption = Annotated[int, typer.Option("--batch", min=1, help="Number of rows per batch.")]
ScoreOption = Annotated[
    bool,
    typer.Option(
        "--score/--no-score", help="Predict and score each batch before learning from it."
    ),
]
ThreadsOption = Annotated[
    int | None, typer.Option("--jobs", "-j", min=1, help="Number of threads.", show_default="1")
]
RoundsOption = Annotated[
    int | None,
    typer.Option(
        "--rounds",
        min=1,
        help="With --cluster: how often to learn from each partition.",
        show_default="1",
    ),
]


@reads("max_memory", "max_features", "max_labels")
def stream(
    files: FilesArgument,
    out: OutOption,
    method: MethodOption = "bomc-cmn",
    passes: PassesOption = 1,
    labels: LabelsOption = None,
    zero_based: ZeroBasedFlag = False,
    skip_bad: SkipBadOption = False,
    checkpoint_every: CheckpointEveryOption = 100_000,
    restart: RestartOption = False,
    batch: BatchOption = 1000,
    score: ScoreOption = True,
    *,
    read_options: ReadOptions,
    seed: SeedOption = 0,
    jobs: ThreadsOption = None,
    cluster: ClusterOption = None,
    rounds: RoundsOption = None,
) -> None:
    """Learn from a stream of rows in one pass and in bounded memory.

    Each batch is predicted before the model learns from it: a label is assigned to the fraction of
    rows that have had it so far, or by its probability if that is fewer than two rows. The F1 shown
    is that of these predictions. The state is saved to MODEL.checkpoint at regular intervals. After
    an interruption or a power failure, the same command resumes from the checkpoint (standard input
    must supply the same rows again) and ends with the same model. The checkpoint is removed once
    the model is safely on disk.

    On a cluster each FILE is learned by a worker from the same prior, and the evidence of all files
    is added up, so the model is the same for any number of workers. In further rounds, each FILE is
    learned again given the evidence of all others. Finished partitions are kept in
    MODEL.partitions.

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
    _check_combination(files, passes, jobs, cluster, rounds)
    reading = {
        "zero_based": zero_based,
        "n_labels": labels,
        "max_features": read_options.max_features,
        "max_labels": read_options.max_labels,
        "skip_bad": skip_bad,
    }
    common = {"score": score, "limits": read_options.limits()}
    with argument("--method"):
        run = _Run(_online_model(method, seed), out, restart, reading)
    with _exclusive(out):
        if cluster is not None:
            run.learn_partitions(files, cluster, rounds=rounds or 1, batch_rows=batch, **common)
        else:
            run.learn_file(
                files[0],
                passes=passes,
                batch_lines=batch,
                checkpoint_every=checkpoint_every,
                n_threads=jobs or 1,
                **common,
            )


def _check_combination(
    files: list[str], passes: int, jobs: int | None, cluster: str | None, rounds: int | None
) -> None:
    if cluster is None:
        if len(files) > 1 or rounds is not None:
            raise BadInputError(
                f"{'FILE: several files' if len(files) > 1 else '--rounds'}: only with --cluster; "
                "--cluster local learns on the cores of this machine"
            )
        if files == ["-"] and passes > 1:
            raise BadInputError("--passes: standard input can be read only once")
        return
    if "-" in files:
        raise BadInputError("FILE: workers cannot read standard input; name files")
    if passes > 1:
        raise BadInputError("--passes: not with --cluster; --rounds learns each FILE again")
    if jobs is not None:
        raise BadInputError("--jobs: not with --cluster; local:4 is a cluster of four processes")


def _online_model(method: str, seed: int) -> BayesianOnlineClassifier:
    from labelweave.models.methods import make_method
    from labelweave.models.online.classifier import BayesianOnlineClassifier

    model = make_method(method, seed=seed)
    if not isinstance(model, BayesianOnlineClassifier):
        raise ValueError(f"{method} cannot learn from a stream; use bomc-cmn")
    model.probit_model()  # checks the options
    return model


@contextmanager
def _exclusive(out: Path) -> Iterator[None]:
    from labelweave._common.files import LockedError, locked

    try:
        with locked(out.with_name(out.name + ".lock")):
            yield
    except LockedError as error:
        raise BadInputError(
            f"--out: another process is learning {out}; wait for it or choose another file"
        ) from error


@dataclass(frozen=True)
class _Run:
    """A model that learns from text, read with the options `reading`, and its file."""

    model: BayesianOnlineClassifier
    out: Path
    restart: bool
    reading: dict[str, Any]

    def learn_file(self, file: str, **options: Any) -> None:
        """Learn from one file or from standard input, and save the model."""
        from labelweave._common.files import remove
        from labelweave.data.row_text import RowStream
        from labelweave.models.online import StreamLearner

        checkpoint = self.out.with_name(self.out.name + ".checkpoint")
        with argument("FILE"):
            source = RowStream(sys.stdin.buffer if file == "-" else file, **self.reading)
        started = time.perf_counter()
        with source:
            if self.restart:
                remove(checkpoint)
            with argument("FILE"):
                learner = StreamLearner(source, self.model, checkpoint=checkpoint, **options)
            _learn(learner, started)
            seconds = time.perf_counter() - started
            self._save(learner, source.first_feature)
            remove(checkpoint)  # only once the model is on disk
        resumed = f"resumed after row {learner.n_resumed:,}" if learner.n_resumed else ""
        self._show_summary(learner, seconds, resumed)

    def learn_partitions(self, files: list[str], cluster: str, **options: Any) -> None:
        """Learn from each file on a worker, and save the model."""
        folder = self.out.with_name(self.out.name + ".partitions")
        if self.restart:
            shutil.rmtree(folder, ignore_errors=True)
        kept = f"finished partitions are kept in {folder}: the same command goes on from there"
        with workers(None, cluster, kept=kept) as engine:
            from labelweave.distributed.partitioned import PartitionedLearner

            started = time.perf_counter()
            with argument("FILE"), _partition_errors(kept), _progress() as show:

                def advance(learner: PartitionedLearner) -> None:
                    place = f"round {learner.round} of {learner.rounds}, "
                    place += f"partition {learner.n_done} of {len(learner.partitions)}"
                    show(f"{place}: {_figures(learner, time.perf_counter() - started)}")

                model, reading = self.model.probit_model(), self.reading
                learner = PartitionedLearner(
                    files, model, engine, checkpoint=folder, options=reading, **options
                )
                learner.run(advance)
                if not learner.label_names:
                    raise ValueError("the files have no labels to learn from")
            seconds = time.perf_counter() - started
        self._save(learner, learner.first_feature)
        learner.remove_checkpoint()  # only once the model is on disk
        resumed = f"{learner.n_resumed:,} rows had been learned before" if learner.n_resumed else ""
        self._show_summary(learner, seconds, resumed)

    def _save(self, learner: StreamLearner | PartitionedLearner, first_feature: int | None) -> None:
        from labelweave import save_model

        self.model.adopt(learner.state, learner.label_names)
        self.model.first_feature_ = first_feature
        with argument("--out"):
            save_model(self.model, self.out)

    def _show_summary(
        self, learner: StreamLearner | PartitionedLearner, seconds: float, resumed: str
    ) -> None:
        lines = [f"learned from {_figures(learner, seconds)}", resumed]
        if learner.n_bad:
            lines.append(f"first bad line: {learner.complaint}")
        size = f"{learner.state.n_features} features, {learner.state.n_labels} labels"
        lines.append(f"model: {self.out} ({size})")
        typer.echo("\n".join(filter(None, lines)), err=True)


def _learn(learner: StreamLearner, started: float) -> None:
    """Learn from the whole stream, or from the checkpoint on if there is one."""
    from labelweave.models.online.stream import CheckpointError

    with argument("--out"):
        try:
            learner.resume()
        except ValueError as error:
            raise ValueError(f"{error}; use --restart to start from scratch") from error
    with argument("FILE"), _progress() as show:
        try:
            learner.run(lambda _: show(_figures(learner, time.perf_counter() - started)))
        except CheckpointError as error:
            raise WorkFailedError(f"--out: {error}") from error
        if not learner.label_names:
            raise ValueError(f"{learner.stream.source.name} has no labels to learn from")


@contextmanager
def _partition_errors(kept: str) -> Iterator[None]:
    from labelweave._common.engine import LostWorkError
    from labelweave.distributed.cluster import ClusterLostError
    from labelweave.distributed.partitioned import OtherRunError
    from labelweave.models.online.stream import CheckpointError

    try:
        yield
    except OtherRunError as error:
        raise BadInputError(f"--out: {error}; use --restart to start anew") from error
    except CheckpointError as error:
        raise WorkFailedError(f"--out: {error}") from error
    except (ClusterLostError, LostWorkError) as error:
        raise WorkFailedError(f"{error}; {kept}") from error


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a learner's progress in a terminal."""
    from labelweave._common.progress import progress_shown, stage

    with progress_shown("learning from the stream"), stage("rows") as advance:
        yield advance


def _figures(learner: StreamLearner | PartitionedLearner, seconds: float) -> str:
    rows = learner.n_rows - learner.n_resumed
    parts = [f"{learner.n_rows:,} rows", f"{rows / max(seconds, 1e-9):,.0f} rows/s"]
    quality = learner.quality
    macro, micro = quality.macro(), quality.micro()
    if learner.score and macro == macro:  # nan after the first batch, which is not predicted
        parts.append(f"prequential F1 macro {macro:.3f} micro {micro:.3f}")
    if learner.n_bad:
        parts.append(f"{learner.n_bad:,} bad lines")
    return ", ".join(parts)
