"""Mixtures of trees on real data: what each further tree brings, and how often decoding is proven.

Run as ``python -m benchmarks.mixtures [--folds 10]``; the table goes to README.md, the picture to
``benchmarks/figures/trees.png``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.measure import machine
from benchmarks.table import README, markdown, replace_between
from labelweave import TreeMixture, TreeNetwork, load
from labelweave.inference import Annealing, BestFirst

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.figures import save

BEGIN = "<!-- written by python -m benchmarks.mixtures: begin -->"
END = "<!-- written by python -m benchmarks.mixtures: end -->"
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20)
DRAWN = ("emotions", "scene", "image")
DECODED = ("emotions", "yeast", "scene", "image")

Fold = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class Decoding:
    """How the mode of a mixture of eight trees was found in one fold."""

    n_rows: int
    proven: int
    listed: float
    found: int
    "Rows for which annealing found the proven mode."


def folds_of(name: str, n_folds: int) -> list[Fold]:
    """Return standardised training and test rows of the first folds of ten."""
    data = load(name)
    folds = []
    for train, test in list(KFold(10, shuffle=True, random_state=0).split(data.X))[:n_folds]:
        scaler = StandardScaler().fit(data.X[train])
        inside, outside = scaler.transform(data.X[train]), scaler.transform(data.X[test])
        folds.append((inside, data.Y[train], outside, data.Y[test]))
    return folds


def curve(fold: Fold, gate: str) -> NDArray[np.float64]:
    """Return exact match and CLL-loss per row of mixtures of growing size, (S, 2)."""
    X, Y, test_X, test_Y = fold
    with threadpool_limits(limits=1):
        single = TreeNetwork().fit(X, Y)
        figures = []
        for size in SIZES:
            model = TreeMixture(
                n_components=size, gate=gate, C=single.C_, label_penalty=single.label_penalty_
            ).fit(X, Y)
            joint = model.predict_joint(test_X)
            match = (model.predict(test_X) == test_Y).all(axis=1).mean()
            figures.append((match, -joint.log_prob(test_Y).mean()))
    return np.array(figures)


def decode(fold: Fold) -> Decoding:
    X, Y, test_X, _ = fold
    with threadpool_limits(limits=1):
        joint = TreeMixture(n_components=8).fit(X, Y).predict_joint(test_X)
        proven, annealed = BestFirst(10_000)(joint), Annealing()(joint)
    same = (proven.labels == annealed.labels).all(axis=1)
    return Decoding(
        len(test_X), int(proven.optimal.sum()), float(proven.nodes.mean()), int(same.sum())
    )


def draw(curves: dict[str, dict[str, NDArray[np.float64]]]) -> None:
    """Draw CLL-loss above exact match, a column for each data set, as in the paper."""
    figure, axes = plt.subplots(
        2, len(curves), figsize=(11, 6), layout="constrained", sharex=True, squeeze=False
    )
    for column, (name, by_gate) in enumerate(curves.items()):
        for gate, figures in by_gate.items():
            for row, measure in ((0, 1), (1, 0)):
                mean = figures[:, :, measure].mean(axis=0)
                error = figures[:, :, measure].std(axis=0) / np.sqrt(len(figures))
                label = f"{gate} mixing weights"
                axes[row, column].errorbar(SIZES, mean, error, marker="o", capsize=2, label=label)
        n_folds = len(next(iter(by_gate.values())))
        axes[0, column].set(title=f"{name}, {n_folds} folds", ylabel="CLL-loss per row")
        axes[1, column].set(xlabel="trees", ylabel="exact match", xticks=SIZES)
    for ax in axes.flat:
        ax.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    save(figure, "trees")


def decoding_table(results: dict[str, list[Decoding]]) -> str:
    rows = [
        [
            "data set",
            "rows",
            "proven by `BestFirst(10_000)`",
            "vectors listed per row",
            "annealed",
        ]
    ]
    for name, parts in results.items():
        n_rows = sum(part.n_rows for part in parts)
        proven = sum(part.proven for part in parts) / n_rows
        found = sum(part.found for part in parts) / n_rows
        listed = sum(part.listed * part.n_rows for part in parts) / n_rows
        rows.append([name, str(n_rows), f"{proven:.1%}", f"{listed:.1f}", f"{found:.1%}"])
    return markdown(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=10, help="folds of ten to measure")
    parser.add_argument("--gates", default="linear,constant", help="kinds of mixing weights")
    arguments = parser.parse_args()
    with Parallel(n_jobs=-1) as pool:
        results = {
            name: pool(delayed(decode)(fold) for fold in folds_of(name, arguments.folds))
            for name in DECODED
        }
        parts = [
            f"Measured on {machine()}, {arguments.folds} of ten folds.",
            decoding_table(results),
        ]
        replace_between(README, BEGIN, END, parts)
        curves: dict[str, dict[str, NDArray[np.float64]]] = {}
        for name in DRAWN:
            folds = folds_of(name, arguments.folds)
            curves[name] = {
                gate: np.array(pool(delayed(curve)(fold, gate) for fold in folds))
                for gate in arguments.gates.split(",")
            }
            draw(curves)


if __name__ == "__main__":
    main()
