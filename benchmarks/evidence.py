"""What known labels are worth: exact match of the others as labels are revealed one after another.

Run as ``python -m benchmarks.evidence [DATA ...] [--folds 0,1,2]``. Every row reveals its labels in
an order of its own, the same for all systems. Folds are kept under ``build/evidence``, so that an
interrupted run continues; the table shows all folds that are there, and is kept once every data
set has some.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.folds import Figures, Fold, Results, fold_parser, kept_folds, measure_folds
from benchmarks.tables import Rows, keep, markdown
from labelweave import BinaryRelevance, ChainMixture, ClassifierChain, TreeMixture
from labelweave.inference import Auto

KEPT = Path("build/evidence")
DATA = ("emotions", "scene", "yeast", "enron")
SYSTEMS = {
    "`br`": BinaryRelevance(),
    "chain": ClassifierChain(),
    "mixture of trees": TreeMixture(),
    "mixture of chains": ChainMixture(),
}
SEED = 0
SHOWN = (0, 1, 2, 4, 8, 16)  # of more than a dozen labels


def revealed_before(rows: NDArray[np.int64], n_labels: int) -> NDArray[np.int64]:
    """Return how many labels are revealed before each label of each row, (n, L)."""
    orders = [np.random.default_rng([SEED, row]).permutation(n_labels) for row in rows]
    return np.array(orders, dtype=np.int64)


def counts_of(n_labels: int) -> list[int]:
    """Return the numbers of revealed labels that are measured; at least one label stays hidden."""
    return list(range(n_labels)) if n_labels <= 16 else [k for k in SHOWN if k < n_labels]


def match_by_evidence(model: Any, fold: Fold) -> Figures:
    """Return the exact match of the hidden labels for each number of revealed ones."""
    joint = model.fit(fold.X, fold.Y).predict_joint(fold.X_test)
    n_labels = fold.Y.shape[1]
    place = revealed_before(fold.test_rows, n_labels)
    matches = []
    for count in counts_of(n_labels):
        known = np.where(place < count, fold.Y_test, -1)
        given = joint.condition({j: known[:, j] for j in range(n_labels)}) if count else joint
        # Revealed labels are right whatever the model: the whole vector is if the hidden ones are.
        matches.append(float((Auto()(given).labels == fold.Y_test).all(axis=1).mean()))
    return {"revealed": [float(k) for k in counts_of(n_labels)], "exact_match": matches}


def table(results: dict[str, Results]) -> Rows:
    """Return a row for each data set and system, bold where a system is the best."""
    rows = [["", "folds", "labels known:", *map(str, SHOWN)]]
    for name, of_data in results.items():
        means = {}
        for system, folds in of_data.items():
            mean = np.mean([figures["exact_match"] for figures in folds], axis=0)
            means[system] = dict(zip(folds[0]["revealed"], mean.round(3), strict=True))
        for system, by_count in means.items():
            cells = []
            for count in SHOWN:
                value = by_count.get(count)
                best = value is not None and value == max(m[count] for m in means.values())
                mark = "**" if best else ""
                cells.append("" if value is None else f"{mark}{value:.3f}{mark}")
            rows.append([name, str(len(of_data[system])), system, *cells])
    return rows


def main() -> None:
    arguments = fold_parser(__doc__, DATA).parse_args()
    for name in arguments.data:
        measure_folds(KEPT, name, arguments.folds, SYSTEMS, match_by_evidence)
    found = {name: kept_folds(KEPT, name, SYSTEMS) for name in DATA}
    results = {name: of_data for name, of_data in found.items() if of_data["chain"]}
    print(markdown(table(results)))
    if len(results) == len(DATA):
        keep("evidence", {"known labels": table(results)}, by_level=False)


if __name__ == "__main__":
    main()
