"""Forests as joint distributions on real data, beside what else can be made of the same trees.

Run as ``python -m benchmarks.forests [--folds 10] [DATA ...]``; with all data sets and folds the
table goes to README.md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.ensemble import ExtraTreesClassifier

from benchmarks.mixtures import Fold, folds_of
from benchmarks.table import README, markdown, replace_between
from labelweave import ClassifierChain, DistributionalForest, LabelPowerset

BEGIN = "<!-- written by python -m benchmarks.forests: begin -->"
END = "<!-- written by python -m benchmarks.forests: end -->"
DATA = ("emotions", "scene", "image", "yeast")


def systems() -> dict[str, Any]:
    """Return the systems to compare, by the name of their row."""
    plain = ExtraTreesClassifier(n_estimators=300, random_state=0)
    return {
        "`pcc`": ClassifierChain(),
        "ExtraTrees(300), marginals > ½": plain,
        "`lp` over ExtraTrees(300)": LabelPowerset(estimator=plain),
        "`forest`": DistributionalForest(),
        "`forest(bootstrap=False)`": DistributionalForest(bootstrap=False),
    }


def measured(system: Any, fold: Fold) -> tuple[float, float]:
    """Return exact match and CLL-loss per row in a fold; NaN for what has no joint distribution."""
    X, Y, X_test, Y_test = fold
    model = system.fit(X, Y)
    exact_match = float((model.predict(X_test) == Y_test).all(axis=1).mean())
    if not hasattr(model, "predict_joint"):
        return exact_match, np.nan
    return exact_match, float(-model.predict_joint(X_test).log_prob(Y_test).mean())


def row(name: str, data: list[str], n_folds: int) -> list[str]:
    """Return the table's row of a system."""
    cells = [name]
    for dataset in data:
        scores = Parallel(n_jobs=2)(
            delayed(measured)(systems()[name], fold) for fold in folds_of(dataset, n_folds)
        )
        exact_match, loss = np.mean(scores, axis=0)
        figures = f"{exact_match:.3f}" if np.isnan(loss) else f"{exact_match:.3f} / {loss:.3f}"
        cells.append(figures.replace("0.", ".") if exact_match < 1 else figures)
        print(*cells, flush=True)
    return cells


def main() -> None:
    """Measure and print the table; write it to README.md if nothing was left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--folds", type=int, default=10)
    arguments = parser.parse_args()
    rows = [row(name, arguments.data, arguments.folds) for name in systems()]
    table = markdown([["", *arguments.data], *rows])
    print(table)
    if arguments.folds == 10 and tuple(arguments.data) == DATA:
        replace_between(README, BEGIN, END, [table])


if __name__ == "__main__":
    main()
