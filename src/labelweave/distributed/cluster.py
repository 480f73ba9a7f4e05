"""A dask cluster as an engine, and the connection to it."""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed, get_worker
from distributed.client import FutureCancelledError

from labelweave._common.engine import MACHINE_ERRORS, Call, Engine, Lost
from labelweave.versions import results_depend_on

# How often a call is tried again after its worker died or had no memory, disk or network.
_RETRIES = 3


class ClusterLostError(ConnectionError):
    """The scheduler does not answer any more."""


class WorkerMismatchError(RuntimeError):
    """A worker runs other versions than this process: results would depend on who computed them."""


class DaskEngine:
    """An engine that runs calls on the workers of a dask cluster; it does not close the client.

    The scheduler keeps everything that it needs to repeat a call or to compute a shared value
    again, so that a lost worker costs only its own calls.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._address: str = client.scheduler_info()["address"]
        self._versions = results_depend_on()
        self._check_workers()

    @property
    def n_workers(self) -> int:
        return max(1, int(sum(self.client.nthreads().values())))

    def share(self, value: Any) -> Future[Any]:
        """Return a future of the value, which any worker can get even after another one died."""
        # Scattered data would be lost with the worker that holds them; a task is computed again.
        return self._submit(_same, value, pure=True)

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        suspects = []
        for number, result in self._run_together(calls, range(len(calls))):
            if isinstance(result, KilledWorker):
                suspects.append(number)
            else:
                yield number, result
        # Dask blames every call that waited on a worker that died: run alone, the innocent succeed.
        for suspect in suspects:
            for number, result in self._run_together(calls, [suspect]):
                if isinstance(result, KilledWorker):
                    deaths = result.allowed_failures + 1
                    reason = f"KilledWorker: all {deaths} workers that ran it alone died"
                    yield number, Lost(calls[number].name, reason)
                else:
                    yield number, result

    def _run_together(
        self, calls: Sequence[Call], chosen: Iterable[int]
    ) -> Iterator[tuple[int, Any]]:
        """Run some of the calls; the result is a `KilledWorker` if its workers died."""
        numbers = {
            self._submit(
                *(_attempt, self._versions, calls[number].name, calls[number].function),
                *calls[number].arguments,
                pure=False,
            ): number
            for number in chosen
        }
        for future in as_completed(list(numbers)):
            number = numbers.pop(future)
            result = self._result(future, calls[number].name)
            # Otherwise dask would run the call again if the worker that keeps its result died.
            future.release()
            yield number, result

    def _submit(self, function: Callable[..., Any], *arguments: Any, pure: bool) -> Future[Any]:
        with warnings.catch_warnings():
            # Shared data go through the scheduler on purpose.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(function, *arguments, pure=pure, retries=_RETRIES)

    def _result(self, future: Future[Any], name: str) -> Any:
        try:
            return future.result()
        except WorkerMismatchError:
            raise
        except FutureCancelledError as error:
            raise ClusterLostError(f"the scheduler at {self._address} is gone") from error
        except KilledWorker as error:
            return error
        except Exception as error:
            return Lost.by(name, error)

    def _check_workers(self) -> None:
        """Compare the versions of all workers; later ones are checked with every call."""
        found = self.client.run(version, "labelweave", on_error="return")
        for worker, answer in found.items():
            if isinstance(answer, PackageNotFoundError):
                raise WorkerMismatchError(
                    f"labelweave is not installed on the worker {worker}: install "
                    f"labelweave=={self._versions['labelweave']} there"
                )
        for worker, theirs in self.client.run(results_depend_on).items():
            check_versions(self._versions, theirs, worker)


def _same(value: Any) -> Any:
    return value


def _attempt(
    versions: Mapping[str, str], name: str, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Call the function on a worker; errors of the machine are raised, so that dask tries again."""
    check_versions(versions, results_depend_on(), get_worker().address)
    try:
        return function(*arguments)
    except MACHINE_ERRORS:
        raise
    except Exception as error:
        return Lost.by(name, error)


def check_versions(ours: Mapping[str, str], theirs: Mapping[str, str], worker: str) -> None:
    """Refuse a worker whose results could differ from those of this process."""
    different = [name for name in ours if theirs.get(name) != ours[name]]
    if not different:
        return
    name = different[0]
    mend = (
        f"set LABELWEAVE_SIMD={min(ours[name], str(theirs.get(name)))} on both"
        if name == "SIMD level"
        else "install the same versions on both"
    )
    raise WorkerMismatchError(
        f"the worker {worker} has {name} {theirs.get(name)}, this process {ours[name]}: {mend}"
    )


# Seconds within which a scheduler must answer, and within which its first worker must appear: a
# worker may first have to start an interpreter on a busy machine.
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
        file that ``dask scheduler --scheduler-file`` wrote. TLS certificates come from dask's
        configuration.

    Examples
    --------
    >>> from labelweave.distributed import connect
    >>> with connect("local:2") as engine:  # doctest: +SKIP
    ...     engine.n_workers
    2
    """
    kind, _, number = cluster.partition(":")
    if kind == "local":
        # Workers on this machine need not send results through the scheduler.
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
    # One thread per worker: a call has a core to itself, as it has without a cluster.
    with (
        dask.config.set(_MALLOC),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",  # nobody else may reach it
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,  # errors are raised, or returned as a `Lost`
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
    except TypeError as error:  # dask raises it for a missing certificate
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
