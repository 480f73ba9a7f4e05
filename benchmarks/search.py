"""The search for the mode of a chain against plain Python: `python -m benchmarks.search`.

Chains are fitted to nine tenths of a data set (C = 0.1, label_penalty = 0.1) and searched for the
other tenth. The tables are kept when all sets were run.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import available
from benchmarks.measure import Timing, one_blas_thread, race, timed
from benchmarks.search_peers import PlainBestFirst, dacaf_seconds
from benchmarks.tables import Rows, keep, markdown, rounded
from labelweave import ClassifierChain, load
from labelweave.inference import Auto, Beam, BestFirst, Greedy, MeanField, MonteCarlo
from labelweave.inference.strategy import Inference
from labelweave.joint import ChainJoint

SETS = ("emotions", "scene", "yeast", "slashdot", "enron", "corel5k")
STRATEGIES: dict[str, Inference] = {
    "Greedy()": Greedy(),
    "MeanField()": MeanField(),
    "MonteCarlo(100)": MonteCarlo(100),
    "Beam(16)": Beam(16),
    "BestFirst(10_000)": BestFirst(10_000),
    "Auto()": Auto(),
}


@dataclass(frozen=True)
class Problem:
    """A fitted chain and the rows it is searched for."""

    name: str
    model: ClassifierChain
    joint: ChainJoint
    train: tuple[Any, Any]
    X_test: Any


def load_problem(name: str) -> Problem:
    """Fit a chain to nine tenths of a set; dense features are standardised."""
    data = load(name)
    X: Any = data.X
    Y = np.asarray(data.Y, dtype=np.int8)
    rows = np.random.default_rng(0).permutation(len(Y))
    train, test = np.split(rows, [int(0.9 * len(Y))])
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit(X[train]).transform(X)
    model = ClassifierChain(C=0.1, label_penalty=0.1).fit(X[train], Y[train])
    return Problem(name, model, model.predict_joint(X[test]), (X[train], Y[train]), X[test])


def with_threads(joint: ChainJoint, n_threads: int) -> ChainJoint:
    return ChainJoint(
        joint.conditionals.scores, joint.conditionals.coupling, joint.order, n_threads=n_threads
    )


def repeated(joint: ChainJoint, rows: int) -> ChainJoint:
    """Return the same rows over and over, so that starting threads does not count."""
    index = np.resize(np.arange(joint.n_rows), rows)
    return ChainJoint(joint.conditionals.scores[index], joint.conditionals.coupling, joint.order)


def searched(problem: Problem, rounds: int) -> list[str]:
    """Race the native search and the plain one, check that they agree, time two threads."""
    joint, strategy = problem.joint, BestFirst()
    plain = PlainBestFirst(joint)
    times = race(lambda: strategy(joint), {"plain": plain}, rounds)
    mode = times["ours"].result
    np.testing.assert_allclose(mode.log_prob, times["plain"].result, rtol=1e-9, atol=1e-9)
    many = repeated(joint, 4000 if joint.n_labels > 100 else 40_000)
    one, two = with_threads(many, 1), with_threads(many, 2)
    threads = race(lambda: strategy(two), {"one": lambda: strategy(one)}, 4 * rounds)
    differs = (mode.labels != Greedy()(joint).labels).any(axis=1).mean()
    ours, theirs = (times[k].median / joint.n_rows for k in ("ours", "plain"))
    return [
        problem.name,
        str(joint.n_labels),
        str(joint.n_rows),
        f"{mode.optimal.mean():.1%}",
        f"{differs:.1%}",
        f"{mode.nodes.mean():.0f} ({mode.nodes.max()})",
        _microseconds(ours),
        _microseconds(theirs),
        f"**{theirs / ours:.0f}×**",
        f"**{threads['one'].best / threads['ours'].best:.2f}×**",
    ]


def against_dacaf(problem: Problem, python: Path, rounds: int) -> Rows:
    """Return the table of dacaf-mlc, which enumerates: whole predictions, scores included."""
    theirs = Timing(dacaf_seconds(python, *problem.train, problem.X_test, rounds))
    n = problem.joint.n_rows
    predict = Timing([timed(lambda: problem.model.predict(problem.X_test))[0] for _ in range(9)])
    search = Timing([timed(lambda: BestFirst()(problem.joint))[0] for _ in range(9)])
    return [
        [f"{problem.name}, {n} rows, {problem.joint.n_labels} labels", "per row", "ratio"],
        ["dacaf-mlc, `predict_subset`", f"{theirs.median / n * 1e3:.2f} ms", ""],
        [
            "`ClassifierChain.predict`, from features to labels",
            _microseconds(predict.median / n),
            f"**{theirs.median / predict.median:.0f}×**",
        ],
        [
            "the search alone",
            _microseconds(search.median / n),
            f"**{theirs.median / search.median:.0f}×**",
        ],
    ]


def synthetic(kind: str, n: int, n_labels: int) -> ChainJoint:
    """Return random chains.

    Confident: scores and what earlier labels add to them as in chains fitted to many labels, most
    of which are rare. Flat: every label is close to undecided and all depend on each other.
    """
    rng = np.random.default_rng(n_labels)
    coupling = np.tril(rng.normal(size=(n_labels, n_labels)), -1)
    if kind == "confident":
        scores = rng.normal(-np.log(n_labels) - 3.0, 2.0, size=(n, n_labels))
        return ChainJoint(scores, 0.5 * coupling)
    return ChainJoint(rng.normal(scale=0.5, size=(n, n_labels)), coupling / np.sqrt(n_labels))


def growth(rounds: int) -> Rows:
    """Return the table of time against the number of labels."""
    rows = [["labels"]]
    for kind in ("confident", "flat"):
        rows[0] += [f"{kind}: time per row", "nodes", "certified", "mean gap"]
    for n_labels in (8, 16, 32, 64, 128, 256, 512, 1024):
        row = [str(n_labels)]
        for kind in ("confident", "flat"):
            joint = synthetic(kind, 64 if n_labels <= 128 else 16, n_labels)
            runs = [timed(lambda: BestFirst(10_000)(joint)) for _ in range(rounds)]  # noqa: B023
            seconds = statistics.median(seconds for seconds, _ in runs)
            mode = runs[0][1]
            row += [_microseconds(seconds / joint.n_rows), f"{mode.nodes.mean():.0f}"]
            row += [f"{mode.optimal.mean():.0%}", f"{mode.gap.mean():.2f}"]
        rows.append(row)
    return rows


def growth_in_rows(problem: Problem, rounds: int) -> Rows:
    """Return the table of time against the number of rows."""
    rows = [["rows", "total", "per row"]]
    for n in (10, 100, 1000, 10_000):
        joint = repeated(problem.joint, n)
        seconds = statistics.median(timed(lambda: BestFirst()(joint))[0] for _ in range(rounds))  # noqa: B023
        rows.append([str(n), f"{rounded(seconds * 1e3, 3)} ms", _microseconds(seconds / n)])
    return rows


def choices(joints: dict[str, ChainJoint]) -> Rows:
    """Return the table of what every strategy finds, and how long it takes."""
    rows = [["strategy"]]
    for name in joints:
        rows[0] += [f"{name}: mean log P", "best of all", "certified", "mean gap", "per row"]
    runs = {
        name: {key: timed(_bound_to(strategy, joint)) for key, strategy in STRATEGIES.items()}
        for name, joint in joints.items()
    }
    for key in STRATEGIES:
        row = [f"`{key}`"]
        for name, joint in joints.items():
            best = np.max([mode.log_prob for _, mode in runs[name].values()], axis=0)
            seconds, mode = runs[name][key]
            row += [f"{mode.log_prob.mean():.3f}", f"{(mode.log_prob >= best - 1e-9).mean():.0%}"]
            row += [f"{mode.optimal.mean():.0%}", f"{mode.gap.mean():.2f}"]
            row.append(_microseconds(seconds / joint.n_rows))
        rows.append(row)
    return rows


def _bound_to(strategy: Inference, joint: ChainJoint) -> Callable[[], Any]:
    return lambda: strategy(joint)


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of everything")
    parser.add_argument(
        "--dacaf", type=Path, help="Python of an environment that has dacaf-mlc; compared on yeast"
    )
    arguments = parser.parse_args()
    problems = {name: load_problem(name) for name in available(arguments.sets)}
    with one_blas_thread():
        found = tables(problems, arguments.rounds, arguments.dacaf)
    print(*map(markdown, found.values()), sep="\n")
    if set(problems) >= set(SETS):
        keep("search", found)


def tables(problems: dict[str, Problem], rounds: int, dacaf: Path | None) -> dict[str, Rows]:
    head = ["data set", "labels", "rows", "certified", "greedy misses", "nodes per row (most)"]
    head += ["ours, per row", "plain Python", "ratio", "two threads"]
    found = {"chains": [head, *(searched(p, rounds) for p in problems.values())]}
    if dacaf is not None and "yeast" in problems:
        found["dacaf"] = against_dacaf(problems["yeast"], dacaf, rounds)
    found["labels"] = growth(rounds)
    joints = {"flat, 64 labels": synthetic("flat", 100, 64)}
    if "corel5k" in problems:
        found["rows"] = growth_in_rows(problems["corel5k"], rounds)
        joints = {"corel5k": problems["corel5k"].joint, **joints}
    return found | {"strategies": choices(joints)}


if __name__ == "__main__":
    main()
