"""Connect to a cluster that a command line or a caller names."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
from distributed import Client, LocalCluster

from labelweave._common.engine import Engine
from labelweave.distributed.dask_engine import DaskEngine

__all__ = ["as_engine", "connect"]

# Seconds until a scheduler has to answer, and until its first worker has to be there: it may have
# to start an interpreter on a busy machine first.
_PATIENCE, _FIRST_WORKER = 30, 120
# Dask makes workers return freed memory at once, and so glibc maps every larger array anew: online
# learning took twice as long. Arrays up to this size come from the heap.
_MALLOC = {"distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**28}
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://.+:\d+")


@contextmanager
def connect(cluster: str) -> Iterator[DaskEngine]:
    """Connect to a cluster, or start one on this machine, for as long as the context lasts.

    Parameters
    ----------
    cluster : str
        ``"local"`` starts one worker process per core on this machine, ``"local:4"`` four of them;
        ``"tcp://host:8786"`` (or ``tls://``) is the address of a scheduler; anything else is the
        file that ``dask scheduler --scheduler-file`` wrote. Certificates for TLS are those of
        dask's configuration.

    Examples
    --------
    >>> from labelweave.distributed import connect
    >>> with connect("local:2") as engine:  # doctest: +SKIP
    ...     engine.n_workers
    2
    """
    kind, _, number = cluster.partition(":")
    if kind == "local":
        # What workers send need not go through the scheduler.
        with (
            _local_cluster(number) as local,
            _client(local, cluster, direct_to_workers=True) as client,
        ):
            yield DaskEngine(client)
    elif _ADDRESS.fullmatch(cluster):
        with _client(cluster, cluster) as client:
            yield DaskEngine(client)
    elif Path(cluster).is_file():
        with _client(None, cluster, scheduler_file=cluster) as client:
            yield DaskEngine(client)
    else:
        raise ValueError(
            f"{cluster!r} is not a cluster: write local, local:4, the address of a scheduler such "
            "as tcp://host:8786, or the scheduler's file"
        )


def as_engine(client: Client | Engine) -> Engine:
    """Return the engine of a dask client; an engine is returned as it is."""
    return DaskEngine(client) if isinstance(client, Client) else client


@contextmanager
def _local_cluster(number: str) -> Iterator[LocalCluster]:
    if number and not (number.isascii() and number.isdigit() and int(number) > 0):
        raise ValueError(f"local:{number} must name a number of workers, such as local:4")
    n_workers = int(number) if number else len(os.sched_getaffinity(0))
    # One thread a worker: a call has its core to itself, as it has on this machine alone.
    with (
        dask.config.set(_MALLOC),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",  # nobody else may reach it
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,  # what goes wrong is raised, or told by a `Lost`
        ) as cluster,
    ):
        yield cluster


class _ConnectedClient(Client):
    """A client that is closed at once if it cannot connect.

    Left to the garbage collector, it might be closed in the event loop of the next client, while
    that client starts and holds the lock that closing needs: a deadlock.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        try:
            super().__init__(*args, **options)
        except BaseException:
            self.close()
            raise


@contextmanager
def _client(address: Any, name: str, **options: Any) -> Iterator[Client]:
    try:
        client = _ConnectedClient(address, timeout=_PATIENCE, **options)
    except (OSError, TimeoutError) as error:
        raise ConnectionError(
            f"no scheduler answers at {name}: start one with `dask scheduler`, and see that this "
            "machine may reach it"
        ) from error
    except TypeError as error:  # dask's own word for a missing certificate
        raise ConnectionError(
            f"{name} needs a certificate: name ca-file and the client's cert and key under "
            "distributed.comm.tls in dask's configuration"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER)
        except TimeoutError as error:
            raise ConnectionError(
                f"the scheduler at {name} has no workers: start some with `dask worker {name}`"
            ) from error
        yield client
