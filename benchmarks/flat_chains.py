"""What the relaxation adds to the search for modes: `python -m benchmarks.flat_chains`.

`Auto` with and without it, on chains fitted to nine tenths of a set and random ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import machine, one_blas_thread
from benchmarks.search import load_problem, synthetic
from benchmarks.table import README, markdown, write_level
from labelweave import ClassifierChain, load
from labelweave.inference import Auto
from labelweave.joint import ChainJoint, Mode

SETS = ("cal500", "enron", "corel5k")
LABELS = (32, 64, 128, 256)
MOST_ROWS, FEW_ROWS = 100, 10
BUDGET = 100_000
BEGIN = "<!-- written by python -m benchmarks.flat_chains: begin -->"
END = "<!-- written by python -m benchmarks.flat_chains: end -->"


class SearchedOnly(ChainJoint):
    """A chain whose mode is what searches over prefixes find."""

    def tighten(self, found: Mode, budget: int) -> Mode:
        """Return what was found."""
        return found


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


def searched(kind: type[ChainJoint], joint: ChainJoint) -> tuple[Mode, float]:
    """Return the mode and the CPU time it took for each row."""
    chain = kind(joint.scores[:MOST_ROWS], joint.coupling, joint.order)
    begin = time.process_time()
    mode = Auto(BUDGET)(chain)
    return mode, (time.process_time() - begin) / chain.n_rows


def compared(name: str, joint: ChainJoint) -> list[str]:
    """Return a line of the table: before and after."""
    row = [name, str(joint.n_labels)]
    before, after = (searched(kind, joint) for kind in (SearchedOnly, ChainJoint))
    row.append(str(len(before[0].labels)))
    row += [f"{mode.optimal.mean():.0%}" for mode, _ in (before, after)]
    row += [f"{mode.gap.mean():.2f}" for mode, _ in (before, after)]
    row += [f"{mode.gap.max():.2f}" for mode, _ in (before, after)]
    return row + [f"{seconds * 1e3:.3g} ms" for _, seconds in (before, after)]


def proven(joint: ChainJoint) -> str:
    """Return a sentence on what a large budget proves of a few rows."""
    begin = time.process_time()
    mode = Auto(budget=10_000_000)(joint[:FEW_ROWS])
    seconds = (time.process_time() - begin) / FEW_ROWS
    return (
        f"`Auto(budget=10_000_000)` on the first {FEW_ROWS} rows of cal500, penalties chosen: "
        f"{mode.optimal.mean():.0%} proven, {seconds:.2g} s of CPU time per row.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat_chains", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    arguments = parser.parse_args()
    use_published_data()
    rows = [["chain", "labels", "rows"]]
    for what in ("proven", "mean gap", "largest gap", "CPU time per row"):
        rows[0] += [f"{what}: before", "after"]
    proofs = []
    with one_blas_thread():
        for name, joint in chains(list(arguments.sets)):
            rows.append(compared(name, joint))
            print(rows[-1], flush=True)
            if name == "cal500, penalties chosen":
                proofs.append(proven(joint))
    if set(arguments.sets) >= set(SETS):
        write_level(README, BEGIN, END, [f"Measured on {machine()}.", markdown(rows), *proofs])
    else:
        print(
            markdown(rows),
            *proofs,
            "README.md is left as it is: it holds a run of all sets.",
            sep="\n",
        )


if __name__ == "__main__":
    main()
