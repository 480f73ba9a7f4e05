"""Speed of the online learner: `python -m benchmarks.online`.

One run, interleaved: documents a second on rcv1 (80 %, one pass) against Vowpal Wabbit and
scikit-learn, the time of merely reading and writing the same weights, growth with rows and labels,
imdb from the file to the predictions, learning from a stream of text, peak memory. The tables are
kept.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.data import use_published_data
from benchmarks.measure import Timing, one_blas_thread, peak_memory, timed
from benchmarks.online_stream import streaming
from benchmarks.tables import Rows, keep, markdown, show_megabytes, show_seconds
from labelweave import BayesianOnlineClassifier, load
from labelweave._common.arrays import Labels
from labelweave.models.online.classifier import _BATCH
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState

ROUNDS = 5
# Times that a learner goes through the rows in one run: threads need some time to get going.
PASSES = 5
# scikit-learn's partial_fit is so slow that a part of the rows must do.
PARTIAL_ROWS, PARTIAL_BATCH = 500, 50


@dataclass(frozen=True)
class Stream:
    """Rows in the order they are learned from."""

    X: Any
    Y: Labels


@dataclass(frozen=True)
class Contestant:
    """What is timed: ``run(prepare())``, the preparation not counted, over so many rows."""

    name: str
    prepare: Callable[[], Any]
    run: Callable[[Any], Any]
    n_rows: int


def news() -> Stream:
    data = load("rcv1")
    rows = np.random.default_rng(0).permutation(data.X.shape[0])[: data.X.shape[0] * 4 // 5]
    return Stream(data.X.tocsr()[rows], np.ascontiguousarray(np.asarray(data.Y)[rows], np.int8))


def fresh(stream: Stream, coupled: bool = True) -> OnlineState:
    settings = ProbitModel.of(coupled=coupled)
    return OnlineState(stream.X.shape[1], stream.Y.shape[1], model=settings)


def ours(stream: Stream) -> list[Contestant]:
    n, long = len(stream.Y), PASSES * len(stream.Y)

    def update(threads: int) -> Callable[[OnlineState], None]:
        return lambda state: learn(state, stream, threads)

    def touch(state: OnlineState) -> None:
        X = stream.X
        for _ in range(PASSES):
            state._bound().touch(
                X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float64)
            )

    def fit(_: Any) -> BayesianOnlineClassifier:
        return BayesianOnlineClassifier(n_jobs=1).fit(stream.X, stream.Y)

    return [
        Contestant("coupled, 1 thread", lambda: fresh(stream), update(1), long),
        Contestant("coupled, 2 threads", lambda: fresh(stream), update(2), long),
        Contestant("independent, 1 thread", lambda: fresh(stream, False), update(1), long),
        Contestant("independent, 2 threads", lambda: fresh(stream, False), update(2), long),
        Contestant("`fit`, checks and shuffling included", lambda: None, fit, n),
        Contestant("only reading and writing the same weights", lambda: fresh(stream), touch, long),
    ]


def learn(state: OnlineState, stream: Stream, threads: int) -> None:
    """Learn from all rows, several times."""
    for _ in range(PASSES):
        state.update(stream.X, stream.Y, threads)


def scikit_learn(stream: Stream) -> list[Contestant]:
    """Passive-aggressive, one classifier per label, one pass."""

    def make() -> list[SGDClassifier]:
        options = {"loss": "hinge", "penalty": None, "learning_rate": "pa1", "eta0": 1.0}
        once = {"max_iter": 1, "tol": None, "shuffle": False, "random_state": 0}
        return [SGDClassifier(**options, **once) for _ in stream.Y.T]

    def whole(models: list[SGDClassifier]) -> None:
        for model, y in zip(models, stream.Y.T, strict=True):
            model.fit(stream.X, y)

    def batches(models: list[SGDClassifier]) -> None:
        for first in range(0, PARTIAL_ROWS, PARTIAL_BATCH):
            rows = slice(first, first + PARTIAL_BATCH)
            X = stream.X[rows]
            for model, y in zip(models, stream.Y[rows].T, strict=True):
                model.partial_fit(X, y, classes=[0, 1])

    return [
        Contestant("scikit-learn, passive-aggressive, `fit`", make, whole, len(stream.Y)),
        Contestant(
            f"scikit-learn, `partial_fit` of {PARTIAL_BATCH} rows", make, batches, PARTIAL_ROWS
        ),
    ]


def vowpal_wabbit(stream: Stream, folder: Path) -> list[Contestant]:
    """Its `multilabel_oaa`, reading its own binary cache; empty where it is not installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return []
    text, cache = folder / "news.vw", folder / "news.cache"
    with text.open("w") as file:
        for row, labels in zip(stream.X, stream.Y, strict=True):
            entries = zip(row.indices, row.data, strict=True)
            named = ",".join(map(str, np.flatnonzero(labels)))
            file.write(f"{named} | {' '.join(f'{i}:{v:.6g}' for i, v in entries)}\n")
    learn = (
        f"--multilabel_oaa {stream.Y.shape[1]} --quiet --noconstant -d {text} --cache_file {cache}"
    )

    def run(bits: int) -> Callable[[Any], None]:
        def learn_all(_: Any) -> None:
            model = Workspace(f"{learn} -b {bits}")  # learns from all rows when made
            if model.get_weighted_examples() != len(stream.Y):
                raise AssertionError("Vowpal Wabbit did not see every row once")
            model.finish()

        return learn_all

    run(18)(None)  # writes the cache

    return [
        Contestant(f"Vowpal Wabbit, 2^{bits} weights", lambda: None, run(bits), len(stream.Y))
        for bits in (18, 23)
    ]


