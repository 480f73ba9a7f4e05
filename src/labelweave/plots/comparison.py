"""The folds of a comparison, with significance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from labelweave._common.drawing import COLOURS, EDGE, INK, literal
from labelweave.evaluation import METRICS, Comparison
from labelweave.plots.canvas import Display, tidy

__all__ = ["ComparisonDisplay"]

# By what the test says of the first method: how another method is marked, and what that means.
_MARKS = {
    "better": ("v", COLOURS[1], "significantly worse than the first"),
    "worse": ("^", COLOURS[2], "significantly better than the first"),
    "tie": ("D", INK, "mean, no significant difference"),
    None: ("x", EDGE, "mean, no test possible"),
}
_FIRST = ("s", COLOURS[0], "mean of the first method")


class ComparisonDisplay(Display):
    """The scores of several methods on all folds, one panel per metric, with a test's verdicts.

    Grey points are folds, large marks are means; their form says whether a method differs
    significantly from the first one.

    Parameters
    ----------
    comparison : Comparison
        The result of `labelweave.compare`.
    metrics : iterable of str, optional
        Metrics to draw; by default all.
    test : {"paired", "corrected"}, default="paired"
        The t-test, as in `Comparison.verdicts`.
    alpha : float, default=0.05
        Significance level.

    Attributes
    ----------
    verdicts_ : dict
        By metric and then by method, whether the first method is "better", "worse" or a "tie".
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave.evaluation import compare
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, cv=2, metrics=["f1_micro"])
    >>> display = ComparisonDisplay.from_comparison(result)
    >>> display.ax_.get_title("left")
    'micro F1 ↑'
    >>> plt.close(display.figure_)
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
    def from_comparison(
        cls,
        comparison: Comparison,
        *,
        metrics: Iterable[str] | None = None,
        test: str = "paired",
        alpha: float = 0.05,
        ax: Any = None,
    ) -> Self:
        """Draw the result of `labelweave.compare`.

        Parameters
        ----------
        comparison, metrics, test, alpha
            As in the class.
        ax : matplotlib Axes, or a sequence with one for each metric, optional
        """
        return cls(comparison, metrics=metrics, test=test, alpha=alpha).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one panel per metric.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence with one for each metric, optional
            By default panels of a new figure.
        """
        names = self.comparison.method_names
        size = (2.8, 0.36 * len(names) + 1.0)
        columns = 4 if len(self.metrics) == 4 else 3
        panels = self._panels(ax, len(self.metrics), size, columns=columns, sharey=True)
        used: dict[str, Any] = {}
        for panel, metric in zip(panels, self.metrics, strict=True):
            used |= self._draw(panel, metric)
        style = {"fontsize": 8, "frameon": False}
        if ax is not None:
            panels[0].legend(used.values(), used.keys(), **style)
            return self
        lines = len(used) if len(self.metrics) == 1 else -(-len(used) // 2)
        width, height = self.figure_.get_size_inches()
        room = 0.08 * max(map(len, names))  # for the names, which stand beside the panels
        self.figure_.set_size_inches(width + room, height + 0.2 * lines)
        style["ncols"] = -(-len(used) // lines)
        self.figure_.legend(used.values(), used.keys(), loc="outside lower left", **style)
        return self

    def _draw(self, panel: Any, metric: str) -> dict[str, Any]:
        """Draw the folds and means of one metric; return the marks by what they mean."""
        tidy(panel)
        panel.grid(visible=False, axis="y")
        names, used = self.comparison.method_names, {}
        for place, name in enumerate(names):
            scores = self.comparison.scores(name, metric)
            known = scores[np.isfinite(scores)]
            if len(known) == 0:
                where = panel.get_yaxis_transform()
                panel.text(
                    0.5, place, "no scores", transform=where, ha="center", va="center", color=EDGE
                )
                continue
            at = np.full(len(known), place)
            (used["one fold"],) = panel.plot(known, at, "o", color=EDGE, alpha=0.5, ms=4)
            first = place == 0
            mark, colour, meaning = _FIRST if first else _MARKS[self.verdicts_[metric][name]]
            style = {"color": colour, "markersize": 10, "markeredgecolor": "white", "zorder": 3}
            if mark in "xD":
                style |= {"markersize": 7, "markeredgecolor": colour}
            (used[meaning],) = panel.plot(known.mean(), place, mark, **style)
        panel.set_yticks(range(len(names)), [literal(name) for name in names])
        panel.set_ylim(len(names) - 0.5, -0.5)
        arrow = "↑" if METRICS[metric].higher_is_better else "↓"
        panel.set_title(f"{METRICS[metric].title} {arrow}", fontsize=10, loc="left")
        return used
