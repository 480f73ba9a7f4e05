"""``labelweave stream --cluster``: the partitions of a stream, learned by workers."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelweave.cli.errors import BadInputError, WorkFailedError, argument
from labelweave.cli.stream_summary import figures, show_summary
from labelweave.cli.workers import resumable, workers

if TYPE_CHECKING:
    from labelweave.distributed import PartitionedLearner
    from labelweave.online import BayesianOnlineClassifier


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
        from labelweave.distributed import (
            ClusterLostError,
            LostWorkError,
            OtherRunError,
            PartitionedLearner,
        )
        from labelweave.online.checkpoint import CheckpointError

        started = time.perf_counter()
        with argument("FILE"), _progress() as show:
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
        persistence.save(model, out)
    learner.remove_checkpoint()  # only once the model is on disk
    resumed = f"{learner.n_resumed:,} rows had been learned before" if learner.n_resumed else ""
    show_summary(learner, seconds, out, resumed)


@contextmanager
def _progress() -> Iterator[Callable[[PartitionedLearner], None]]:
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
