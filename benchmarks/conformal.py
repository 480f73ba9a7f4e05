"""Coverage and size of conformal sets of label vectors, with dependent and independent labels.

Run as ``python -m benchmarks.conformal [--splits 20] [--jobs 2] [DATA ...]``; with all data sets
and splits the table is kept.
"""

from __future__ import annotations

import argparse

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.tables import keep, markdown
from labelweave import BinaryRelevance, ClassifierChain, ConformalClassifier, Dataset, load

DATA = ("emotions", "scene", "yeast", "image", "slashdot")
N_SPLITS = 20
LEVELS = (0.8, 0.9, 0.95)
SYSTEMS = {"`br`": BinaryRelevance, "chain": ClassifierChain}
WAYS = {"a quarter held out": 0.25, "CV+, 5 folds": 5}
#: Lists of five models are merged vector by vector, which takes long where sets are large.
SMALL_SETS = ("emotions", "scene")


def measured(
    data: Dataset, system: str, calibration: float, seed: int
) -> list[tuple[float, float, float]]:
    """Return coverage, mean size and share of single vectors at each level, in one random split."""
    order = np.random.default_rng(seed).permutation(data.n_rows)
    train, test = np.split(order, [data.n_rows * 3 // 4])
    scaler = [] if data.is_sparse else [StandardScaler()]
    estimator = make_pipeline(*scaler, SYSTEMS[system]())
    # Rows are held out by their content: with one seed, the same ones in every split.
    model = ConformalClassifier(
        estimator=estimator, cv=calibration, max_size=2**14, random_state=seed
    )
    model.fit(data.X[train], data.Y[train])
    figures = []
    for level in LEVELS:
        sets = model.set_params(confidence=level).predict_set(data.X[test])
        covered = sets.contains(data.Y[test]).mean()
        figures.append((float(covered), float(sets.sizes.mean()), float((sets.sizes == 1).mean())))
    return figures


def row(data: Dataset, system: str, way: str, n_splits: int, n_jobs: int) -> list[str]:
    """Return the table's row of a system on a data set."""
    runs = Parallel(n_jobs=n_jobs)(
        delayed(measured)(data, system, WAYS[way], seed) for seed in range(n_splits)
    )
    errors = np.std(runs, axis=0, ddof=1) / np.sqrt(n_splits)
    cells = [data.name, system, way, *map(_cell, np.mean(runs, axis=0), errors)]
    print(*cells, flush=True)
    return cells


def _cell(figures: NDArray[np.float64], errors: NDArray[np.float64]) -> str:
    coverage, size, single = figures
    return f"{coverage:.3f} ± {errors[0]:.3f} / {size:.1f} / {single:.2f}"


def main() -> None:
    """Measure and print the table; keep it if nothing was left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    rows = [
        row(data, system, way, options.splits, options.jobs)
        for way in WAYS
        for data in map(load, options.data)
        for system in SYSTEMS
        if WAYS[way] < 1 or data.name in SMALL_SETS
    ]
    table = [["", "", "", *(f"{level:g}" for level in LEVELS)], *rows]
    print(markdown(table))
    if options.splits == N_SPLITS and tuple(options.data) == DATA:
        keep("conformal", {"sets": table}, by_level=False)


if __name__ == "__main__":
    main()
