"""What known labels are worth: exact match of the others as labels are revealed one after another.

Run as ``python -m benchmarks.evidence [DATA ...] [--folds 0,1,2]``. Every row reveals its labels in
an order of its own, the same for all systems. Folds are kept under ``build/evidence``, so that a
run that was stopped goes on where it was; table and picture show all that was kept, and go to
README.md and ``benchmarks/figures/evidence.png`` once every data set has some.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from benchmarks.folds import Figures, Fold, Results, fold_parser, kept_folds, measure_folds
from benchmarks.table import README, markdown, replace_between
from labelweave import BinaryRelevance, ChainMixture, ClassifierChain, TreeMixture
from labelweave._common.drawing import COLOURS
from labelweave.inference import Auto

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.figures import save

BEGIN = "<!-- written by python -m benchmarks.evidence: begin -->"
END = "<!-- written by python -m benchmarks.evidence: end -->"
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


def curve_of(folds: list[Figures]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return numbers of revealed labels, mean exact match and its standard error over folds."""
    matches = np.array([figures["exact_match"] for figures in folds])
    spread = matches.std(axis=0, ddof=1) if len(matches) > 1 else np.zeros(matches.shape[1])
    return np.array(folds[0]["revealed"]), matches.mean(axis=0), spread / np.sqrt(len(matches))


def table(results: dict[str, Results]) -> str:
    """Return a row for each data set and system, bold where a system is the best."""
    rows = [["", "folds", "labels known:", *map(str, SHOWN)]]
    for name, of_data in results.items():
        means = {}
        for system, folds in of_data.items():
            revealed, mean, _ = curve_of(folds)
            means[system] = dict(zip(revealed, mean.round(3), strict=True))
        for system, by_count in means.items():
            cells = []
            for count in SHOWN:
                value = by_count.get(count)
                best = value is not None and value == max(m[count] for m in means.values())
                mark = "**" if best else ""
                cells.append("" if value is None else f"{mark}{value:.3f}{mark}")
            rows.append([name, str(len(of_data[system])), system, *cells])
    return markdown(rows)


def draw(results: dict[str, Results]) -> None:
    """Draw a panel for each data set."""
    figure, panels = plt.subplots(
        1, len(results), figsize=(3.4 * len(results), 3.6), layout="constrained", squeeze=False
    )
    for axes, (name, of_data) in zip(panels[0], results.items(), strict=True):
        for colour, (system, folds) in zip(COLOURS, of_data.items(), strict=False):
            revealed, mean, error = curve_of(folds)
            label = system.strip("`")
            axes.errorbar(revealed, mean, error, color=colour, marker="o", ms=4, label=label)
        axes.set(title=f"{name}, {len(folds)} folds", xlabel="labels known")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel("exact match of the others")
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, fontsize=9)
    save(figure, "evidence")


def main() -> None:
    arguments = fold_parser(__doc__, DATA).parse_args()
    for name in arguments.data:
        measure_folds(KEPT, name, arguments.folds, SYSTEMS, match_by_evidence)
    kept = {name: kept_folds(KEPT, name, SYSTEMS) for name in DATA}
    results = {name: of_data for name, of_data in kept.items() if of_data["chain"]}
    print(table(results))
    if len(results) == len(DATA):
        replace_between(README, BEGIN, END, [table(results)])
        draw(results)


if __name__ == "__main__":
    main()
