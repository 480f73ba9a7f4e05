"""Baselines against other implementations of the same method: same labels, and how much faster.

``python -m benchmarks.baselines`` runs all systems and rewrites their table; ``python -m
benchmarks.baselines mlknn`` runs some and only prints. A system joins by a line in `SYSTEMS`.
"""

from __future__ import annotations

import os
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

from benchmarks.measure import machine, race
from benchmarks.table import _seconds, markdown, replace_between
from labelweave import datasets
from labelweave.baselines import InstanceBasedLogistic, MLkNN, StackedRelevance

README = Path(__file__).with_name("README.md")
BEGIN = "<!-- written by python -m benchmarks.baselines: begin -->"
END = "<!-- written by python -m benchmarks.baselines: end -->"
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ROUNDS = 3

Labels = np.ndarray[Any, np.dtype[np.int64]]


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
    ours, theirs
        Make a fresh estimator, ours for a given `n_jobs`; theirs is only asked for where `needs`
        is installed.
    peer
        The name of theirs in the table.
    needs
        The module that theirs comes from.
    data_sets
        The sets to run on.
    """

    ours: Callable[..., Any]
    theirs: Callable[[], Any]
    peer: str
    needs: str
    data_sets: tuple[str, ...] = ("scene", "yeast")


def _multilearn(name: str, *arguments: Any) -> Any:
    from benchmarks import multilearn  # not installed everywhere

    return getattr(multilearn, name)(*arguments)


_PEER = {"peer": "scikit-multilearn-ng", "needs": "skmultilearn"}
_PENALTIES: dict[str, Any] = {"C": 1.0, "label_penalty": 1.0}
SYSTEMS: Mapping[str, System] = {
    "mlknn": System(MLkNN, partial(_multilearn, "mlknn"), **_PEER),
    "iblr(features=True)": System(
        partial(InstanceBasedLogistic, features=True, **_PENALTIES),
        lambda: _multilearn("FreshNeighbours", LogisticRegression(max_iter=1000)),
        **_PEER,
    ),
    "chf(n_folds=1)": System(
        partial(StackedRelevance, n_folds=1, **_PENALTIES),
        lambda: _multilearn("Stacked", LogisticRegression(max_iter=1000)),
        **_PEER,
    ),
}


def split(name: str) -> Split:
    data = datasets.load(name)
    X = data.X.toarray() if issparse(data.X) else np.asarray(data.X, dtype=np.float64)
    Y = np.asarray(data.Y.toarray() if issparse(data.Y) else data.Y, dtype=np.int64)
    new, train = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) // 3])
    scaler = StandardScaler().fit(X[train])
    return Split(scaler.transform(X[train]), Y[train], scaler.transform(X[new]))


def fit_predict(make: Callable[[], Any], data: Split) -> Labels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers, about formats of their own
        predicted = make().fit(data.X, data.Y).predict(data.X_new)
    return np.asarray(predicted.toarray() if issparse(predicted) else predicted, dtype=np.int64)


@contextmanager
def cores(n_cores: int) -> Iterator[None]:
    """Leave everybody so many cores; BLAS has one, as peers' small products are slower on more."""
    with threadpool_limits(n_cores, user_api="openmp"), threadpool_limits(1, user_api="blas"):
        yield


def contest(name: str, system: System, data_set: str) -> list[str]:
    """Race one system on one set, on two cores and on one; return a row of the table."""
    data = split(data_set)
    row = [f"`{name}`", data_set]
    for n_cores in (2, 1):
        with cores(n_cores):
            timings = race(
                partial(fit_predict, partial(system.ours, n_jobs=n_cores), data),
                {"theirs": partial(fit_predict, system.theirs, data)},
                ROUNDS,
            )
        ours, theirs = timings["ours"], timings["theirs"]
        row += [_seconds(ours.median), _seconds(theirs.median)]
        row.append(f"**{theirs.median / ours.median:.1f}×**")
    n_other = int((ours.result != theirs.result).sum())
    return [*row, f"{n_other} of {ours.result.size}", system.peer]


def main() -> None:
    if DATA.is_dir():
        os.environ.setdefault("LABELWEAVE_DATA", str(DATA))
    chosen = sys.argv[1:] or list(SYSTEMS)
    rows = [["method", "data set"]]
    rows[0] += [
        f"{what}, {c}" for c in ("2 cores", "1 core") for what in ("ours", "theirs", "ratio")
    ]
    rows[0] += ["labels that differ", "theirs"]
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
        replace_between(README, BEGIN, END, [f"Measured on {machine()}.", markdown(rows)])


if __name__ == "__main__":
    main()
