"""Abstention: how accurate the labels, or the rows, are of which a model is surest.

Run as ``python -m benchmarks.abstention [DATA ...] [--folds 0,1,2] [--preorder PYTHON]``, where
PYTHON is an interpreter with preorder4mlc, which is then run on emotions. Folds are kept under
``build/abstention``, so that a run that was stopped goes on where it was; tables and picture show
all that was kept, and go to README.md and ``benchmarks/figures/abstention.png`` once every data
set has some.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from benchmarks.abstention_figures import draw, preorder_table, table
from benchmarks.folds import Figures, Fold, Results, fold_parser, kept_folds, measure_folds
from benchmarks.preorder import PreorderPeer, open_points
from benchmarks.table import README, replace_between
from benchmarks.weave import Alone
from labelweave import (
    BinaryRelevance,
    ChainMixture,
    ClassifierChain,
    JointClassifierCV,
    TreeMixture,
)
from labelweave.decision import HammingLoss, PartialAbstention
from labelweave.inference import Auto

BEGIN = "<!-- written by python -m benchmarks.abstention: begin -->"
END = "<!-- written by python -m benchmarks.abstention: end -->"
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
PREORDER = {"preorder4mlc": PreorderPeer()}
COVERAGES = np.arange(1, 101) / 100
PRICES = (0.05, 0.1, 0.2, 0.3, 0.4)


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
    decided = [PartialAbstention(price)(joint) for price in PRICES]
    figures["price coverage"] = [float((part >= 0).mean()) for part in decided]
    figures["price accuracy"] = [float((part == fold.Y_test)[part >= 0].mean()) for part in decided]
    return figures


def _write(results: dict[str, Results], beside: Results) -> None:
    preorder = beside["preorder4mlc"]
    parts = [table(results, "labels", "Hamming accuracy"), table(results, "rows", "exact match")]
    if preorder:
        parts.append(preorder_table(preorder, {system: beside[system] for system in SYSTEMS}))
    print(*parts, sep="\n")
    if len(results) == len(DATA):
        replace_between(README, BEGIN, END, parts)
        draw(results, preorder)


def main() -> None:
    parser = fold_parser(__doc__, DATA)
    parser.add_argument("--preorder", type=Path, help="a Python that has preorder4mlc")
    arguments = parser.parse_args()
    for name in arguments.data:
        measure_folds(KEPT, name, arguments.folds, SYSTEMS, abstention_curves)
    if arguments.preorder is not None:
        measure = partial(open_points, python=arguments.preorder)
        measure_folds(KEPT, "emotions", arguments.folds, PREORDER, measure)
    kept = {name: kept_folds(KEPT, name, SYSTEMS) for name in DATA}
    results = {name: of_data for name, of_data in kept.items() if of_data["chain"]}
    _write(results, kept_folds(KEPT, "emotions", SYSTEMS | PREORDER))


if __name__ == "__main__":
    main()
