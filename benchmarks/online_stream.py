"""What learning from a file costs, row after row: a part of `python -m benchmarks.online`."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import peak_memory, timed
from benchmarks.tables import Rows, show_megabytes, show_seconds
from labelweave.data.row_text import RowStream
from labelweave.models.online import StreamLearner

ROUNDS = 5
BATCH_LINES = 1000
# Often enough for several of them in the run.
CHECKPOINT_EVERY = 5000


def write_text(X: Any, Y: Any, path: Path, header: bool) -> None:
    """Write XMC text, or svmlight text that says nothing about its size."""
    first = 0 if header else 1
    with path.open("w") as file:
        if header:
            file.write(f"{len(Y)} {X.shape[1]} {Y.shape[1]}\n")
        for row in range(len(Y)):
            entries = slice(X.indptr[row], X.indptr[row + 1])
            named = ",".join(map(str, np.flatnonzero(Y[row])))
            numbers = zip(X.indices[entries] + first, X.data[entries], strict=True)
            file.write(f"{named} {' '.join(f'{i}:{v:.9g}' for i, v in numbers)}\n")


def learn(path: Path, saved: bool, threads: int, score: bool) -> StreamLearner:
    """Learn from the file, with checkpoints if `saved`."""
    with tempfile.TemporaryDirectory() as folder, RowStream(path) as rows:
        learner = StreamLearner(
            rows,
            batch_lines=BATCH_LINES,
            checkpoint=Path(folder, "run.checkpoint") if saved else None,
            checkpoint_every=CHECKPOINT_EVERY,
            score=score,
            n_threads=threads,
        )
        learner.run()
    return learner


def only_read(path: Path) -> int:
    """Go through the file and learn nothing: what the text costs."""
    with RowStream(path) as rows:
        return sum(batch.X.shape[0] for batch in rows.batches(BATCH_LINES))


def streaming(X: Any, Y: Any) -> Rows:
    """Return the table of rows per second and peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        known, unknown = Path(folder, "known.txt"), Path(folder, "unknown.svm")
        write_text(X, Y, known, header=True)
        write_text(X, Y, unknown, header=False)
        runs: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("only reading the text", only_read, (known,)),
            ("1 thread", learn, (known, False, 1, False)),
            ("2 threads", learn, (known, False, 2, False)),
            ("1 thread, each batch predicted first", learn, (known, False, 1, True)),
            ("the same with checkpoints", learn, (known, True, 1, True)),
            ("the same, size not known in advance", learn, (unknown, True, 1, True)),
        ]
        seconds: dict[str, list[float]] = {name: [] for name, _, _ in runs}
        for _ in range(ROUNDS):
            for name, run, arguments in runs:
                seconds[name].append(timed(lambda r=run, a=arguments: r(*a))[0])
        rows = [["`StreamLearner`", "rows per second", "time", "peak memory"]]
        for name, run, arguments in runs:
            median = statistics.median(seconds[name])
            used = show_megabytes(peak_memory(run, *arguments))
            rows.append([name, f"{len(Y) / median:,.0f}", show_seconds(median), used])
    return rows
