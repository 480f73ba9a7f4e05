"""Engines that run calls: in this process, in others on this machine, or on a cluster.

Work for several workers is a sequence of calls, whose results are used as they arrive.
`JoblibEngine` runs them on this machine, the engine of `labelweave.distributed` on a cluster.
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

# Errors of the machine, not of the work: the same call may succeed elsewhere or later.
MACHINE_ERRORS = (MemoryError, OSError)
# Seconds between a worker's checks that its parent is still alive.
_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Call:
    """A call of a function that other processes can import; `Engine.share` may make arguments."""

    #: The name by which failures are reported.
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        return self.function(*self.arguments)


@dataclass(frozen=True)
class Lost:
    """A failed call: the reason on one line, and the traceback if the call raised an error."""

    name: str
    reason: str
    traceback: str = ""

    @classmethod
    def by(cls, name: str, error: BaseException) -> Lost:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return cls(name, reason, "".join(traceback.format_exception(error)))


class LostWorkError(RuntimeError):
    """A call has failed, and the work needs the results of all its calls."""


class Engine(Protocol):
    """Runs calls, in any order and on any number of workers."""

    @property
    def n_workers(self) -> int:
        """Number of calls that run at a time."""

    def share(self, value: Any) -> Any:
        """Send a value to the workers once, and return an argument that stands for it."""

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Run the calls; yield the position and the result of each as soon as it is finished.

        The result is a `Lost` if the call raises or its workers die; the other calls continue.
        """


class JoblibEngine:
    """Worker processes on this machine: -1 for all cores, 1 for this process itself."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @property
    def n_workers(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def share(self, value: Any) -> Any:
        return value  # joblib maps large arrays into its processes by itself

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        # With batches of one call, each result can be kept as soon as it is available.
        parallel = processes(self.n_jobs, return_as="generator_unordered", batch_size=1)
        yield from parallel(delayed(_attempt)(number, call) for number, call in enumerate(calls))


def processes(n_jobs: int | None, **options: Any) -> Parallel:
    """Return joblib's `Parallel`; its processes end with this one, even if it is killed."""
    return Parallel(n_jobs=n_jobs, initializer=_end_with, initargs=(os.getpid(),), **options)


def _end_with(parent: int) -> None:
    """End this process once its parent has ended: a killed parent cannot end its workers."""

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
    """Let one thread at a time run in this context, with one thread for linear algebra.

    This serves calls whose results depend on the state of the process, such as caught warnings,
    because a worker of a cluster may run several calls in threads of one process.
    """
    with _process, threadpool_limits(limits=1):
        yield


def all_results(engine: Engine, calls: Sequence[Call]) -> list[Any]:
    """Return the results of all calls, or raise an error if one is lost."""
    results: dict[int, Any] = {}
    for number, result in engine.run(calls):
        if isinstance(result, Lost):
            error = LostWorkError(f"{result.name}: {result.reason}")
            error.add_note(result.traceback)
            raise error
        results[number] = result
    return [results[number] for number in range(len(calls))]
