"""All edge weights of tree structures against scikit-learn: `python -m benchmarks.structure`.

One split of every set (two thirds fit, one third weighs), C = 1, label_penalty = 0.1, two cores on
both sides. The tables are kept when everything was run.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import Timing, one_blas_thread, peak_memory, race, timed
from benchmarks.structure_peers import (
    Pairs,
    Problem,
    Setting,
    TwoCores,
    best_setting,
    converged,
    sharpened,
)
from benchmarks.tables import Rows, keep, markdown, show_seconds
from labelweave import load
from labelweave.logistic.edges import EdgeWeights, edge_weights
from labelweave.models.structure_learning import maximum_branching

SETS = ("scene", "yeast", "enron")
GROWING = ("emotions", "yeast", "slashdot", "enron", "rcv1subset1", "corel5k")
SAMPLE, TUNING_SAMPLE = 200, 24


@dataclass(frozen=True)
class Contest:
    """Ours on all pairs against scikit-learn on some of them."""

    problem: Problem
    settings: list[Setting]
    n_pairs: int
    n_sampled: int
    ours: Timing
    theirs: Timing
    our_error: float
    their_error: float

    @property
    def their_seconds(self) -> float:
        """Their time for all pairs."""
        return self.theirs.median * self.n_pairs / self.n_sampled


def load_problem(name: str) -> Problem:
    """One set with its split; dense features are standardised."""
    data = load(name)
    X: Any = data.X
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit_transform(X)
    Y = np.asarray(data.Y, dtype=np.int8)
    return Problem(name, X, Y, np.random.default_rng(0).random(len(Y)) < 1 / 3)


def weigh(problem: Problem, screen: int | str | None = None) -> EdgeWeights:
    return edge_weights(
        problem.X,
        problem.Y,
        C=problem.C,
        label_penalty=problem.label_penalty,
        held_out=problem.held_out,
        screen=screen,
        n_threads=2,
    )


def at_pairs(weights: EdgeWeights, pairs: Pairs) -> Any:
    parent, target = pairs.T
    return np.where(parent < 0, weights.alone[target], weights.pair[parent, target])


def contest(problem: Problem, rounds: int) -> Contest:
    """Race the two on one set, and compare both with converged fits."""
    pairs = problem.pairs()
    rng = np.random.default_rng(0)
    exact = converged(problem, pairs)
    tuning = np.sort(rng.permutation(len(pairs))[:TUNING_SAMPLE])
    settings = best_setting(problem, pairs[tuning], exact[tuning])
    sampled = np.sort(rng.permutation(len(pairs))[:SAMPLE])
    settings[0] = sharpened(problem, pairs[sampled], exact[sampled], settings[0])
    with TwoCores() as cores:
        cores.weights(problem, pairs[tuning[:4]], settings[0])
        timings = race(
            lambda: weigh(problem),
            {settings[0].solver: lambda: cores.weights(problem, pairs[sampled], settings[0])},
            rounds,
        )
    ours, theirs = timings["ours"], timings[settings[0].solver]
    our_error = np.max(np.abs(at_pairs(ours.result, pairs) / exact - 1.0))
    their_error = np.max(np.abs(theirs.result / exact[sampled] - 1.0))
    return Contest(
        problem,
        settings,
        len(pairs),
        len(sampled),
        ours,
        theirs,
        float(our_error),
        float(their_error),
    )


def contest_table(contests: list[Contest]) -> Rows:
    rows = [["data set", "fits", "ours", "largest error", "scikit-learn", "largest error", "ratio"]]
    for c in contests:
        best = c.settings[0]
        part = "" if c.n_sampled == c.n_pairs else f", from {c.n_sampled} of the fits"
        rows.append(
            [
                c.problem.name,
                str(c.n_pairs),
                show_seconds(c.ours.median),
                f"{c.our_error:.1e}",
                f"{show_seconds(c.their_seconds)} ({best.solver}, tol={best.tol:.0e}{part})",
                f"{c.their_error:.1e}",
                f"**{c.their_seconds / c.ours.median:.0f}×**",
            ]
        )
    return rows


def growth_table(names: tuple[str, ...]) -> Rows:
    """Time and memory on sets of more and more labels, and of one set with more and more rows."""
    rows = [["data", "n × D, labels", "parents fitted", "fits", "time", "peak memory beyond X"]]
    problems = [load_problem(name) for name in names]
    problems += [_synthetic(n) for n in (2_000, 8_000, 32_000)]
    for problem in problems:
        n, D = problem.X.shape
        screens = ["auto", None] if problem.Y.shape[1] > 64 else ["auto"]
        for screen in screens:
            if screen is None and problem.name != "corel5k":
                continue
            seconds, weights = timed(lambda p=problem, s=screen: weigh(p, s))
            peak = peak_memory(weigh, problem, screen)
            most = int(weights.fitted.sum(axis=0).max())
            rows.append(
                [
                    problem.name,
                    f"{n} × {D}, {problem.Y.shape[1]}",
                    f"{most} per label",
                    str(int(weights.fitted.sum()) + problem.Y.shape[1]),
                    show_seconds(seconds),
                    f"{peak / 1e6:.1f} MB",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def _synthetic(n: int) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 100))
    z = X @ rng.normal(size=(100, 14)) / 10
    Y = np.zeros((n, 14), dtype=np.int8)
    for i in range(14):
        Y[:, i] = z[:, i] + 2.0 * Y[:, i - 1] - 1.0 + rng.logistic(size=n) > 0
    return Problem("synthetic", X, Y, rng.random(n) < 1 / 3)


def screening_table(names: tuple[str, ...]) -> Rows:
    """Compare the best forest of all parents with that of some parents."""
    head = [
        "data set",
        "parents fitted",
        "time",
        "gain of the best forest",
        "lost",
        "edges changed",
    ]
    rows = [head]
    for name in names:
        problem = load_problem(name)
        start = time.perf_counter()
        full = weigh(problem)
        seconds = time.perf_counter() - start
        parents = maximum_branching(full.pair, full.alone)
        best = _gain(full, parents)
        rows.append([name, "all", show_seconds(seconds), f"{best:.1f}", "", ""])
        for screen in (5, 10, 20):
            start = time.perf_counter()
            screened = weigh(problem, screen)
            seconds = time.perf_counter() - start
            found = maximum_branching(screened.pair, screened.alone)
            gain = _gain(full, found)
            rows.append(
                [
                    name,
                    str(screen),
                    show_seconds(seconds),
                    f"{gain:.1f}",
                    f"{100 * (best - gain) / best:.2f} %",
                    f"{int((found != parents).sum())} of {len(parents)}",
                ]
            )
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def _gain(weights: EdgeWeights, parents: Any) -> float:
    """Held-out log-likelihood that a forest has more than labels without parents."""
    child = np.flatnonzero(parents >= 0)
    return float((weights.pair - weights.alone)[parents[child], child].sum())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structure", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each side")
    parser.add_argument("--race", action="store_true", help="the race only")
    arguments = parser.parse_args()
    use_published_data()
    with one_blas_thread():
        contests = []
        for name in arguments.sets:
            contests.append(contest(load_problem(name), arguments.rounds))
            print(markdown(contest_table(contests[-1:])), flush=True)
        if arguments.race or tuple(arguments.sets) != SETS:
            return
        tables = {
            "race": contest_table(contests),
            "growth": growth_table(GROWING),
            "screening": screening_table(("enron", "corel5k")),
        }
    print(*map(markdown, tables.values()), sep="\n")
    keep("structure", tables)


if __name__ == "__main__":
    main()
