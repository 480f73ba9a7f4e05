"""Streams in partitions on worker processes: bits, quality, rows per second.

``python -m benchmarks.cluster_streams`` splits 80 % of the rcv1 union into sixteen files, learns
them on one, two and four workers (one of them killed on the way in a run of its own), and writes
the tables of benchmarks/README.md. F1 is that of the other 20 % under the rule "cmn".
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.measure import machine
from benchmarks.online_stream import learn, write_text
from benchmarks.table import README, markdown, write_level
from labelweave.datasets import load
from labelweave.distributed import DaskEngine, PartitionedLearner, connect
from labelweave.online import BayesianOnlineClassifier, OnlineSettings, OnlineState

BEGIN = "<!-- written by python -m benchmarks.cluster_streams: begin -->"
END = "<!-- end of cluster_streams -->"
N_PARTITIONS = 16
REPEATS = 3


def partitioned(paths: list[Path], engine: DaskEngine, rounds: int, kill: bool = False) -> Any:
    """Learn the partitions, and kill a worker after the first of them is there, if so told."""
    learner = PartitionedLearner(paths, OnlineSettings(), engine, rounds=rounds)
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
    """Measure and show; ``--write`` also puts the tables into README.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
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
        parts = [f"Measured on {machine()}.", *tables(whole, paths, test, n_train)]
    print(*parts, sep="\n\n")
    if arguments.write:
        write_level(README, BEGIN, END, parts)


def tables(whole: Path, paths: list[Path], test: Any, n_rows: int) -> list[str]:
    """Return the table of speeds and that of quality."""
    local = min(_seconds(lambda: learn(whole, False, 1, True)) for _ in range(REPEATS))
    rows = [["", "seconds", "rows per second and worker", "of the local learner's", "same bits"]]
    rows.append(["one pass, local", f"{local:.2f}", f"{n_rows / local:,.0f}", "", ""])
    qualities = [["", "macro F1", "micro F1", "log-loss per row"]]
    qualities.append(["one pass", *quality(learn(whole, False, 1, True).state, *test)])
    first: OnlineState | None = None
    for n_workers in (1, 2, 4):
        with connect(f"local:{n_workers}") as engine:
            partitioned(paths, engine, 1)  # workers have imported everything
            runs = [partitioned(paths, engine, 1) for _ in range(REPEATS)]
            learner, seconds = min(runs, key=lambda run: run[1])
            first = first or learner.state
            rows.append(
                _row(f"workers: {n_workers}", n_rows, seconds, n_workers, local, learner, first)
            )
            if n_workers == 2:
                qualities.append(["sixteen partitions, one round", *quality(learner.state, *test)])
                for rounds in (2, 3):
                    again = partitioned(paths, engine, rounds)[0]
                    name = f"sixteen partitions, {rounds} rounds"
                    qualities.append([name, *quality(again.state, *test)])
                killed, seconds = partitioned(paths, engine, 1, kill=True)
                name = "workers: 2, one killed"
                rows.append(_row(name, n_rows, seconds, 2, local, killed, first))
    return [markdown(rows), markdown(qualities)]


def _row(
    name: str,
    n_rows: int,
    seconds: float,
    n_workers: int,
    local: float,
    learner: PartitionedLearner,
    first: OnlineState,
) -> list[str]:
    """Return a line of the table; there are no more cores than workers that can work at a time."""
    cores = min(n_workers, len(os.sched_getaffinity(0)))
    rate = n_rows / seconds / cores
    share = f"{rate * local / n_rows:.0%}"
    return [name, f"{seconds:.2f}", f"{rate:,.0f}", share, str(same_bits(learner.state, first))]


def _seconds(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
