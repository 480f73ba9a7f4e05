"""What the choice of penalties costs, as a multiple of one fit, and what it is worth.

Run as ``python -m benchmarks.penalties [SET ...] [--before REVISION]``. Times are of one core, in
CPU seconds, for independent labels (``br``) and for a chain in the order of the file. With
``--before``, the module of another revision of this repository chooses on the same data; held-out
losses of both choices are compared on the same folds, and their CLL-losses on rows that neither has
seen. The table in README.md is rewritten when all sets were run with ``--before``.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import Runner, machine, one_blas_thread
from benchmarks.table import README, markdown, write_level
from labelweave import load
from labelweave._common.arrays import Floats
from labelweave.logistic import penalties as penalty_selection
from labelweave.logistic.conditionals import (
    LinearConditionals,
    fit_conditionals,
    structure_problems,
)
from labelweave.logistic.penalties import Folds, PenaltyChoice
from labelweave.logistic.problem import LogisticProblems

SETS = (
    "emotions",
    "scene",
    "yeast",
    "enron",
    "slashdot",
    "tmc2007-500",
    "corel5k",
    "rcv1subset1",
)
SELECTION = "src/labelweave/logistic/penalty_selection.py"
BEGIN = "<!-- written by python -m benchmarks.penalties: begin -->"
END = "<!-- written by python -m benchmarks.penalties: end -->"
# Accurate enough to compare choices that hardly differ.
TOLERANCE = 1e-6
REPEATED_BELOW = 1.0  # CPU seconds; long runs are steady enough to need only one
ROUNDS = 5


@dataclass(frozen=True)
class Task:
    """A data set with nine tenths of the rows to fit, and whether labels form a chain."""

    name: str
    X: Any
    Y: Any
    unseen: tuple[Any, Any]
    chain: bool

    @property
    def parents(self) -> Any:
        """Return which labels each label depends on."""
        n_labels = self.Y.shape[1]
        return np.tri(n_labels, k=-1, dtype=bool) & self.chain

    def problems(self) -> LogisticProblems:
        """Return a problem per label."""
        return structure_problems(self.X, self.Y, [self.parents], None, None)

    def fit(self, choice: PenaltyChoice) -> LinearConditionals:
        """Fit all conditionals at the chosen penalties."""
        penalties = {"C": choice.C, "label_penalty": choice.label_penalty}
        return fit_conditionals(self.X, self.Y, self.parents, **penalties)

    def test_loss(self, fitted: LinearConditionals) -> float:
        """Return the CLL-loss per test row."""
        X, Y = self.unseen
        z = fitted.scores(X) + Y @ fitted.coupling.T
        return float((np.logaddexp(0, z) - Y * z).sum(axis=1).mean())


@dataclass(frozen=True)
class Chosen:
    """A choice and the fit at it: CPU seconds of both, losses by fold and of the test rows."""

    choice: PenaltyChoice
    choosing: float
    fitting: float
    held_out: Floats
    test: float

    @property
    def multiple(self) -> float:
        """How many fits choosing and fitting cost together."""
        return 1 + self.choosing / self.fitting


def tasks(name: str) -> list[Task]:
    data = load(name)
    X, Y = data.X, np.asarray(data.Y, dtype=np.int8)
    rows, test = train_test_split(np.arange(len(Y)), test_size=0.1, random_state=0)
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit(X[rows]).transform(X)
    return [Task(name, X[rows], Y[rows], (X[test], Y[test]), chain) for chain in (False, True)]


def module_at(revision: str) -> ModuleType:
    """Return the selection of penalties of another revision; the engine below it is today's."""
    show = ["git", "show", f"{revision}:{SELECTION}"]
    source = subprocess.run(show, cwd=README.parent, check=True, capture_output=True).stdout
    with tempfile.NamedTemporaryFile(suffix=".py") as file:
        Path(file.name).write_bytes(source)
        spec = importlib.util.spec_from_file_location("selection_before", file.name)
        if spec is None or spec.loader is None:
            raise ImportError(f"{revision} has no {SELECTION}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return module


def cpu_seconds(run: Runner) -> tuple[float, Any]:
    """Return the CPU seconds of a call, the median of several if it is short, and its result."""
    seconds: list[float] = []
    while len(seconds) < ROUNDS and (not seconds or seconds[0] < REPEATED_BELOW):
        start = time.process_time()
        result = run()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), result


def measure(task: Task, selection: ModuleType) -> Chosen:
    problems = task.problems()
    choosing, choice = cpu_seconds(lambda: selection.choose_penalties(problems))
    fitting, fitted = cpu_seconds(lambda: task.fit(choice))
    folds = Folds.of(problems, n_folds=3, seed=0, n_threads=1)
    path = np.array([[choice.C, choice.label_penalty]])
    solutions = folds.solve(path, tol=TOLERANCE, keep_coef=False)
    held_out = folds.losses(solutions).sum(axis=(1, 2)) / (folds.total_weight * folds.n_repeats)
    return Chosen(choice, choosing, fitting, held_out, task.test_loss(fitted))


def row_of(task: Task, now: Chosen, before: Chosen | None) -> list[str]:
    kind = "chain" if task.chain else "br"
    row = [f"{task.name}, {kind}", f"{now.fitting:.3f} s"]
    for chosen in (before, now) if before else (now,):
        row += [f"{chosen.choice.C:.3g}", f"{chosen.choice.label_penalty:.2g}"]
        row += [f"**{chosen.multiple:.1f}**" if chosen is now else f"{chosen.multiple:.1f}"]
    if before is None:
        return [*row, f"{now.held_out.sum():.4f}", f"{now.test:.4f}"]
    change = now.held_out - before.held_out
    # Per fold of a repeat; repeats on the same rows do not shrink the error of the mean.
    error = change.std(ddof=1) * len(change) / np.sqrt(3)
    row += [f"{before.held_out.sum():.4f}", f"{change.sum():+.4f} ± {error:.4f}"]
    return [*row, f"{before.test:.4f}", f"{now.test - before.test:+.4f}"]


def header(compared: bool) -> list[str]:
    choice = ["C", "label penalty", "multiple"]
    if not compared:
        return ["data set", "one fit", *choice, "held-out loss", "test CLL-loss"]
    both = [f"{what}, {when}" for when in ("before", "now") for what in choice]
    return ["data set", "one fit", *both, "held-out loss", "change", "test CLL-loss", "change"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.penalties", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    parser.add_argument("--before", help="a revision to compare with")
    arguments = parser.parse_args()
    before = module_at(arguments.before) if arguments.before else None
    rows = [header(compared=before is not None)]
    with one_blas_thread():
        for task in (task for name in arguments.sets for task in tasks(name)):
            then = None if before is None else measure(task, before)
            rows.append(row_of(task, measure(task, penalty_selection), then))
            print(" | ".join(rows[-1]), flush=True)
    if before is not None and set(arguments.sets) >= set(SETS):
        write_level(README, BEGIN, END, [f"Measured on {machine()}.", markdown(rows)])


if __name__ == "__main__":
    main()
