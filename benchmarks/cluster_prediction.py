"""Prediction on a dask cluster: time, peak memory, and thresholds equal to those of one machine.

`python -m benchmarks.cluster_prediction` predicts 10⁵ and 10⁶ rows of 100 labels on two worker
processes of this machine, and keeps the table; with arguments, such as `1000000 cmn`,
it prints a part of it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

from benchmarks.measure import _status_bytes, one_blas_thread
from benchmarks.tables import keep, markdown, show_megabytes, show_seconds
from labelweave import BinaryRelevance
from labelweave.distributed import connect, predict
from labelweave.distributed.prediction import thresholds

N_LABELS = 100
N_FEATURES = 50
CHUNK = 10_000
SIZES = (10**5, 10**6)
DECISIONS = ("fixed", "cmn", "sample")
# Rows that the model is fitted to.
TRAINING = 2000


def make_rows(first: int, size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the same rows for the same place, without reading a file."""
    return np.random.default_rng(first).normal(size=(size, N_FEATURES))


def _block(block_info: Any = None) -> Any:
    (begin, end), _ = block_info[None]["array-location"]
    return make_rows(begin, end - begin)


def lazy_rows(n: int) -> da.Array:
    chunks = ((CHUNK,) * (n // CHUNK), (N_FEATURES,))
    return da.map_blocks(_block, chunks=chunks, dtype=float, meta=np.empty((0, N_FEATURES)))


def fit(decision: str) -> BinaryRelevance:
    """Fit labels that between 0.5 % and 50 % of the rows have."""
    rng = np.random.default_rng(1)
    X = make_rows(-1 % 2**32, TRAINING)
    scores = X @ rng.normal(size=(N_FEATURES, N_LABELS)) / 4 + rng.logistic(
        size=(TRAINING, N_LABELS)
    )
    shares = np.geomspace(0.005, 0.5, N_LABELS)
    Y = scores > [np.quantile(s, 1 - share) for s, share in zip(scores.T, shares, strict=True)]
    return BinaryRelevance(C=0.1, decision=decision).fit(X, Y.astype(np.int8))


def local_thresholds(model: BinaryRelevance, n: int) -> Any:
    """Return the thresholds of all probabilities at once, in this process."""
    rows = (make_rows(first, CHUNK) for first in range(0, n, CHUNK))
    rule = model.threshold_rule()
    assert rule is not None
    return rule.thresholds(np.concatenate([model.predict_proba(part) for part in rows]))


def peak() -> int:
    return _status_bytes("VmHWM")


def memory() -> int:
    return _status_bytes("VmRSS")


def measure(n: int, decision: str) -> list[str]:
    """Predict n rows; return a row of the table."""
    model, X = fit(decision), lazy_rows(n)
    with connect("local:2") as engine:
        client = engine.client
        with dask.config.set(scheduler=client):
            Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew from now
            before = memory(), max(client.run(memory).values())
            start = time.perf_counter()
            counts = predict(model, X).sum(axis=0).compute()
            seconds = time.perf_counter() - start
            peaks = peak(), max(client.run(peak).values())
            found = thresholds(model, X).compute() if decision == "cmn" else None
    equal = "–"
    if found is not None:
        equal = "yes" if (found == local_thresholds(model, n)).all() else "NO"
    print(f"{n} rows, {decision}: {counts.sum()} labels", flush=True)
    growth = [show_megabytes(after - start) for after, start in zip(peaks, before, strict=True)]
    absolute = [show_megabytes(value) for value in peaks]
    return [
        f"{n:,}",
        decision,
        show_seconds(seconds),
        f"{n / seconds:,.0f}",
        f"{absolute[1]} (+{growth[1]})",
        f"{absolute[0]} (+{growth[0]})",
        equal,
    ]


def main() -> None:
    sizes = [int(sys.argv[1])] if len(sys.argv) > 1 else SIZES
    decisions = sys.argv[2:] or DECISIONS
    head = ["rows", "decision", "time", "rows per second"]
    head += ["peak of a worker (growth)", "peak of the client (growth)", "thresholds as locally"]
    with one_blas_thread():
        rows = [measure(n, decision) for decision in decisions for n in sizes]
    print(markdown([head, *rows]))
    if len(sys.argv) == 1:
        keep("cluster_prediction", {"prediction": [head, *rows]})


if __name__ == "__main__":
    main()
