"""The decision for F1 against NumPy and dacaf-mlc: `python -m benchmarks.f_measure`.

Every contestant decides from the same log-odds or chain, on one thread, and must choose the same
labels as ours but for vectors that are equally good. The tables are kept; dacaf-mlc takes part
if ``--dacaf`` names the Python of an environment that has it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.f_measure_peers import (
    Floats,
    Labels,
    enumerated,
    general,
    recursion,
    run_dacaf,
)
from benchmarks.measure import one_blas_thread
from benchmarks.tables import Rows, keep, markdown, show_seconds
from labelweave import ClassifierChain, TreeNetwork, load
from labelweave._core import native
from labelweave.decision import FLoss
from labelweave.joint import ChainJoint, IndependentJoint, JointDistribution

N_ROWS, N_LABELS = 10_000, 100
# The general way takes NumPy minutes for all rows: what it takes for some of them is scaled up.
GENERAL_ROWS = 500

Runner = Callable[[], Any]


def race(runners: Mapping[str, Runner], rounds: int) -> dict[str, tuple[float, Any]]:
    """Return the median of the CPU seconds and the result of each, all run in turn."""
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    results = {}
    for _ in range(rounds):
        for name, run in runners.items():
            start = time.process_time()
            results[name] = run()
            seconds[name].append(time.process_time() - start)
    return {name: (statistics.median(seconds[name]), results[name]) for name in runners}


def check_same(joint: JointDistribution, ours: Labels, theirs: Labels) -> None:
    """Refuse figures of a contestant that found anything worse, or better."""
    loss = FLoss()
    np.testing.assert_allclose(loss.risk(joint, ours), loss.risk(joint, theirs), atol=1e-9)


def independent_rows(rounds: int) -> list[list[str]]:
    """Return the table of independent labels: likely few, and many."""
    rows = [["10,000 × 100", "labels predicted", "ours", "NumPy, O(L²)", "NumPy, general"]]
    for name, mean, spread in (("few likely", -5.0, 2.0), ("flat", -1.0, 0.5)):
        scores = np.random.default_rng(0).normal(mean, spread, size=(N_ROWS, N_LABELS))
        joint = IndependentJoint(scores)
        runners = {
            "ours": lambda j=joint: FLoss()(j),
            "recursion": lambda z=scores: recursion(z),
            "general": lambda z=scores: general(z[:GENERAL_ROWS]),
        }
        found = race(runners, rounds)
        (ours, labels), (fast, others) = found["ours"], found["recursion"]
        slow, by_formula = found["general"]
        slow *= N_ROWS / GENERAL_ROWS
        check_same(joint, labels, others)
        check_same(joint[:GENERAL_ROWS], labels[:GENERAL_ROWS], by_formula)
        cells = [name, f"{labels.sum(axis=1).mean():.1f}", show_seconds(ours)]
        cells += [f"{show_seconds(t)} (**{t / ours:.0f}×**)" for t in (fast, slow)]
        rows.append(cells)
        print(*cells, flush=True)
    return rows


def yeast() -> tuple[Floats, Labels, Floats]:
    """Return nine tenths of the rows with their labels, and the features of the others."""
    data = load("yeast")
    X, Y = np.asarray(data.X), np.asarray(data.Y, dtype=np.int8)
    shuffled = np.random.default_rng(0).permutation(len(X))
    test, train = np.split(shuffled, [len(X) // 10])
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), Y[train], scaler.transform(X[test])


def dependent_rows(rounds: int) -> list[list[str]]:
    """Return the table of the tree and the chain of yeast."""
    X, Y, X_test = yeast()
    rows = [[f"yeast, {len(X_test)} × 14", "ours", "NumPy, all 2¹⁴ vectors"]]
    models = {
        "tree": TreeNetwork(C=0.1, random_state=0),
        "chain": ClassifierChain(C=0.1, label_penalty=0.1),
    }
    for name, model in models.items():
        joint: Any = model.fit(X, Y).predict_joint(X_test)
        runners = {"ours": lambda j=joint: FLoss()(j), "all": lambda j=joint: enumerated(j)}
        found = race(runners, rounds)
        (ours, labels), (theirs, others) = found["ours"], found["all"]
        check_same(joint, labels, others)
        rows.append(
            [name, show_seconds(ours), f"{show_seconds(theirs)} (**{theirs / ours:.0f}×**)"]
        )
        print(*rows[-1], flush=True)
    return rows


def against_dacaf(python: Path, rounds: int) -> Rows:
    """Return the table against dacaf-mlc: the whole prediction by its chain, and the decoder."""
    X, Y, X_test = yeast()
    peer = run_dacaf(python, X, Y, X_test, rounds)
    loss, none = FLoss(), np.column_stack([peer.none, _sizes(peer.by_label)])
    out = np.empty((len(X_test), Y.shape[1]), dtype=np.int8)

    def whole() -> Labels:
        return loss(ChainJoint(X_test @ peer.weights.T + peer.intercept, peer.coupling))

    def decode() -> Labels:
        native.best_f_measure(peer.by_label, none, 1.0, out, 1)
        return out

    joint = ChainJoint(X_test @ peer.weights.T + peer.intercept, peer.coupling)
    rows = [[f"its chain of yeast, {len(X_test)} × 14", "ours", "dacaf-mlc"]]
    for name, run, seconds in (
        ("from features to labels", whole, peer.whole),
        ("decoder alone", decode, peer.decoder),
    ):
        ours, labels = race({"ours": run}, rounds)["ours"]
        check_same(joint, labels, peer.labels.astype(np.int8))
        theirs = float(np.median(seconds))
        rows.append(
            [name, show_seconds(ours), f"{show_seconds(theirs)} (**{theirs / ours:.0f}×**)"]
        )
        print(*rows[-1], flush=True)
    return rows


def _sizes(by_label: Floats) -> Floats:
    """Return P(|y| = s) for s = 1 … L."""
    return np.asarray(by_label[:, :, 1:].sum(axis=1) / np.arange(1, by_label.shape[1] + 1))


def main() -> None:
    """Measure and keep the tables of this SIMD level."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dacaf", type=Path, help="Python of an environment that has dacaf-mlc")
    arguments = parser.parse_args()
    with one_blas_thread():
        tables = {
            "independent": independent_rows(arguments.rounds),
            "yeast": dependent_rows(arguments.rounds),
        }
        if arguments.dacaf is not None:
            tables["dacaf"] = against_dacaf(arguments.dacaf, arguments.rounds)
    print(*map(markdown, tables.values()), sep="\n")
    keep("f_measure", tables)


if __name__ == "__main__":
    main()
