"""Tables and picture of abstention."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from benchmarks.folds import Figures, Results
from benchmarks.preorder import ALGORITHMS
from benchmarks.table import markdown
from labelweave._common.drawing import COLOURS
from labelweave.evaluation import paired_t_test

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.figures import save

SHOWN = (100, 90, 80, 50)  # percents of coverage
REFERENCE = "`br`"


def column(folds: list[Figures], name: str, place: int) -> NDArray[np.float64]:
    """Return one figure of every fold."""
    return np.array([figures[name][place] for figures in folds])


def table(results: dict[str, Results], what: str, measure: str) -> str:
    """Return areas and accuracies; bold where the paired t-test sees more than independence."""
    head = ["", "folds", f"{measure}:", "area", *(f"at {percent} %" for percent in SHOWN)]
    rows = [head]
    for name, of_data in results.items():
        for system, folds in of_data.items():
            places = [(f"{what} area", 0), *((what, percent - 1) for percent in SHOWN)]
            cells = [
                _cell(column(folds, *place), column(of_data[REFERENCE], *place)) for place in places
            ]
            rows.append([name, str(len(folds)), system, *cells])
    return markdown(rows)


def _cell(scores: NDArray[np.float64], reference: NDArray[np.float64]) -> str:
    better = len(scores) > 1 and not np.array_equal(scores, reference)
    if better:
        better = paired_t_test(scores, reference).standing(higher_is_better=True) == "better"
    mark = "**" if better else ""
    return f"{mark}{scores.mean():.3f}{mark}"


def preorder_table(points: list[Figures], of_data: Results) -> str:
    """Return the points of preorder4mlc, and others at the same coverage of the same folds."""
    rows = [["emotions", "labels decided", "accuracy", *(f"{system}" for system in of_data)]]
    for place, algorithm in enumerate(ALGORITHMS):
        coverage, accuracy = (column(points, name, place) for name in ("coverage", "accuracy"))
        others = [_at(of_data[system], coverage).mean() for system in of_data]
        cells = [f"{value:.3f}" for value in (coverage.mean(), accuracy.mean(), *others)]
        rows.append([f"preorder4mlc: {algorithm}", *cells])
    return markdown(rows)


def _at(folds: list[Figures], coverage: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the accuracy of a system at a coverage of its own in each fold."""
    return np.array(
        [
            np.interp(share, np.arange(1, 101) / 100, figures["labels"])
            for share, figures in zip(coverage, folds, strict=True)
        ]
    )


def draw(results: dict[str, Results], preorder: list[Figures]) -> None:
    """Draw labels above rows, a column for each data set."""
    figure, panels = plt.subplots(
        2, len(results), figsize=(3.8 * len(results), 6.4), layout="constrained", squeeze=False
    )
    titles = (
        ("labels", "Hamming accuracy", "labels decided"),
        ("rows", "exact match", "rows kept"),
    )
    for k, (name, of_data) in enumerate(results.items()):
        for axes, (what, measure, share) in zip(panels[:, k], titles, strict=True):
            _draw_curves(axes, of_data, what)
            axes.set(xlabel=share, xlim=(1.0, 0.1), title=f"{name}, {len(of_data['chain'])} folds")
            axes.grid(alpha=0.3)
            if k == 0:
                axes.set_ylabel(measure)
    if preorder:
        points = [np.mean([f[what] for f in preorder], axis=0) for what in ("coverage", "accuracy")]
        panels[0, 0].plot(*points, "x", color="black", label="preorder4mlc")
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=4, fontsize=9)
    save(figure, "abstention")


def _draw_curves(axes: Any, of_data: Results, what: str) -> None:
    coverage = np.arange(1, 101) / 100
    for colour, (system, folds) in zip(COLOURS, of_data.items(), strict=False):
        mean = np.mean([figures[what] for figures in folds], axis=0)
        style = "--" if system.startswith("forest") else "-"
        label = system.strip("`")
        axes.plot(coverage[9:], mean[9:], style, color=colour, label=label)
        if what == "labels":
            prices = [
                np.mean([f[f"price {x}"] for f in folds], axis=0) for x in ("coverage", "accuracy")
            ]
            axes.plot(*prices, ".", color=colour)
