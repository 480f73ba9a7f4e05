"""Where calls run: in this process, in others on this machine, or on the workers of a cluster.

What can be spread over workers is written once, as a sequence of calls whose results are used as
they come. An engine runs them: `JoblibEngine` on this machine, `labelweave.distributed` on a
cluster.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

# Failures of a machine rather than of the work: elsewhere, or later, the same call may succeed.
MACHINE_ERRORS = (MemoryError, OSError)
# Seconds between two looks of a worker at whether its parent is still there.
_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Call:
    """One call of a function.

    Parameters
    ----------
    name : str
        What a failure is reported by.
    function : callable
        Importable by name, so that it can be sent to another process.
    arguments : tuple
        Its arguments; any of them may be what `Engine.share` returned.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        """Call the function in this process."""
        return self.function(*self.arguments)


@dataclass(frozen=True)
class Lost:
    """What is known of a call without a result.

    Parameters
    ----------
    name : str
        The name of the call.
    reason : str
        Why there is no result, on one line.
    traceback : str
        Where it failed, if the call itself did.
    """

    name: str
    reason: str
    traceback: str = ""

    @classmethod
    def by(cls, name: str, error: BaseException) -> Lost:
        """Describe a call that ended in an error."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return cls(name, reason, "".join(traceback.format_exception(error)))


class LostWorkError(RuntimeError):
    """Work that needs every one of its calls has lost one."""


class Engine(Protocol):
    """Runs calls, in any order and on any number of workers."""

    @property
    def n_workers(self) -> int:
        """How many calls run at a time."""

    def share(self, value: Any) -> Any:
        """Send a value to where calls run, once, and return what stands for it as an argument."""

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Run the calls; yield the position and the result of each as it is finished.

        A call that raises, or whose workers die, has a `Lost` for its result; the others go on.
        """


class JoblibEngine:
    """Worker processes on this machine.

    Parameters
    ----------
    n_jobs : int, optional
        Number of processes; -1 for all cores, 1 for this process itself.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @property
    def n_workers(self) -> int:
        """Number of processes."""
        return int(effective_n_jobs(self.n_jobs))

    def share(self, value: Any) -> Any:
        """Return the value: joblib maps large arrays into its processes by itself."""
        return value

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Run the calls in worker processes."""
        # One call at a time: a result is kept as soon as it is there.
        parallel = processes(self.n_jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(_attempt)(number, call) for number, call in enumerate(calls))


def processes(n_jobs: int | None, **options: Any) -> Parallel:
    """Return joblib's `Parallel`; its processes end with this one, even if it is killed."""
    return Parallel(n_jobs=n_jobs, initializer=_end_with, initargs=(os.getpid(),), **options)


def _end_with(parent: int) -> None:
    """End this process once its parent has ended; a killed one leaves its workers waiting."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_BETWEEN_LOOKS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _attempt(number: int, call: Call) -> tuple[int, Any]:
    try:
        return number, call()
    except Exception as error:
        return number, Lost.by(call.name, error)


_process = threading.RLock()


@contextmanager
def process_to_itself() -> Iterator[None]:
    """Hold this process, with one thread for linear algebra, for as long as the context lasts.

    A worker of a cluster may run several calls in threads of one process. For those whose results
    depend on what is the process's own, such as caught warnings or the threads of BLAS, the others
    wait.
    """
    with _process, threadpool_limits(limits=1):
        yield


def all_results(engine: Engine, calls: Sequence[Call]) -> list[Any]:
    """Return the results of calls that are of no use without each other."""
    results: dict[int, Any] = {}
    for number, result in engine.run(calls):
        if isinstance(result, Lost):
            error = LostWorkError(f"{result.name}: {result.reason}")
            error.add_note(result.traceback)
            raise error
        results[number] = result
    return [results[number] for number in range(len(calls))]
