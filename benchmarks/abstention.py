"""Abstention: how accurate the labels, or the rows, are of which a model is surest.

Run as ``python -m benchmarks.abstention [DATA ...] [--folds 0,1,2]``. Folds are kept under
``build/abstention``, so that an interrupted run continues; the tables show all folds that are
there, and are kept once every data set has some.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from benchmarks.folds import Figures, Fold, Results, fold_parser, kept_folds, measure_folds
from benchmarks.tables import Rows, keep, markdown
from benchmarks.weave import Alone
from labelweave import (
    BinaryRelevance,
    ChainMixture,
    ClassifierChain,
    JointClassifierCV,
    TreeMixture,
)
from labelweave.decision import HammingLoss
from labelweave.evaluation import paired_t_test
from labelweave.inference import Auto

KEPT = Path("build/abstention")
DATA = ("emotions", "scene", "yeast")
FOREST = RandomForestClassifier(random_state=0)
SYSTEMS = {
    "`br`": BinaryRelevance(),
    "chain": ClassifierChain(),
    "mixture of trees": TreeMixture(),
    "mixture of chains": ChainMixture(),
    "forest": Alone(estimator=FOREST, random_state=0),
    "forest, woven": JointClassifierCV(estimator=FOREST, random_state=0),
}
COVERAGES = np.arange(1, 101) / 100
SHOWN = (100, 90, 80, 50)  # percents of coverage
REFERENCE = "`br`"


def accuracies(confidence: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """Return the accuracy of the surest 1, 2, …, n decisions."""
    order = np.argsort(-confidence, kind="stable")
    hits: NDArray[np.float64] = np.cumsum(right[order]) / np.arange(1, len(right) + 1)
    return hits


def _summary(name: str, curve: NDArray[np.float64]) -> Figures:
    """Return a curve at all percents of coverage, and the area under it."""
    last = np.ceil(COVERAGES * len(curve) - 1e-9).astype(int) - 1
    return {name: curve[last].tolist(), f"{name} area": [float(curve.mean())]}


def abstention_curves(model: Any, fold: Fold) -> Figures:
    """Return accuracy by coverage: of labels by their expected cost, of rows by P(ŷ | x)."""
    joint = model.fit(fold.X, fold.Y).predict_joint(fold.X_test)
    loss = HammingLoss()
    labels = loss(joint)
    costs = loss.costs(joint, labels)
    figures = _summary("labels", accuracies(-costs.ravel(), (labels == fold.Y_test).ravel()))
    mode = Auto()(joint)
    right = (mode.labels == fold.Y_test).all(axis=1)
    figures |= _summary("rows", accuracies(mode.log_prob, right))
    return figures


def table(results: dict[str, Results], what: str, measure: str) -> Rows:
    """Return areas and accuracies; bold where the paired t-test sees more than independence."""
    head = ["", "folds", f"{measure}:", "area", *(f"at {percent} %" for percent in SHOWN)]
    rows = [head]
    for name, of_data in results.items():
        for system, folds in of_data.items():
            places = [(f"{what} area", 0), *((what, percent - 1) for percent in SHOWN)]
            cells = [
                _cell(_column(folds, *place), _column(of_data[REFERENCE], *place))
                for place in places
            ]
            rows.append([name, str(len(folds)), system, *cells])
    return rows


def _column(folds: list[Figures], name: str, place: int) -> NDArray[np.float64]:
    """Return one figure of every fold."""
    return np.array([figures[name][place] for figures in folds])


def _cell(scores: NDArray[np.float64], reference: NDArray[np.float64]) -> str:
    better = len(scores) > 1 and not np.array_equal(scores, reference)
    if better:
        better = paired_t_test(scores, reference).standing(higher_is_better=True) == "better"
    mark = "**" if better else ""
    return f"{mark}{scores.mean():.3f}{mark}"


def main() -> None:
    arguments = fold_parser(__doc__, DATA).parse_args()
    for name in arguments.data:
        measure_folds(KEPT, name, arguments.folds, SYSTEMS, abstention_curves)
    found = {name: kept_folds(KEPT, name, SYSTEMS) for name in DATA}
    results = {name: of_data for name, of_data in found.items() if of_data["chain"]}
    tables = {
        "labels": table(results, "labels", "Hamming accuracy"),
        "rows": table(results, "rows", "exact match"),
    }
    print(*map(markdown, tables.values()), sep="\n")
    if len(results) == len(DATA):
        keep("abstention", tables, by_level=False)


if __name__ == "__main__":
    main()
