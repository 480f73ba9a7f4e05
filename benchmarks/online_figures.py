"""The pictures of the BOMC paper: learning curves (5), coupled or not (6), training time (7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from benchmarks.figures import save

mpl.use("Agg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from benchmarks.online_quality import Figure

# What is drawn, and how: one colour per learner, one line style per decision rule.
SHOWN = {
    "BOMC CMN": ("tab:blue", "-"),
    "BOMC sample": ("tab:blue", "--"),
    "BOMC-IND CMN": ("tab:cyan", "-"),
    "BOMC-IND sample": ("tab:cyan", "--"),
    "BOMC-published CMN": ("tab:purple", ":"),
    "PA CV": ("tab:orange", "-"),
    "PA CMN": ("tab:orange", ":"),
    "SGD CV": ("tab:green", "-"),
    "SVM CV": ("black", "-"),
    "SVM CMN": ("black", ":"),
}


def draw_all(figures: Sequence[Figure], sizes: Sequence[int]) -> None:
    draw_curves(figures, sizes)
    draw_coupling(figures, sizes)
    draw_seconds(figures, sizes)


def draw_curves(figures: Sequence[Figure], sizes: Sequence[int]) -> None:
    picture, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for axes, measure in zip(panels, ("macro", "micro"), strict=True):
        for method, (colour, style) in SHOWN.items():
            values = [_of(figures, method, size, measure) for size in sizes]
            means, spreads = [np.mean(v) for v in values], [np.std(v) for v in values]
            axes.errorbar(
                sizes, means, spreads, color=colour, linestyle=style, marker=".", label=method
            )
        axes.set(xscale="log", xlabel="training documents", ylabel=f"{measure} F1")
        _plain_ticks(axes, sizes)
    panels[1].legend(fontsize=8)
    save(picture, "online_curves")


def draw_coupling(figures: Sequence[Figure], sizes: Sequence[int]) -> None:
    picture, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    places = np.arange(len(sizes))
    pairs = [
        (_of(figures, "BOMC CMN", size, "macro"), _of(figures, "BOMC-IND CMN", size, "macro"))
        for size in sizes
    ]
    n_splits = min(len(coupled) for coupled, _ in pairs)
    for split in range(n_splits):
        gains = [200 * (c[split] - i[split]) / (c[split] + i[split]) for c, i in pairs]
        axes.bar(places + 0.8 * (split + 0.5) / n_splits - 0.4, gains, 0.8 / n_splits)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(places, [f"{size:,}" for size in sizes])
    axes.set(xlabel="training documents", ylabel="macro F1, coupled over independent, %")
    axes.set_title("a bar a split", fontsize=9)
    save(picture, "online_coupling")


def draw_seconds(figures: Sequence[Figure], sizes: Sequence[int]) -> None:
    picture, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    for method in ("BOMC CMN", "BOMC-IND CMN", "PA CV", "SGD CV", "SVM CV"):
        seconds = [np.median(_of(figures, method, size, "seconds")) for size in sizes]
        axes.plot(sizes, seconds, color=SHOWN[method][0], marker=".", label=method.split()[0])
    axes.set(xscale="log", yscale="log", xlabel="training documents", ylabel="CPU seconds to train")
    _plain_ticks(axes, sizes)
    axes.legend(fontsize=8)
    save(picture, "online_seconds")


def _of(figures: Sequence[Figure], method: str, size: int, measure: str) -> list[float]:
    """One number a split, in the order of the splits."""
    found = [f for f in figures if (f.method, f.size) == (method, size)]
    return [getattr(f, measure) for f in sorted(found, key=lambda f: f.split)]


def _plain_ticks(axes: Any, sizes: Sequence[int]) -> None:
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
