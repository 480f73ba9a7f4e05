"""The logistic engine against scikit-learn's solvers: `make bench`, or see --help.

Every solver fits all labels of a data set to a relative objective excess of at most 1e-6, on one
core and on two, in turn with ours. The table is kept when all sets were run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks import settings
from benchmarks.accuracy import Problem, excess, lower_bound
from benchmarks.data import available
from benchmarks.measure import Timing, one_blas_thread, peak_memory, race
from benchmarks.peers import Setting, Solution, TwoCores, on_one_core
from benchmarks.settings import ACCURACY
from benchmarks.tables import Rows, keep, markdown, show_megabytes, show_seconds
from labelweave import load
from labelweave._common.arrays import Floats
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems

SETS = ("scene", "yeast", "enron", "corel5k", "rcv1subset1")
# The certificate of the reference optimum must be finer than what it is to judge.
REFERENCE_ACCURACY = 0.01 * settings.ACCURACY


@dataclass(frozen=True)
class Contest:
    """What was measured on one data set, by number of cores and solver (ours is ``"ours"``)."""

    problem: Problem
    timings: dict[int, dict[str, Timing]]
    excesses: dict[int, dict[str, float]]
    settings: dict[str, Setting]
    left_out: dict[str, str]
    our_tol: float
    reference_gap: float
    peak_bytes: int

    @property
    def allowed_bytes(self) -> int:
        """The memory the engine may take beyond X: 8 (D L + n L) doubles."""
        n, D, L = self.problem.shape
        return 8 * (D * L + n * L) * 8


def load_problem(name: str) -> Problem:
    """Return all labels of a set that have both classes; dense features are standardised."""
    data = load(name)
    X: Any = data.X
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit_transform(X)
    T = np.asarray(data.Y, dtype=np.int8)
    return Problem(name, X, np.ascontiguousarray(T[:, T.min(axis=0) != T.max(axis=0)]))


def solve_ours(problem: Problem, tol: float, n_threads: int) -> Solution:
    problems = LogisticProblems.per_label(problem.X, problem.T, C=problem.C)
    solution = solve_problems(problems, tol=tol, n_threads=n_threads)
    return solution.coef, solution.intercept


def certified_bound(problem: Problem) -> tuple[Floats, float]:
    """Return lower bounds of the optima and their relative uncertainty."""
    coef, intercept = solve_ours(problem, 1e-13, n_threads=2)
    bound = lower_bound(problem, coef, intercept)
    gap = excess(problem, coef, intercept, bound)
    if gap > REFERENCE_ACCURACY:
        raise AssertionError(f"{problem.name}: the optimum is only known to {gap:.1e}")
    return bound, gap


def our_tolerance(problem: Problem, bound: Floats) -> float:
    """Return the loosest tolerance that gives the engine the accuracy asked of all."""
    for tol in settings.GRID:
        if excess(problem, *solve_ours(problem, tol, n_threads=2), bound) <= settings.ACCURACY:
            return tol
    raise AssertionError(f"{problem.name}: the engine does not reach {settings.ACCURACY:.0e}")


def contest(problem: Problem, rounds: int) -> Contest:
    """Race all solvers on one data set and verify what each of them reached."""
    bound, gap = certified_bound(problem)
    tol = our_tolerance(problem, bound)
    racing, left_out = settings.settings_for(problem.name)
    timings = {}
    with TwoCores() as cores:
        one = {k: _bound_to(problem, setting) for k, setting in racing.items()}
        two = {k: cores.runner(problem, setting) for k, setting in racing.items()}
        for n_cores, theirs in ((1, one), (2, two)):
            ours = _ours_bound_to(problem, tol, n_cores)
            timings[n_cores] = race(ours, theirs, rounds)
    excesses = {
        n_cores: {k: excess(problem, *timing.result, bound) for k, timing in by_solver.items()}
        for n_cores, by_solver in timings.items()
    }
    peak = peak_memory(solve_ours, problem, tol, 2)
    return Contest(problem, timings, excesses, racing, left_out, tol, gap, peak)


def _bound_to(problem: Problem, setting: Setting) -> Any:
    return lambda: on_one_core(problem, setting)


def _ours_bound_to(problem: Problem, tol: float, n_threads: int) -> Any:
    return lambda: solve_ours(problem, tol, n_threads)


def fastest_peer(contest: Contest, n_cores: int) -> str:
    """Return the solver of scikit-learn with the fastest median run among those accurate enough."""
    accurate = [k for k in contest.settings if contest.excesses[n_cores][k] <= ACCURACY]
    return min(accurate, key=lambda k: contest.timings[n_cores][k].median)


def summary(contests: Sequence[Contest]) -> Rows:
    """Return the table of all sets: ours, scikit-learn's fastest, ratio, memory."""
    head = ["data set", "n × D, labels"]
    for cores in ("2 cores", "1 core"):
        head += [f"ours, {cores}", f"scikit-learn's fastest, {cores}", f"ratio, {cores}"]
    rows = [[*head, "peak memory beyond X", "allowed"]]
    for c in contests:
        n, D, L = c.problem.shape
        row = [c.problem.name, f"{n} × {D}, {L}"]
        for n_cores in (2, 1):
            ours, name = c.timings[n_cores]["ours"].median, fastest_peer(c, n_cores)
            theirs = c.timings[n_cores][name].median
            row += [show_seconds(ours), f"{show_seconds(theirs)} ({name})"]
            row.append(f"**{theirs / ours:.1f}×**")
        rows.append([*row, show_megabytes(c.peak_bytes), show_megabytes(c.allowed_bytes)])
    return rows


def details(contest: Contest) -> Rows:
    """Return the table of one set: every solver, its setting, accuracy, times and ratios."""
    rows = [[contest.problem.name, "setting", "excess", "runs"]]
    for cores in ("1 core", "2 cores"):
        rows[0] += [f"{cores}: best", "median", "ratio to ours"]
    for name in ("ours", *contest.settings):
        setting = (
            contest.settings[name].describe() if name != "ours" else f"tol={contest.our_tol:.0e}"
        )
        worst = max(contest.excesses[n_cores][name] for n_cores in (1, 2))
        row = [name, setting, f"{worst:.1e}" + ("" if worst <= ACCURACY else " (missed)")]
        row.append(str(len(contest.timings[2][name].seconds)))
        for n_cores in (1, 2):
            timing, ours = contest.timings[n_cores][name], contest.timings[n_cores]["ours"]
            row += [show_seconds(timing.best), show_seconds(timing.median)]
            row.append(f"{timing.median / ours.median:.1f}×")
        rows.append(row)
    return rows + [[name, f"not run: {why}", *[""] * 8] for name, why in contest.left_out.items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.logistic", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    parser.add_argument("--rounds", type=int, default=3, help="timed runs of each solver")
    parser.add_argument("--search", action="store_true", help="find scikit-learn's best settings")
    arguments = parser.parse_args()
    contests = []
    with one_blas_thread():
        for name in available(arguments.sets):
            problem = load_problem(name)
            if arguments.search:
                print(f"{name}: searching settings")
                settings.keep(name, settings.search(problem, certified_bound(problem)[0]))
            contests.append(contest(problem, arguments.rounds))
            print(markdown(details(contests[-1])), flush=True)
    if contests:
        print(markdown(summary(contests)))
    if {c.problem.name for c in contests} >= set(SETS):
        keep("logistic", {"summary": summary(contests)})


if __name__ == "__main__":
    main()
