"""Streams in partitions on worker processes: bits, quality, rows per second.

``python -m benchmarks.cluster_streams`` splits 80 % of the rcv1 union into sixteen files, learns
them on one, two and four workers (one of them killed on the way in a run of its own), and writes
and keeps the tables. F1 is that of the other 20 % under the rule "cmn". A file of
that size is a tenth of a second of work: speed is also measured on files with every row ten times.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.online_stream import learn, write_text
from benchmarks.tables import Rows, keep, markdown
from labelweave import BayesianOnlineClassifier, load
from labelweave.distributed import connect
from labelweave.distributed.cluster import DaskEngine
from labelweave.distributed.partitioned import PartitionedLearner
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState

N_PARTITIONS = 16
TIMES = 10
REPEATS = 3


class Files(NamedTuple):
    """A training set as one text file, in partitions, and in partitions with every row often."""

    whole: Path
    paths: list[Path]
    long_paths: list[Path]
    n_rows: int


def longer(path: Path) -> Path:
    """Write a file with every row of a file ten times."""
    sizes, rows = path.read_text().split("\n", 1)
    n_rows, n_features, n_labels = sizes.split()
    long_path = path.with_suffix(".long.txt")
    long_path.write_text(f"{int(n_rows) * TIMES} {n_features} {n_labels}\n" + rows * TIMES)
    return long_path


def partitioned(paths: list[Path], engine: DaskEngine, rounds: int, kill: bool = False) -> Any:
    """Learn the partitions, and kill a worker after the first of them is there, if so told."""
    learner = PartitionedLearner(paths, ProbitModel(), engine, rounds=rounds)
    victims = list(engine.client.run(os.getpid).values()) if kill else []

    def progress(_: PartitionedLearner) -> None:
        while victims:
            os.kill(victims.pop(), signal.SIGKILL)
            victims.clear()

    start = time.perf_counter()
    learner.run(progress)
    return learner, time.perf_counter() - start


def same_bits(one: OnlineState, other: OnlineState) -> bool:
    """Whether two posteriors are equal to the last bit."""
    left, right = one.to_arrays()[0], other.to_arrays()[0]
    return all(np.array_equal(left[name], right[name]) for name in left)


def quality(state: OnlineState, X: Any, Y: Any) -> list[str]:
    """Return macro F1, micro F1 and log-loss per row."""
    model = BayesianOnlineClassifier().adopt(state)
    predicted, p = model.predict(X), model.predict_proba(X).clip(1e-12, 1 - 1e-12)
    loss = -np.where(Y == 1, np.log(p), np.log1p(-p)).sum(axis=1).mean()
    scores = [f1_score(Y, predicted, average=a, zero_division=0) for a in ("macro", "micro")]
    return [f"{scores[0]:.3f}", f"{scores[1]:.3f}", f"{loss:.2f}"]


def main() -> None:
    """Measure and show; ``--write`` also keeps the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep the tables")
    arguments = parser.parse_args()
    data = load("rcv1")
    order = np.random.default_rng(0).permutation(data.X.shape[0])
    n_train = len(order) * 4 // 5
    X, Y = data.X.tocsr()[order], data.Y[order]
    test = X[n_train:], Y[n_train:]
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "all.txt")
        write_text(X[:n_train], Y[:n_train], whole, header=True)
        paths = []
        for k in range(N_PARTITIONS):
            rows = slice(k * n_train // N_PARTITIONS, (k + 1) * n_train // N_PARTITIONS)
            paths.append(Path(folder, f"part-{k:02d}.txt"))
            write_text(X[rows], Y[rows], paths[-1], header=True)
        files = Files(whole, paths, [longer(path) for path in paths], n_train)
        found = tables(files, test)
    print(*map(markdown, found.values()), sep="\n")
    if arguments.write:
        keep("cluster_streams", found)


def tables(files: Files, test: Any) -> dict[str, Rows]:
    """Return the table of speeds and that of quality."""
    speeds = Speeds(files)
    qualities = [["", "macro F1", "micro F1", "log-loss per row"]]
    qualities.append(["one pass", *quality(learn(files.whole, False, 1, True).state, *test)])
    for n_workers in (1, 2, 4):
        with connect(f"local:{n_workers}") as engine:
            state = speeds.add(engine, n_workers)
            if n_workers == 2:
                qualities.append(["sixteen partitions, one round", *quality(state, *test)])
                for rounds in (2, 3):
                    again = partitioned(files.paths, engine, rounds)[0]
                    name = f"sixteen partitions, {rounds} rounds"
                    qualities.append([name, *quality(again.state, *test)])
                killed, seconds = partitioned(files.paths, engine, 1, kill=True)
                speeds.line("2, one killed", seconds, killed.state)
    return {"speed": speeds.lines, "quality": qualities}


class Speeds:
    """The table of speeds: medians of runs in turn with passes of the local learner.

    No more workers than there are cores count, as no more can work.
    """

    def __init__(self, files: Files) -> None:
        self.files = files
        self.states: list[OnlineState] = []
        self.lines = [
            ["workers", "seconds", "local", "per worker, of the local learner's", "same bits"]
        ]

    def add(self, engine: DaskEngine, n_workers: int) -> OnlineState:
        """Measure, add two lines, and return what was learned."""
        partitioned(self.files.paths, engine, 1)  # workers have imported everything
        seconds, long_seconds, local = [], [], []
        for _ in range(REPEATS):
            learner, taken = partitioned(self.files.paths, engine, 1)
            seconds.append(taken)
            local.append(_seconds(lambda: learn(self.files.whole, False, 1, True)))
            long_seconds.append(partitioned(self.files.long_paths, engine, 1)[1] / TIMES)
            local.append(_seconds(lambda: learn(self.files.whole, False, 1, True)))
        for name, runs in (("", seconds), (", every row ten times", long_seconds)):
            share = median(local) / median(runs) / min(n_workers, len(os.sched_getaffinity(0)))
            state = None if name else learner.state
            self.line(
                f"{n_workers}{name}", median(runs), state, f"{median(local):.2f}", f"{share:.0%}"
            )
        return learner.state

    def line(
        self, name: str, seconds: float, state: OnlineState | None, local: str = "", share: str = ""
    ) -> None:
        """Add a line; all states are compared with the first."""
        self.states += [state] if state else []
        same = str(same_bits(state, self.states[0])) if state else ""
        self.lines.append([name, f"{seconds:.2f}", local, share, same])


def _seconds(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
