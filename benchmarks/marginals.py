"""Marginals of long chains, and modes of mixtures of them: `python -m benchmarks.marginals`.

Marginals come from populations of weighted prefixes, and are compared with exact ones or with
those of many more prefixes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import one_blas_thread
from benchmarks.tables import Rows, keep, markdown, rounded
from labelweave import ClassifierChain, load
from labelweave.inference import Auto
from labelweave.joint import ChainJoint, MixtureJoint

# Rows of the marginals, and rows and components of the mixtures.
SETS = {"yeast": 40, "slashdot": 40, "enron": 20, "corel5k": 5}
MIXTURES = {"slashdot": (40, 3), "enron": (20, 3), "corel5k": (4, 2)}
SAMPLES, REFERENCE_SAMPLES, RUNS = 1000, 16_000, 3


def split(name: str) -> tuple[Any, Any, Any, Any]:
    """Return X and Y of nine tenths of a set, and of the other tenth."""
    data = load(name)
    Y = np.asarray(data.Y, dtype=np.int8)
    train, test = np.split(np.random.default_rng(0).permutation(len(Y)), [int(0.9 * len(Y))])
    X: Any = data.X
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit(X[train]).transform(X)
    return X[train], Y[train], X[test], Y[test]


def timed_runs(run: Callable[[int], Any]) -> tuple[list[Any], float]:
    """Return the results of some seeds, and the CPU time of the fastest."""
    results, seconds = [], []
    for seed in range(RUNS):
        begin = time.process_time()
        results.append(run(seed))
        seconds.append(time.process_time() - begin)
    return results, min(seconds)


def estimated(name: str, joint: ChainJoint, quantity: str) -> list[str]:
    """Return a line of the table: errors of an estimate and its CPU time."""
    exact = joint.estimate(quantity)
    truth = (
        exact.value
        if exact.exact.all()
        else joint.estimate(quantity, samples=REFERENCE_SAMPLES, random_state=99).value
    )
    # `estimate` would enumerate the rows of few labels.
    found, seconds = timed_runs(lambda seed: joint._drawn(quantity, SAMPLES, seed))
    error = np.stack([np.abs(value - truth) for value, _ in found])
    stated = np.stack([each for _, each in found])
    return [
        *(name, str(joint.n_labels), quantity),
        f"{np.sqrt(np.mean(error**2)):.1e}",
        f"{np.sqrt(np.mean(stated**2)):.1e}",
        f"{np.mean(error <= 2 * stated + 1e-12):.0%}",
        f"{seconds / joint.n_rows * 1e3:.2g}",
    ]


def estimates(sets: list[str]) -> Rows:
    """Return the table of estimated quantities."""
    head = ["data set", "labels", "quantity", "error", "stated error"]
    rows = [[*head, "within 2 stated errors", "ms per row"]]
    for name in sets:
        X, Y, X_test, _ = split(name)
        model = ClassifierChain(random_state=0, n_jobs=1).fit(X, Y)
        joint = model.predict_joint(X_test)[: SETS[name]]
        for quantity in ("marginals", "cardinality"):
            rows.append(estimated(name, joint, quantity))
            print(rows[-1], flush=True)
    return rows


def modes(sets: list[str]) -> Rows:
    """Return the table of modes of mixtures of chains."""
    head = ["data set", "labels", "components", "log-odds", "rows", "proven", "mean gap"]
    rows = [[*head, "mean log-probability", "ms per row"]]
    for name in sets:
        n_rows, n_components = MIXTURES[name]
        X, Y, X_test, _ = split(name)
        rng = np.random.default_rng(1)
        models = []
        for _ in range(n_components):
            drawn = rng.integers(0, len(Y), size=len(Y))
            order = rng.permutation(Y.shape[1])
            model = ClassifierChain(C=0.1, label_penalty=0.1, order=order, n_jobs=1)
            models.append(model.fit(X[drawn], Y[drawn]).predict_joint(X_test[:n_rows]))
        for scale in (1.0, 0.5):
            rows.append(modes_row(name, models, scale))
            print(rows[-1], flush=True)
    return rows


def modes_row(name: str, chains: list[ChainJoint], scale: float) -> list[str]:
    """Return a line: the modes of a mixture."""
    parts = [ChainJoint(scale * c.scores, scale * c.coupling, c.order) for c in chains]
    mixture = MixtureJoint(np.full(len(parts), 1 / len(parts)), parts)
    begin = time.process_time()
    mode = Auto()(mixture)
    milliseconds = (time.process_time() - begin) / mixture.n_rows * 1e3
    row = [name, str(chains[0].n_labels), str(len(chains)), f"× {scale:g}", str(chains[0].n_rows)]
    row += [f"{mode.optimal.mean():.0%}", f"{mode.gap.mean():.2f}"]
    return [*row, f"{mode.log_prob.mean():.4f}", rounded(milliseconds, 3)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.marginals", description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=f"of {' '.join(SETS)}")
    sets = list(parser.parse_args().sets)
    use_published_data()
    with one_blas_thread():
        tables = {
            "estimates": estimates(sets),
            "modes": modes([name for name in sets if name in MIXTURES]),
        }
    print(*map(markdown, tables.values()), sep="\n")
    if set(sets) >= set(SETS):
        keep("marginals", tables)


if __name__ == "__main__":
    main()
