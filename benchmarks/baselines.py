"""Baselines against other implementations of the same method: same labels, and how much faster.

``python -m benchmarks.baselines`` runs all systems and rewrites their table; ``python -m
benchmarks.baselines mlknn`` runs some and only prints. A system joins by a line in `SYSTEMS`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.data import use_published_data
from benchmarks.field_peer import PlainField
from benchmarks.measure import Timing, machine, race, timed
from benchmarks.stack_peer import CrossFittedStack
from benchmarks.table import _seconds, markdown, write_level
from benchmarks.threshold_peers import (
    PassiveAggressiveRows,
    ThresholdedMachines,
    libsvm,
    linear_svm,
)
from labelweave import (
    InstanceBasedLogistic,
    LaSVM,
    MaxMarginOutputCoding,
    MLkNN,
    PairwiseCRF,
    PassiveAggressive,
    StackedBinaryRelevance,
    ThresholdedSVM,
)
from labelweave import data as datasets
from labelweave._common.arrays import Indicators, Labels

README = Path(__file__).with_name("README.md")
BEGIN = "<!-- written by python -m benchmarks.baselines: begin -->"
END = "<!-- written by python -m benchmarks.baselines: end -->"
ROUNDS = 3


@dataclass(frozen=True)
class Split:
    """Two thirds of a data set to learn from, one third to predict; features standardised."""

    X: Any
    Y: Labels
    X_new: Any


@dataclass(frozen=True)
class System:
    """A method, ours and theirs at the same settings.

    Attributes
    ----------
    ours
        Makes a fresh estimator for a given `n_jobs`.
    theirs
        Makes one for a number of processes, where `needs` is installed. None where nobody else has
        the method.
    peer
        The name of theirs in the table.
    needs
        The module that theirs comes from.
    data_sets
        The sets to run on.
    ways
        How theirs may use two cores, as numbers of processes and of threads; either may cost more
        than it brings, and the fastest way counts.
    """

    ours: Callable[..., Any]
    theirs: Callable[[int], Any] | None
    peer: str
    needs: str = "sklearn"
    data_sets: tuple[str, ...] = ("scene", "yeast")
    ways: tuple[tuple[int, int], ...] = ((1, 1), (1, 2))


def _multilearn(name: str, *arguments: Any) -> Any:
    from benchmarks import multilearn  # not installed everywhere

    return getattr(multilearn, name)(*arguments)


def _logistic() -> LogisticRegression:
    """Return scikit-learn's with its default solver; 'newton-cholesky' takes about as long here."""
    return LogisticRegression(max_iter=1000)


def _machines(machine: Any, **options: Any) -> Callable[[int], Any]:
    return lambda n_jobs: ThresholdedMachines(machine, n_jobs=n_jobs, **options)


def _lasvm(passes: int) -> System:
    ours = partial(LaSVM, decision="fixed", passes=passes)
    theirs = _machines(libsvm, grid=(1.0,), n_folds=0)
    return System(ours, theirs, "SVC by hand", ways=_PROCESSES)


_PROCESSES = ((1, 1), (2, 1))
_NG: dict[str, Any] = {"peer": "scikit-multilearn-ng", "needs": "skmultilearn"}
_PENALTIES: dict[str, Any] = {"C": 1.0, "label_penalty": 1.0}
_PA = partial(PassiveAggressive, shuffle=False)
SYSTEMS: Mapping[str, System] = {
    "mlknn": System(MLkNN, lambda _: _multilearn("mlknn"), **_NG),
    "iblr(passthrough=True)": System(
        partial(InstanceBasedLogistic, passthrough=True, **_PENALTIES),
        lambda _: _multilearn("FreshNeighbours", _logistic()),
        **_NG,
    ),
    "chf(n_folds=1)": System(
        partial(StackedBinaryRelevance, n_folds=1, **_PENALTIES),
        lambda _: _multilearn("Stacked", _logistic()),
        **_NG,
    ),
    "chf": System(
        partial(StackedBinaryRelevance, **_PENALTIES),
        lambda n_jobs: CrossFittedStack(_logistic(), n_jobs=n_jobs),
        "scikit-learn by hand",
        ways=((1, 1), (1, 2), (2, 1)),
    ),
    "mlcrf": System(
        partial(PairwiseCRF, **_PENALTIES),
        lambda _: PlainField(),
        "enumeration, SciPy's L-BFGS",
        data_sets=("scene", "image", "yeast"),
    ),
    "svm(C=scale)": System(
        partial(ThresholdedSVM, C="scale"),
        _machines(linear_svm, grid=(1.0,)),
        "LinearSVC by hand",
        ways=_PROCESSES,
    ),
    "lasvm(decision=fixed)": _lasvm(passes=1),
    "lasvm(decision=fixed,passes=5)": _lasvm(passes=5),
    "pa-online(shuffle=False)": System(
        _PA, _machines(PassiveAggressiveRows), "SGDClassifier by hand", ways=_PROCESSES
    ),
    "pa-batch(C=scale,shuffle=False)": System(
        partial(_PA, C="scale", tuned_with="batch"),
        _machines(PassiveAggressiveRows, tuned_with=linear_svm, grid=(1.0,)),
        "SGDClassifier and LinearSVC by hand",
        ways=_PROCESSES,
    ),
    "mmoc": System(MaxMarginOutputCoding, None, "–"),
}


