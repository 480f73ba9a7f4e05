"""How everything here is measured: interleaved races, one BLAS thread, peak memory."""

from __future__ import annotations

import ctypes
import hashlib
import multiprocessing
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from labelweave._core import native
from labelweave.versions import cpu_name

Runner = Callable[[], Any]

FAR_BEHIND = 2.5
# Seconds for worker processes of the contestant before to tidy up; what they do after their result
# is in would otherwise be charged to the next one.
REST = 0.05


@dataclass
class Timing:
    """The seconds of every run of one contestant, and what its last run returned."""

    seconds: list[float] = field(default_factory=list)
    result: Any = None

    @property
    def best(self) -> float:
        """The fastest run, the one that other work on the machine disturbed least."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The middle run: comparable between contestants that ran more and less often."""
        return statistics.median(self.seconds)


def settle() -> None:
    """Let the last contestant's workers end, then wake all cores: one that sleeps starts late."""
    time.sleep(REST)
    work = bytes(16_000_000)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(hashlib.sha256, [work] * (os.cpu_count() or 1)))


def timed(runner: Runner) -> tuple[float, Any]:
    settle()
    start = time.perf_counter()
    result = runner()
    return time.perf_counter() - start, result


def race(ours: Runner, theirs: Mapping[str, Runner], rounds: int) -> dict[str, Timing]:
    """Time all contestants in turn, ``rounds`` times; the key of ours is ``"ours"``.

    Ours runs once before each of theirs, so that a slow spell of the machine meets both sides.
    Whoever needs more than `FAR_BEHIND` times the fastest of theirs in the first round is not
    called again.
    """
    timings = {name: Timing() for name in ("ours", *theirs)}
    called = dict(theirs)
    for _ in range(rounds):
        for name, runner in called.items():
            for key, run in (("ours", ours), (name, runner)):
                seconds, timings[key].result = timed(run)
                timings[key].seconds.append(seconds)
        fastest = min(timings[name].best for name in called)
        called = {k: run for k, run in called.items() if timings[k].best <= FAR_BEHIND * fastest}
    return timings


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread: on small products its own threads cost more than they bring."""
    with threadpool_limits(limits=1):
        yield


def peak_memory(call: Callable[..., Any], *arguments: Any) -> int:
    """Return by how many bytes ``call(*arguments)`` raises the peak of a fresh process' memory.

    What the arguments themselves take is not counted. The call is made twice: the first one pays
    for the lazy imports, code pages and thread stacks, which are no cost of the problem's size.
    """
    if not sys.platform.startswith("linux"):
        raise NotImplementedError("peak memory is read from /proc, which only Linux has")
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(_peak_memory_here, call, arguments).result()


def _peak_memory_here(call: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    with one_blas_thread():
        call(*arguments)
        # Freed memory that the allocator keeps would hide what the second call needs.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # 5: the peak starts anew from now
        before = _status_bytes("VmRSS")
        result = call(*arguments)
        peak = _status_bytes("VmHWM")
        del result
    return peak - before


def _status_bytes(entry: str) -> int:
    found = re.search(rf"^{entry}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    if found is None:
        raise NotImplementedError(f"/proc/self/status has no {entry}")
    return 1024 * int(found[1])


def machine() -> str:
    """Describe processor and versions, as far as they bear on the figures."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("scikit-learn", "numpy", "scipy"))
    return (
        f"{cpu_name()}, {os.cpu_count()} cores; {native.compiler()}, "
        f"Python {platform.python_version()}, {versions}"
    )
