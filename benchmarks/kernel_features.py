"""What kernel features add to a chain, and what they cost: `python -m benchmarks.kernel_features`.

Chains on the features themselves, on `KernelFeatures`, and on scikit-learn's Nyström features.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import one_blas_thread
from benchmarks.tables import keep, markdown
from labelweave import ClassifierChain, KernelFeatures, load
from labelweave.decision import UnprovenModeWarning

SETS = ("emotions", "scene", "image", "yeast", "enron")
N_FOLDS = 2


def scikit_learns(X: Any) -> Nystroem:
    """Return scikit-learn's transformer with the width of the median heuristic."""
    gamma = KernelFeatures(gamma="median", n_components=1).fit(X).gamma_
    return Nystroem(gamma=gamma, n_components=min(600, X.shape[0]), random_state=0)


FEATURES: dict[str, Callable[[Any], Any]] = {
    "none": lambda X: None,
    "`KernelFeatures()`": lambda X: KernelFeatures(),
    '`gamma="median"`': lambda X: KernelFeatures(gamma="median"),
    "scikit-learn's, median": scikit_learns,
}


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return the result of a call and its CPU time."""
    begin = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - begin


def fold_figures(make: Callable[[Any], Any], data: Any, train: Any, test: Any) -> list[float]:
    """Return exact match, CLL-loss per row, CPU times of the steps, number, and width."""
    X, Y = data.X, np.asarray(data.Y, dtype=np.int8)
    X_train, X_test = X[train], X[test]
    if not issparse(X):
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    features = make(X_train)
    choosing = transforming = width = 0.0
    if features is not None:
        features, choosing = timed(features.fit, X_train, Y[train])
        width = getattr(features, "gamma_", features.gamma) / scikit_learns(X_train).gamma
        X_train, transforming = timed(features.transform, X_train)
        X_test = features.transform(X_test)
    chain, fitting = timed(ClassifierChain().fit, X_train, Y[train])
    joint = chain.predict_joint(X_test)
    exact = (chain.predict(X_test) == Y[test]).all(axis=1).mean()
    loss = -joint.log_prob(Y[test]).mean()
    per_row = transforming / len(train)
    return [exact, loss, choosing, 1e6 * per_row, fitting, X_train.shape[1], width]


def line(name: str, features: str) -> list[str]:
    """Return a line of the table: means over the folds."""
    data = load(name)
    splits = KFold(10, shuffle=True, random_state=0).split(data.Y)
    folds = [fold_figures(FEATURES[features], data, *split) for split in islice(splits, N_FOLDS)]
    exact, loss, choosing, per_row, fitting, number, width = np.mean(folds, axis=0)
    cells = [name, features, f"{exact:.3f}", f"{loss:.3f}", f"{number:.0f}"]
    if features == "none":
        return [*cells, "", "", "", f"{fitting:.2f} s", ""]
    costs = [f"{choosing:.2f} s", f"{per_row:.0f} µs", f"{fitting:.2f} s"]
    return [*cells, f"{width:.3g}", *costs, f"{choosing / fitting:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kernel_features", description=__doc__
    )
    parser.add_argument("sets", nargs="*", default=SETS, help=f"data sets (all: {' '.join(SETS)})")
    arguments = parser.parse_args()
    use_published_data()
    warnings.simplefilter("ignore", UnprovenModeWarning)
    header = ["data set", "features", "exact match", "CLL-loss per row", "number", "γ × median"]
    rows = [[*header, "choosing them", "computing them, per row", "fitting the chain", "multiple"]]
    with one_blas_thread():
        for name in arguments.sets:
            for features in FEATURES:
                rows.append(line(name, features))
                print(rows[-1], flush=True)
    print(markdown(rows))
    if set(arguments.sets) >= set(SETS):
        keep("kernel_features", {"chains": rows})


if __name__ == "__main__":
    main()