def split(name: str) -> Split:
    data = datasets.load(name)
    X = data.X.toarray() if issparse(data.X) else np.asarray(data.X, dtype=np.float64)
    Y = np.asarray(data.Y.toarray() if issparse(data.Y) else data.Y, dtype=np.int64)
    new, train = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 3])
    scaler = StandardScaler().fit(X[train])
    return Split(scaler.transform(X[train]), Y[train], scaler.transform(X[new]))


def fit_predict(make: Callable[[], Any], data: Split) -> tuple[Any, Indicators]:
    """Return a fitted estimator and its labels of new rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers, about formats of their own
        fitted = make().fit(data.X, data.Y)
        return fitted, np.asarray(_dense(fitted.predict(data.X_new)), dtype=np.int64)


def answers(fitted: Any, X: Any) -> Any:
    """Return its probabilities, or scores where it has none."""
    for method in ("predict_proba", "decision_function"):
        if hasattr(fitted, method):
            return np.asarray(_dense(getattr(fitted, method)(X)))
    return None


def _dense(array: Any) -> Any:
    return array.toarray() if issparse(array) else array


@contextmanager
def cores(n_cores: int, n_blas: int = 1) -> Iterator[None]:
    """Leave OpenMP so many cores, and BLAS so many threads."""
    with (
        threadpool_limits(n_cores, user_api="openmp"),
        threadpool_limits(n_blas, user_api="blas"),
    ):
        yield


def within(n_cores: int, n_blas: int, runner: Callable[[], Any]) -> Callable[[], Any]:
    """Return the runner, confined to so many cores and threads of BLAS."""

    def run() -> Any:
        with cores(n_cores, n_blas):
            return runner()

    return run


def run_both(system: System, data: Split, n_cores: int) -> tuple[Timing, Timing | None]:
    """Race ours with all of theirs on so many cores; return ours and the fastest of theirs."""
    ours = within(n_cores, 1, partial(fit_predict, partial(system.ours, n_jobs=n_cores), data))
    if system.theirs is None:
        timing = Timing()
        for _ in range(ROUNDS):
            seconds, timing.result = timed(ours)
            timing.seconds.append(seconds)
        return timing, None
    theirs = {
        f"{n_processes} processes, {n_threads} threads": within(
            n_threads, n_threads, partial(fit_predict, partial(system.theirs, n_processes), data)
        )
        for n_processes, n_threads in (system.ways if n_cores == 2 else ((1, 1),))
    }
    timings = race(ours, theirs, ROUNDS)
    return timings["ours"], min((timings[name] for name in theirs), key=lambda t: t.median)


def contest(name: str, system: System, data_set: str) -> list[str]:
    """Race one system on one set, on two cores and on one; return a row of the table."""
    data = split(data_set)
    row = [f"`{name}`", data_set]
    for n_cores in (2, 1):
        ours, theirs = run_both(system, data, n_cores)
        row.append(_seconds(ours.median))
        if theirs is None:
            row += ["–", "–"]
        else:
            row += [_seconds(theirs.median), f"**{theirs.median / ours.median:.1f}×**"]
    if theirs is None:
        return [*row, "–", "–", system.peer]
    (our_model, our_labels), (their_model, their_labels) = ours.result, theirs.result
    n_other = int((our_labels != their_labels).sum())
    differences = np.abs(answers(our_model, data.X_new) - answers(their_model, data.X_new))
    largest = differences[np.isfinite(differences)].max()  # of thresholds that are: not all are
    return [*row, f"{n_other} of {our_labels.size}", f"{largest:.1g}", system.peer]


def main() -> None:
    use_published_data()
    chosen = sys.argv[1:] or list(SYSTEMS)
    rows = [["method", "data set"]]
    rows[0] += [
        f"{what}, {c}" for c in ("2 cores", "1 core") for what in ("ours", "theirs", "ratio")
    ]
    rows[0] += ["labels that differ", "probabilities or scores differ by at most", "theirs"]
    missing = []
    for name in chosen:
        system = SYSTEMS[name]
        if find_spec(system.needs) is None:
            missing.append(name)
            print(f"{name}: not run, {system.peer} is not installed", flush=True)
            continue
        for data_set in system.data_sets:
            rows.append(contest(name, system, data_set))
            print(" | ".join(rows[-1]), flush=True)
    print(markdown(rows))
    if not sys.argv[1:] and not missing:
        write_level(README, BEGIN, END, [f"Measured on {machine()}.", markdown(rows)])


if __name__ == "__main__":
    main()
