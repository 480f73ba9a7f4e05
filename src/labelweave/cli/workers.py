"""Where the work of a command runs: processes on this machine, or the workers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import typer

from labelweave.cli.errors import BadInputError, WorkFailedError, argument

if TYPE_CHECKING:
    from labelweave._common.engine import Engine
    from labelweave.distributed import DaskEngine

__all__ = ["check_workers", "file_of_results", "resumable", "workers"]


def check_workers(jobs: int | None, cluster: str | None) -> None:
    """Raise an error if --jobs is no number of processes, or --cluster is given as well."""
    if jobs == 0:
        raise BadInputError("--jobs: must be at least 1, or -1 for all cores; got 0")
    if jobs is not None and cluster is not None:
        raise BadInputError("--jobs: not with --cluster; local:4 is a cluster of four processes")


@contextmanager
def workers(
    jobs: int | None, cluster: str | None, *, kept: str | None, folds: bool = False
) -> Iterator[Engine]:
    """Yield what runs the work; say what is kept, if anything is, if the cluster is lost."""
    if cluster is None:
        from labelweave._common.engine import JoblibEngine

        yield JoblibEngine(-1 if jobs is None else jobs)
        return
    with argument("--cluster"):
        # Only here: most commands need no cluster, and dask takes long to import.
        from labelweave.distributed import ClusterLostError, WorkerMismatchError, connect
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
            told = "nothing is kept without --results FILE" if kept is None else kept
            raise WorkFailedError(f"{error}; {told}") from error


@contextmanager
def resumable(kept: str | None) -> Iterator[None]:
    """Say what is kept, if anything is, when the user interrupts the command."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is not None:
            typer.echo(f"interrupted; {kept}", err=True)
        raise


@contextmanager
def file_of_results(option: str) -> Iterator[None]:
    """Turn an error about a file of results into one about the option that names it."""
    from labelweave._common.keyed_lines import KeyedLinesError

    try:
        yield
    except KeyedLinesError as error:
        raise BadInputError(f"{option}: {error}") from error


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
    """Leave it to the command to say what is wrong, not to the log of dask."""
    # One handler for all loggers of dask and tornado.
    handlers = logging.getLogger("distributed").handlers
    before = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for handler, level in zip(handlers, before, strict=True):
            handler.setLevel(level)