def race(contestants: list[Contestant]) -> dict[str, Timing]:
    timings = {c.name: Timing() for c in contestants}
    for _ in range(ROUNDS):
        for c in contestants:
            prepared = c.prepare()
            seconds, _ = timed(lambda c=c, prepared=prepared: c.run(prepared))
            timings[c.name].seconds.append(seconds)
    return timings


def speed_table(contestants: list[Contestant], timings: dict[str, Timing]) -> Rows:
    def row_time(contestant: Contestant) -> float:
        return timings[contestant.name].median / contestant.n_rows

    base = row_time(contestants[0])
    rows = [["learner", "rows per second", "per row", "time relative to ours (coupled, 1 thread)"]]
    for c in contestants:
        each = row_time(c)
        rows.append([c.name, f"{1 / each:,.0f}", f"{1e6 * each:.1f} µs", f"**{each / base:.2f}×**"])
    return rows


def growth(stream: Stream) -> Rows:
    """Return the table of how time grows with rows and with labels, and what threads make of it."""

    def row(name: str, size: int, part: Stream) -> list[str]:
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(ROUNDS):
            for threads in seconds:
                run = partial(learn, fresh(part), part, threads)
                seconds[threads].append(timed(run)[0] / PASSES)
        one, two = (float(np.median(times)) for times in seconds.values())
        each = f"{1e6 * one / len(part.Y):.1f} µs", f"{1e6 * two / len(part.Y):.1f} µs"
        return [name, f"{size:,}", show_seconds(one), *each, f"**{one / two:.2f}×**"]

    rows = [["growing", "size", "time", "per row", "with 2 threads", "faster by"]]
    rows += [row("rows", n, Stream(stream.X[:n], stream.Y[:n])) for n in (2500, 5000, 10000, 20000)]
    wide = np.tile(stream.Y[:5000], 10)
    rows += [
        row("labels", L, Stream(stream.X[:5000], np.ascontiguousarray(wide[:, :L])))
        for L in (25, 50, 101, 202, 404, 1010)
    ]
    return rows


def films() -> Rows:
    """Return what imdb takes from the file to the predictions."""
    start = time.perf_counter()
    data = load("imdb")
    read = time.perf_counter()
    X, Y = data.X.tocsr(), np.asarray(data.Y)
    rows = np.random.default_rng(0).permutation(len(Y))
    test, train = np.split(rows, [len(rows) // 5])
    begin = time.perf_counter()
    model = BayesianOnlineClassifier(n_jobs=1).fit(X[train], Y[train])
    fitted = time.perf_counter()
    model.predict(X[test])
    end = time.perf_counter()
    return [
        [f"imdb, {len(Y):,} rows, one thread", "time"],
        ["read the file", show_seconds(read - start)],
        [f"learn from {len(train):,} rows", show_seconds(fitted - begin)],
        [f"predict {len(test):,} rows", show_seconds(end - fitted)],
    ]


def _fit(X: Any, Y: Labels) -> BayesianOnlineClassifier:
    return BayesianOnlineClassifier(n_jobs=1).fit(X, Y)


def memory(stream: Stream) -> Rows:
    used = peak_memory(_fit, stream.X, stream.Y)
    model, batch = fresh(stream).nbytes, 12 * stream.X[:_BATCH].nnz + _BATCH * stream.Y.shape[1]
    n_features, n_labels = stream.X.shape[1], stream.Y.shape[1]
    return [
        ["rcv1", "memory"],
        ["peak of `fit` beyond its data", show_megabytes(used)],
        [f"mean and variance of {n_features:,} × {n_labels} weights", show_megabytes(model)],
        [f"a batch of {_BATCH:,} rows", show_megabytes(batch)],
        ["order of the rows", show_megabytes(8 * len(stream.Y))],
    ]


def main() -> None:
    use_published_data()
    with one_blas_thread(), tempfile.TemporaryDirectory() as folder:
        stream = news()
        peers = vowpal_wabbit(stream, Path(folder))
        contestants = [*ours(stream), *peers, *scikit_learn(stream)]
        timings = race(contestants)
        if not peers:
            print("Vowpal Wabbit is not installed (`pip install vowpalwabbit`).")
        tables = {
            "speed": speed_table(contestants, timings),
            "growth": growth(stream),
            "imdb": films(),
            "memory": memory(stream),
            "streams": streaming(stream.X, stream.Y),
        }
    print(*map(markdown, tables.values()), sep="\n")
    if peers:
        keep("online", tables)


if __name__ == "__main__":
    main()
