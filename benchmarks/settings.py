"""The best setting of every scikit-learn solver for every data set: found here, kept in JSON.

A solver's best setting is the loosest tolerance (of a grid in steps of the square root of ten)
that leaves every label of the set at a relative excess of at most 1e-6. The benchmark proper shows
in each run that the kept settings still reach the accuracy; `python -m benchmarks.logistic
--search` finds them anew.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from benchmarks.accuracy import Problem, excess
from benchmarks.peers import Setting, TooSlowError, on_one_core
from labelweave._common.arrays import Floats

ACCURACY = 1e-6
GRID = [10 ** (-k / 4) for k in range(4, 41)]  # 0.1 … 1e-10, four to a decade
FILE = Path(__file__).with_name("settings.json")
TOO_SLOW = 4.0  # a solver this many times slower than the fastest is not worth the waiting
# Liblinear penalises the intercept; scaling its column up makes that penalty vanish, the more the
# slower it converges. Its dual solver is offered too.
LIBLINEAR = [
    *({"intercept_scaling": scale} for scale in (25.0, 50.0, 100.0, 200.0, 400.0)),
    {"intercept_scaling": 100.0, "dual": True},
]
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "lbfgs": [{}],
    "newton-cg": [{}],
    "newton-cholesky": [{}],
    "liblinear": LIBLINEAR,
    "sag": [{"random_state": 0}],
    "saga": [{"random_state": 0}],
}
# Where in the grid the search for a solver's tolerance begins.
FIRST_TOLERANCE = {"newton-cholesky": 1e-4, "sag": 1e-3, "saga": 1e-3}


def kept() -> dict[str, dict[str, Any]]:
    """Return what earlier searches found, by data set and solver."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def keep(name: str, found: dict[str, Any]) -> None:
    """Replace the settings of one data set by those just found."""
    FILE.write_text(json.dumps(kept() | {name: found}, indent=2) + "\n")


def settings_for(name: str) -> tuple[dict[str, Setting], dict[str, str]]:
    """Return the settings of the solvers that race on this set, and why the others do not."""
    entries = kept().get(name)
    if entries is None:
        raise SystemExit(
            f"no settings are kept for {name}: run `python -m benchmarks.logistic --search {name}`"
        )
    racing = {k: Setting(k, **v) for k, v in entries.items() if "left_out" not in v}
    return racing, {k: v["left_out"] for k, v in entries.items() if "left_out" in v}


def search(problem: Problem, bound: Floats) -> dict[str, Any]:
    """Find every solver's best setting for this problem."""
    found: dict[str, tuple[float, Setting]] = {}
    left_out: dict[str, str] = {}
    for solver, variants in VARIANTS.items():
        if solver == "newton-cholesky" and problem.shape[1] > 5000:
            left_out[solver] = "its Hessian of D × D does not fit into memory"
            continue
        fastest = min((seconds for seconds, _ in found.values()), default=float("inf"))
        tried = [_loosest(problem, bound, solver, v, TOO_SLOW * fastest) for v in variants]
        reached = [candidate for candidate in tried if candidate is not None]
        if reached:
            found[solver] = min(reached, key=lambda candidate: candidate[0])
            print(
                f"  {solver}: {found[solver][1].describe()}: {found[solver][0]:.2f} s", flush=True
            )
        else:
            left_out[solver] = f"more than {TOO_SLOW:g} times slower than the fastest"
            print(f"  {solver}: left out", flush=True)
    entries = {k: {"tol": s.tol, "options": s.options} for k, (_, s) in found.items()}
    return entries | {solver: {"left_out": reason} for solver, reason in left_out.items()}


def _loosest(
    problem: Problem, bound: Floats, solver: str, options: dict[str, Any], limit: float
) -> tuple[float, Setting] | None:
    # Excess falls with the tolerance, so walk down the grid until it is reached; if the first
    # step reaches it already, walk up as long as it does.
    def attempt(k: int) -> tuple[float, Setting] | None:
        setting = Setting(solver, GRID[k], options)
        start = time.process_time()  # unlike the clock not disturbed by other work
        solution = on_one_core(problem, setting, limit)
        seconds = time.process_time() - start
        reached = excess(problem, *solution, bound) <= ACCURACY
        return (seconds, setting) if reached else None

    first = FIRST_TOLERANCE.get(solver, 1e-5)
    k = next(i for i, tol in enumerate(GRID) if tol <= 1.01 * first)
    best = None
    try:
        best = attempt(k)
        step = 1 if best is None else -1
        while 0 <= (k := k + step) < len(GRID):
            candidate = attempt(k)
            if step == 1 and candidate is not None:
                return candidate
            if step == -1 and candidate is None:
                return best
            best = candidate
    except TooSlowError:
        pass
    return best
