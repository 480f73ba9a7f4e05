"""Plots of comparisons: scores of every fold, and average ranks over data sets (Demšar, 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.drawing import COLOURS, EDGE, INK, literal
from labelweave.evaluation import Comparison
from labelweave.metrics import METRICS
from labelweave.plots.canvas import Display, shortened, tidy

# The mark of another method and its meaning, by the result of the test of the first method.
_MARKS = {
    "better": ("v", COLOURS[1], "significantly worse than the first"),
    "worse": ("^", COLOURS[2], "significantly better than the first"),
    "tie": ("D", INK, "mean, no significant difference"),
    None: ("x", EDGE, "mean, no test possible"),
}
_FIRST = ("s", COLOURS[0], "mean of the first method")
_MEAN = ("|", INK, "mean")

# Heights in a rank diagram, in rows of methods; the axis is at zero and rows are counted downwards.
_RULER, _FIRST_BAR, _BAR, _BELOW_BARS = -1.5, 0.5, 0.4, 0.6
_ROW = 0.3  # inches


class ComparisonDisplay(Display):
    """The scores of several methods on all folds, one panel per metric, with a significance test.

    Grey points are folds, large marks are means; the shape of a mark shows whether the method
    differs significantly from the first one.

    Parameters
    ----------
    comparison : Comparison
        The result of `labelweave.compare`.
    metrics : iterable of str, optional
        Metrics to draw; by default all.
    test, alpha
        The t-test and its level of significance, as in `Comparison.verdicts`.

    Attributes
    ----------
    verdicts_ : dict
        By metric and then by method, whether the first method is "better", "worse" or a "tie".

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave import compare
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, cv=2, metrics=["f1_micro"])
    >>> display = ComparisonDisplay.from_comparison(result, ax=Figure().subplots())
    >>> display.ax_.get_title("left")
    'micro F1 ↑'
    """

    def __init__(
        self,
        comparison: Comparison,
        *,
        metrics: Iterable[str] | None = None,
        test: str = "paired",
        alpha: float = 0.05,
    ) -> None:
        self.comparison = comparison
        self.metrics = list(comparison.metrics if metrics is None else metrics)
        if not self.metrics:
            raise ValueError("metrics must name at least one metric of the comparison")
        self.verdicts_ = {
            metric: comparison.verdicts(metric, test=test, alpha=alpha) for metric in self.metrics
        }

    @classmethod
    def from_comparison(cls, comparison: Comparison, *, ax: Any = None, **options: Any) -> Self:
        """Draw the result of `labelweave.compare`; the options are the parameters of the class."""
        return cls(comparison, **options).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one panel per metric."""
        names = self.comparison.method_names
        size = (2.8, 0.36 * len(names) + 1.0)
        columns = 4 if len(self.metrics) == 4 else 3
        panels = self._panels(ax, len(self.metrics), size, columns=columns, sharey=True)
        used: dict[str, Any] = {}
        for panel, metric in zip(panels, self.metrics, strict=True):
            scores = {name: self.comparison.scores(name, metric) for name in names}
            used |= draw_strips(panel, scores, self.verdicts_[metric])
            arrow = "↑" if METRICS[metric].higher_is_better else "↓"
            panel.set_title(f"{METRICS[metric].title} {arrow}", fontsize=10, loc="left")
        style = {"fontsize": 8, "frameon": False}
        if ax is not None:
            panels[0].legend(used.values(), used.keys(), **style)
            return self
        lines = len(used) if len(self.metrics) == 1 else -(-len(used) // 2)
        width, height = self.figure_.get_size_inches()
        room = 0.08 * max(map(len, names))  # for the names beside the panels
        self.figure_.set_size_inches(width + room, height + 0.2 * lines)
        style["ncols"] = -(-len(used) // lines)
        self.figure_.legend(used.values(), used.keys(), loc="outside lower left", **style)
        return self


def draw_strips(
    panel: Any, scores: Mapping[str, Floats], standings: Mapping[str, str | None] | None = None
) -> dict[str, Any]:
    """Draw scores and means; return marks by meaning. Without a test, `standings` is None."""
    tidy(panel)
    panel.grid(visible=False, axis="y")
    used: dict[str, Any] = {}
    for place, (name, values) in enumerate(scores.items()):
        known = values[np.isfinite(values)]
        if len(known) == 0:
            middle = {"ha": "center", "va": "center", "color": EDGE}
            panel.text(0.5, place, "no scores", transform=panel.get_yaxis_transform(), **middle)
            continue
        (used["one fold"],) = panel.plot(
            known, np.full(len(known), place), "o", color=EDGE, alpha=0.5, markersize=4
        )
        if standings is None:
            mark, colour, meaning = _MEAN
        else:
            mark, colour, meaning = _FIRST if place == 0 else _MARKS[standings.get(name)]
        style = {"color": colour, "markersize": 10, "markeredgecolor": "white", "zorder": 3}
        if mark in "xD|":
            size = 12 if mark == "|" else 7
            style |= {"markersize": size, "markeredgecolor": colour, "markeredgewidth": 1.8}
        (used[meaning],) = panel.plot(known.mean(), place, mark, **style)
    panel.set_yticks(range(len(scores)), [literal(name) for name in scores])
    panel.set_ylim(max(len(scores), 1) - 0.5, -0.5)
    return used


def draw_ranks(panel: Any, ranks: Mapping[str, float], critical_difference: float) -> float:
    """Draw a critical-difference diagram, best rank at the left; return its height in inches."""
    known = {name: rank for name, rank in ranks.items() if math.isfinite(rank)}
    order = sorted(known, key=known.__getitem__)
    groups = indistinguishable_groups(known, critical_difference)
    # Average ranks lie between 1 and the number of methods; others widen the axis.
    low = math.floor(min([1.0, *known.values()]))
    high = math.ceil(max([2.0, float(len(ranks)), *known.values()]))
    first_row = _FIRST_BAR + _BAR * len(groups) + _BELOW_BARS
    left = low - 0.03 * (high - low)
    for place, name in enumerate(order):
        rank, y = known[name], first_row + place
        panel.plot([rank, rank, left], [0.0, y, y], color=EDGE, linewidth=1, clip_on=False)
        panel.plot(rank, 0.0, "o", color=INK, markersize=5, clip_on=False, zorder=3)
    for level, group in enumerate(groups):
        ends = [known[group[0]], known[group[-1]]]
        y = _FIRST_BAR + _BAR * level
        panel.plot(ends, [y, y], color=INK, linewidth=4, solid_capstyle="round", zorder=4)
    _draw_ruler(panel, low, high, critical_difference)
    names = [f"{literal(shortened(name, 26))}  {known[name]:.2f}" for name in order]
    panel.set_yticks(first_row + np.arange(len(order)), names)
    panel.set_xticks(range(low, high + 1, max(round((high - low) / 10), 1)))
    panel.xaxis.tick_top()
    panel.spines["top"].set(position=("data", 0.0), color=INK, bounds=(low, high))
    panel.spines[["left", "right", "bottom"]].set_visible(False)
    panel.tick_params(color=INK, labelcolor=INK)
    panel.tick_params(axis="y", length=0)
    bottom = first_row + len(order) - 0.5
    panel.set(xlim=(left, high), ylim=(bottom, _RULER - 0.8))
    return _ROW * (bottom - _RULER + 0.8) + 0.2


def _draw_ruler(panel: Any, low: int, high: int, critical_difference: float) -> None:
    """Draw a line as long as the critical difference, or as the axis if that is shorter."""
    if not math.isfinite(critical_difference):
        return
    wider = " (longer than the axis)" if low + critical_difference > high else ""
    end = min(low + critical_difference, high)
    panel.plot([low, end], [_RULER, _RULER], color=INK, marker="|", linewidth=1)
    panel.text(low, _RULER - 0.25, f"CD = {critical_difference:.3g}{wider}", va="bottom")


def indistinguishable_groups(
    ranks: Mapping[str, float], critical_difference: float
) -> list[tuple[str, ...]]:
    """Return the maximal groups of methods whose ranks differ by less than the difference."""
    order = sorted(ranks, key=ranks.__getitem__)
    groups: list[tuple[str, ...]] = []
    reached = 0
    for start, first in enumerate(order):
        end = start
        while end < len(order) and ranks[order[end]] - ranks[first] < critical_difference:
            end += 1
        # A group with the same end as an earlier group is part of it.
        if end > max(reached, start + 1):
            groups.append(tuple(order[start:end]))
        reached = max(reached, end)
    return groups
