"""Calls on the workers of a dask cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from distributed import Client, Future, KilledWorker, as_completed, get_worker
from distributed.client import FutureCancelledError

from labelweave._common.engine import MACHINE_ERRORS, Call, Lost
from labelweave.versions import results_depend_on

__all__ = ["ClusterLostError", "DaskEngine", "WorkerMismatchError"]

# How often a call is tried again after its worker died or had no memory, disk or network.
_RETRIES = 3


class ClusterLostError(ConnectionError):
    """The scheduler does not answer any more."""


class WorkerMismatchError(RuntimeError):
    """A worker runs other versions than this process: results would depend on who computed them."""


class DaskEngine:
    """The workers of a dask cluster as an engine.

    A value that is shared, and a call whose worker dies, are computed again from what the scheduler
    knows: a lost worker costs its own calls only.

    Parameters
    ----------
    client : distributed.Client
        Connected to the cluster; not closed by the engine.

    Raises
    ------
    WorkerMismatchError
        If a worker has no labelweave, or another version of it, of what it computes with, or
        another SIMD level.

    Examples
    --------
    >>> from distributed import Client
    >>> from labelweave._common.engine import Call
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     engine = DaskEngine(client)
    ...     five = engine.share(5)
    ...     list(engine.run([Call("2^5", pow, (2, five))]))
    [(0, 32)]
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._address: str = client.scheduler_info()["address"]
        self._versions = results_depend_on()
        self._check_workers()

    @property
    def n_workers(self) -> int:
        """Number of threads of all workers."""
        return max(1, int(sum(self.client.nthreads().values())))

    def share(self, value: Any) -> Future[Any]:
        """Return a future of the value, which any worker can get again."""
        # Scattered data would be lost with the worker that holds them; a task is computed again.
        return self._submit(_same, value, pure=True)

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Run the calls on the workers."""
        suspects = []
        for number, result in self._run_together(calls, range(len(calls))):
            if isinstance(result, KilledWorker):
                suspects.append(number)
            else:
                yield number, result
        # What waits on a worker that dies is as suspect to dask as what killed it: alone, it works.
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
        """Run some of the calls; those whose workers die have a `KilledWorker` for their result."""
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
            # Else the call would be run again if the worker that keeps its result died.
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
        """Compare the versions of all workers; those that join later are checked as they work."""
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
    """Call the function on a worker; raise what may succeed elsewhere, so that dask tries again."""
    check_versions(versions, results_depend_on(), get_worker().address)
    try:
        return function(*arguments)
    except MACHINE_ERRORS:
        raise
    except Exception as error:
        return Lost.by(name, error)


def check_versions(ours: Mapping[str, str], theirs: Mapping[str, str], worker: str) -> None:
    """Refuse a worker whose results could differ from those of this process.

    Examples
    --------
    >>> check_versions({"numpy": "2.4"}, {"numpy": "2.3"}, "tcp://10.0.0.7:4711")
    Traceback (most recent call last):
        ...
    labelweave.distributed.dask_engine.WorkerMismatchError: the worker tcp://10.0.0.7:4711 has
    numpy 2.3, this process 2.4: install the same versions on both
    """
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
