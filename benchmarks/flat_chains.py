"""Modes of chains whose labels are close to undecided: `python -m benchmarks.flat_chains`.

`Auto` searches chains fitted to nine tenths of a set, and random ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import one_blas_thread
from benchmarks.search import load_problem, synthetic
from benchmarks.tables import Rows, keep, markdown
from labelweave import ClassifierChain, load
from labelweave.inference import Auto
from labelweave.joint import ChainJoint, Mode

SETS = ("cal500", "enron", "corel5k")
LABELS = (32, 64, 128, 256)
MOST_ROWS, FEW_ROWS = 100, 10
BUDGET, LARGE_BUDGET = 100_000, 10_000_000


def chosen_penalties(name: str) -> ChainJoint:
    """Fit a chain to nine tenths of a dense set, its penalties chosen by cross-validation."""
    data = load(name)
    Y = np.asarray(data.Y, dtype=np.int8)
    train, test = np.split(np.random.default_rng(0).permutation(len(Y)), [int(0.9 * len(Y))])
    X = StandardScaler().fit(data.X[train]).transform(data.X)
    return ClassifierChain(random_state=0).fit(X[train], Y[train]).predict_joint(X[test])


def chains(sets: list[str]) -> Iterator[tuple[str, ChainJoint]]:
    """Yield all chains by name."""
    for name in sets:
        yield f"{name}, C = 0.1", load_problem(name).joint
        if name == "cal500":
            yield f"{name}, penalties chosen", chosen_penalties(name)
    for n_labels in LABELS:
        yield "random, flat", synthetic("flat", 64 if n_labels <= 64 else 16, n_labels)
    rng = np.random.default_rng(0)
    coupling = np.tril(rng.normal(size=(100, 100)), -1)
    yield "random, weak", ChainJoint(0.1 * rng.normal(size=(16, 100)), 0.1 * coupling)


def searched(joint: ChainJoint, budget: int) -> tuple[Mode, float]:
    """Return the mode, and the CPU time of a row."""
    begin = time.process_time()
    mode = Auto(budget)(joint)
    return mode, (time.process_time() - begin) / joint.n_rows


def line(name: str, joint: ChainJoint) -> list[str]:
    part = joint[:MOST_ROWS]
    mode, seconds = searched(part, BUDGET)
    row = [name, str(part.n_labels), str(part.n_rows), f"{mode.optimal.mean():.0%}"]
    return [*row, f"{mode.gap.mean():.2f}", f"{mode.gap.max():.2f}", f"{seconds * 1e3:.3g} ms"]


def proven(name: str, joint: ChainJoint) -> Rows:
    """Return the table of a few rows that are searched with a large budget."""
    mode, seconds = searched(joint[:FEW_ROWS], LARGE_BUDGET)
    head = ["chain", "rows", "proven", "CPU time per row"]
    return [head, [name, str(FEW_ROWS), f"{mode.optimal.mean():.0%}", f"{seconds:.2g} s"]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat_chains", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    arguments = parser.parse_args()
    use_published_data()
    head = ["chain", "labels", "rows", "proven", "mean gap", "largest gap", "CPU time per row"]
    tables = {"modes": [head]}
    with one_blas_thread():
        for name, joint in chains(list(arguments.sets)):
            tables["modes"].append(line(name, joint))
            print(tables["modes"][-1], flush=True)
            if name == "cal500, penalties chosen":
                tables["large budget"] = proven(name, joint)
    print(*map(markdown, tables.values()), sep="\n")
    if set(arguments.sets) >= set(SETS):
        keep("flat_chains", tables)


if __name__ == "__main__":
    main()
