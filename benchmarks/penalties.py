"""What the choice of penalties costs, as a multiple of one fit: `python -m benchmarks.penalties`.

CPU seconds of one core, for independent labels (``br``) and for a chain in the order of the file.
The table is kept when all sets were run.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import Runner, one_blas_thread
from benchmarks.tables import keep, markdown
from labelweave import BinaryRelevance, ClassifierChain, load

SETS = (
    *("emotions", "scene", "yeast", "enron"),
    *("slashdot", "tmc2007-500", "corel5k", "rcv1subset1"),
)
REPEATED_BELOW = 1.0  # CPU seconds; long runs are steady enough to need only one
ROUNDS = 5


def cpu_seconds(run: Runner) -> tuple[float, Any]:
    """Return the CPU seconds of a call, the median of several if it is short, and its result."""
    seconds: list[float] = []
    while len(seconds) < ROUNDS and (not seconds or seconds[0] < REPEATED_BELOW):
        start = time.process_time()
        result = run()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), result


def lines(name: str) -> list[list[str]]:
    """Return the rows of the table for nine tenths of a data set."""
    data = load(name)
    X, Y = data.X, np.asarray(data.Y, dtype=np.int8)
    train, test = train_test_split(np.arange(len(Y)), test_size=0.1, random_state=0)
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit(X[train]).transform(X)
    kinds = {"br": (BinaryRelevance, ["C"]), "chain": (ClassifierChain, ["C", "label_penalty"])}
    rows = []
    for kind, (model, penalties) in kinds.items():
        choosing, chosen = cpu_seconds(lambda m=model: m(n_jobs=1).fit(X[train], Y[train]))
        values = {penalty: getattr(chosen, f"{penalty}_") for penalty in penalties}
        fixed = model(n_jobs=1, **values)
        fitting, _ = cpu_seconds(lambda f=fixed: f.fit(X[train], Y[train]))
        loss = -chosen.predict_joint(X[test]).log_prob(Y[test]).mean()
        label_penalty = f"{values['label_penalty']:.2g}" if "label_penalty" in values else ""
        row = [f"{name}, {kind}", f"{fitting:.3f} s", f"{values['C']:.3g}", label_penalty]
        rows.append([*row, f"**{choosing / fitting:.1f}**", f"{loss:.3f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.penalties", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    arguments = parser.parse_args()
    use_published_data()
    rows = [["data set", "one fit", "C", "label penalty", "multiple", "test CLL-loss"]]
    with one_blas_thread():
        for name in arguments.sets:
            rows += lines(name)
            print(*rows[-2:], sep="\n", flush=True)
    print(markdown(rows))
    if set(arguments.sets) >= set(SETS):
        keep("penalties", {"choice": rows})


if __name__ == "__main__":
    main()
