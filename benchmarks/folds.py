"""Folds of a data set, measured one by one and kept, so that a run that was stopped goes on."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from labelweave import Dataset, load
from labelweave._common.keyed_lines import KeyedLines

N_FOLDS = 10
Figures = dict[str, list[float]]
Results = dict[str, list[Figures]]  # by system, then by fold


@dataclass(frozen=True)
class Fold:
    """Training and test rows; dense features are standardised on the training rows."""

    X: Any
    Y: NDArray[Any]
    X_test: Any
    Y_test: NDArray[Any]
    test_rows: NDArray[np.int64]
    "The positions of the test rows in the data set."


def fold_of(data: Dataset, number: int) -> Fold:
    """Return one of the ten folds of a data set."""
    splits = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(np.empty(data.n_rows)))
    train, test = splits[number]
    X, X_test = data.X[train], data.X[test]
    if not sparse.issparse(data.X):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return Fold(X, data.Y[train], X_test, data.Y[test], test)


def measure_folds(
    folder: Path,
    name: str,
    numbers: Sequence[int],
    systems: Mapping[str, Any],
    measure: Callable[[Any, Fold], Figures],
) -> None:
    """Keep what `measure` says of each system on some folds, unless it was kept before.

    Every fold has a file of its own, so that several processes may share the folds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = load(name)
    for number in numbers:
        lines = _kept(folder, name, number)
        with lines.writing() as append:
            known = lines.read()
            fold = fold_of(data, number)
            for system, model in systems.items():
                if _key(system, model) in known:
                    continue
                print(name, "fold", number, system, flush=True)
                with threadpool_limits(limits=1):
                    append(_key(system, model), measure(clone(model), fold))


def kept_folds(folder: Path, name: str, systems: Mapping[str, Any]) -> Results:
    """Return the figures of all folds that every system has been measured on."""
    by_fold = [_kept(folder, name, number).read() for number in range(N_FOLDS)]
    keys = {system: _key(system, model) for system, model in systems.items()}
    whole = [known for known in by_fold if known.keys() >= set(keys.values())]
    return {system: [known[key] for known in whole] for system, key in keys.items()}


def _key(system: str, model: Any) -> str:
    return json.dumps([system, repr(model)])


def _kept(folder: Path, name: str, number: int) -> KeyedLines[Figures]:
    return KeyedLines(folder / f"{name}-{number}.jsonl", dict, dict)


def fold_parser(description: str | None, data: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser of command lines that name data sets, and which folds to measure."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("data", nargs="*", default=list(data), help="data sets")
    parser.add_argument(
        "--folds",
        type=lambda text: [int(number) for number in text.split(",") if number],
        default=list(range(N_FOLDS)),
        help="folds of ten to measure, by commas: 0,1,2; --folds= only writes what was kept",
    )
    return parser
