"""Calibration of joint distributions and marginals: error and log-loss before and after.

Run as ``python -m benchmarks.calibration [--folds 10] [--jobs 1] [DATA ...]``. Folds that were
measured before are read from ``build/calibration.jsonl``; with all data sets and folds the table
is kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.tables import keep, markdown
from labelweave import (
    BinaryRelevance,
    CalibratedJointCV,
    ClassifierChain,
    Dataset,
    DistributionalForest,
    load,
)
from labelweave._common.keyed_lines import KeyedLines
from labelweave.inference import Auto
from labelweave.joint import JointDistribution
from labelweave.metrics import METRICS

KEPT = Path("build", "calibration.jsonl")
DATA = ("emotions", "scene", "yeast", "enron", "slashdot")
SYSTEMS = {
    "`br`": BinaryRelevance(),
    "chain": ClassifierChain(),
    "chain, C = 100": ClassifierChain(C=100.0, label_penalty=1.0),
    "forest": DistributionalForest(),
}
COLUMNS = ("T", "CLL-loss", "joint ECE", "log-loss of marginals", "ECE of marginals", "same mode")

# Of one fold: sums over its rows, or of T the value.
Sums = dict[str, list[Any]]


def measured(data: Dataset, system: str, fold: int) -> Sums:
    """Return sums before and after, of marginals also with a sigmoid, in one fold of ten."""
    train, test = list(KFold(10, shuffle=True, random_state=0).split(data.X))[fold]
    inside, outside = data.X[train], data.X[test]
    if not sparse.issparse(data.X):
        scaler = StandardScaler().fit(inside)
        inside, outside = scaler.transform(inside), scaler.transform(outside)
    with threadpool_limits(limits=1):
        # The estimator inside is fitted to all training rows, as it would be without calibration.
        model = CalibratedJointCV(estimator=SYSTEMS[system], marginals="sigmoid")
        model.fit(inside, data.Y[train])
        before = model.estimator_.predict_joint(outside)
        return _sums(model, before, model.predict_joint(outside), outside, data.Y[test])


def _sums(
    model: CalibratedJointCV,
    before: JointDistribution,
    after: JointDistribution,
    X: Any,
    Y: NDArray[Any],
) -> Sums:
    marginals = [before.marginals(), after.marginals(), model.predict_proba(X)]
    modes = [joint.mode(Auto()) for joint in (before, after)]
    same = (modes[0].labels == modes[1].labels).all(axis=1)
    right = (modes[0].labels == Y).all(axis=1)
    return {
        "rows": [len(Y)],
        "T": [model.temperature_],
        "CLL-loss": [float(-joint.log_prob(Y).sum()) for joint in (before, after)],
        "joint ECE": [_excesses(np.exp(mode.log_prob), right) for mode in modes],
        "log-loss of marginals": [len(Y) * METRICS["log_loss"](Y, p) for p in marginals],
        "ECE of marginals": [_excesses(p, np.asarray(Y)) for p in marginals],
        "same mode": [int(same.sum())],
    }


def _excesses(p: NDArray[Any], truth: NDArray[Any]) -> list[float]:
    """Return Σ (p − truth) of each of ten bins: these add up over folds, and to the ECE."""
    place = np.minimum((p.ravel() * 10).astype(int), 9)
    share = 1 / (p.size / len(p))
    excess = np.bincount(place, weights=(p - truth).ravel() * share, minlength=10)
    return [float(value) for value in excess]


def row(name: str, system: str, folds: list[Sums]) -> list[str]:
    """Return the table's row of a system on a data set: of the rows of all folds."""
    n_rows = sum(fold["rows"][0] for fold in folds)
    cells = [f"{np.mean([fold['T'][0] for fold in folds]):.2f}"]
    for column in COLUMNS[1:]:
        total = np.sum([fold[column] for fold in folds], axis=0) / n_rows
        values = np.abs(total).sum(axis=1) if total.ndim == 2 else total
        cells.append(" → ".join(f"{value:.3f}" for value in values))
    return [name, system, *cells]


def main() -> None:
    """Measure and print the table; keep it if nothing was left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--folds", type=int, default=10, help="folds of ten to measure")
    parser.add_argument("--jobs", type=int, default=1, help="folds measured at a time")
    arguments = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    lines: KeyedLines[Sums] = KeyedLines(KEPT, lambda sums: {"sums": sums}, lambda d: d["sums"])
    rows = []
    for data in map(load, arguments.data):
        for system in SYSTEMS:
            keys = {f"{data.name} {system} {k}": k for k in range(arguments.folds)}
            kept = lines.read() if KEPT.exists() else {}
            left = [key for key in keys if key not in kept]
            pool = Parallel(n_jobs=arguments.jobs, return_as="generator")
            calls = (delayed(measured)(data, system, keys[key]) for key in left)
            with lines.writing() as append:
                for key, sums in zip(left, pool(calls), strict=True):
                    append(key, sums)
                    kept[key] = sums
            name, own, *cells = row(data.name, system, [kept[key] for key in keys])
            rows.append([name, own, str(len(keys)), *cells])
            print(*rows[-1], flush=True)
    table = [["", "", "folds", *COLUMNS], *rows]
    print(markdown(table))
    if arguments.folds == 10 and tuple(arguments.data) == DATA:
        keep("calibration", {"temperatures": table}, by_level=False)


if __name__ == "__main__":
    main()
