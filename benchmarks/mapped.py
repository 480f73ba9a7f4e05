"""Fits to data in files and in memory: `python -m benchmarks.mapped`.

The same rows are fitted as a memory map (`labelweave.data.mapped.read_mapped`) and from memory,
each time in a fresh process, for two numbers of rows. The figure is anonymous memory (``RssAnon``):
it cannot be dropped when memory is short, while pages of files can. The larger data are also fitted
under a limit on the process' own data (``RLIMIT_DATA``, which does not count maps of files): a
tenth of X above what it had before, and 16 MB for what does not grow with the rows.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import resource
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import _status_bytes, one_blas_thread
from benchmarks.tables import keep, markdown, show_megabytes, show_seconds
from labelweave import BinaryRelevance, Dataset
from labelweave.data import write_mapped
from labelweave.data.mapped import read_mapped

FEATURES, ENTRIES, LABELS = 5000, 200, 10
GROWTH = 10
# Seconds between two looks at the memory.
LOOK = 0.002
BASE = 2**24


@dataclass(frozen=True)
class Fit:
    """What a fit took; `digest` is that of its weights, None where memory did not suffice."""

    seconds: float
    anonymous: int
    digest: str | None


def make(n: int, folder: Path) -> None:
    """Write n rows with random entries, and labels of logistic regressions on them."""
    rng = np.random.default_rng(n)
    # One column from each of as many ranges: distinct, and in order.
    width = FEATURES // ENTRIES
    columns = np.arange(ENTRIES, dtype=np.int32) * width + rng.integers(
        0, width, (n, ENTRIES), dtype=np.int32
    )
    values = rng.standard_normal(n * ENTRIES)
    starts = np.arange(n + 1, dtype=np.int32) * ENTRIES
    X = sparse.csr_array((values, columns.ravel(), starts), shape=(n, FEATURES))
    weights = rng.standard_normal((FEATURES, LABELS)) / np.sqrt(ENTRIES)
    Y = X @ weights + rng.logistic(size=(n, LABELS)) > 1.0
    write_mapped(Dataset(X, Y, name=f"{n} rows"), folder)


def fit(folder: Path, mapped: bool, C: float | str, share: float | None) -> Fit:
    """Fit binary relevance; with `share`, under a limit of that share of X."""
    data = read_mapped(folder)
    X: Any = data.X
    n_bytes = size_of(X)
    # Imports, and the buffers of BLAS, are no cost of n.
    BinaryRelevance(C=C).fit(X[:100], data.Y[:100])
    np.ones(50_000) @ np.ones((50_000, 3))
    with one_blas_thread(), peak_anonymous() as peak:
        if share is not None:
            limit = _status_bytes("VmData") + BASE + int(share * n_bytes)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        start = time.perf_counter()
        try:
            Y = data.Y
            if not mapped:
                X, Y = X.copy(), np.array(Y)
            conditionals = BinaryRelevance(C=C).fit(X, Y).conditionals_
        except MemoryError:
            return Fit(time.perf_counter() - start, peak[0], None)
        seconds = time.perf_counter() - start
    found = conditionals.weights.tobytes() + conditionals.intercept.tobytes()
    return Fit(seconds, peak[0], hashlib.sha256(found).hexdigest())


def size_of(X: Any) -> int:
    return sum(part.nbytes for part in (X.data, X.indices, X.indptr))


@contextmanager
def peak_anonymous() -> Iterator[list[int]]:
    """Yield a list whose only number becomes the growth of anonymous memory at its peak."""
    before, peak, done = _status_bytes("RssAnon"), [0], threading.Event()

    def look() -> None:
        while not done.wait(LOOK):
            peak[0] = max(peak[0], _status_bytes("RssAnon") - before)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def in_fresh_process(call: Any, *arguments: Any) -> Any:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as pool:
        return pool.submit(call, *arguments).result()


def table(n: int, C: float | str, folder: Path, limited: bool) -> list[list[str]]:
    """Return the rows of the table for n rows of data."""
    runs = {"in memory": (False, C, None), "mapped": (True, C, None)}
    if limited:
        runs["mapped, limit X/10"] = (True, C, 1 / GROWTH)
        runs["in memory, limit X/10"] = (False, C, 1 / GROWTH)
    n_bytes = size_of(read_mapped(folder).X)
    rows, expected = [], None
    for name, settings in runs.items():
        result = in_fresh_process(fit, folder, *settings)
        expected = expected or result.digest
        same = {None: "out of memory", expected: "same bits"}.get(result.digest, "DIFFERENT")
        used = f"{show_megabytes(result.anonymous)} ({result.anonymous / n_bytes:.2f} X)"
        seconds = show_seconds(result.seconds) if result.digest else "–"
        rows.append([f"{n:,}", str(C), show_megabytes(n_bytes), name, used, seconds, same])
        print(*rows[-1], sep=" | ", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mapped", description=__doc__)
    parser.add_argument("--rows", type=int, default=5000, help="rows of the smaller data set")
    parser.add_argument("--folder", help="where to put the data; by default a temporary folder")
    arguments = parser.parse_args()
    rows = [["rows", "C", "X", "", "peak anonymous memory", "time", "weights"]]
    for n in (arguments.rows, GROWTH * arguments.rows):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            in_fresh_process(make, n, Path(folder))
            for C in (1.0, "cv"):
                rows += table(n, C, Path(folder), limited=n > arguments.rows)
    print(markdown(rows))
    keep("mapped", {"fits": rows})


if __name__ == "__main__":
    main()
