"""How strongly each label depends on each other one, given the features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice
from labelweave._common.drawing import matplotlib_missing
from labelweave.evaluation import LabelDependence
from labelweave.joint import JointDistribution
from labelweave.plots.canvas import choose_labels
from labelweave.plots.heat_map import HeatMap
from labelweave.plots.models import joint_of

__all__ = ["DependenceMatrixDisplay"]

Measure: TypeAlias = Literal["mutual_information", "log_odds_ratio"]
_TITLES = {
    "mutual_information": "mutual information given x, nats",
    "log_odds_ratio": "log-odds ratio given x",
}
# Odds that change 150-fold: stronger dependence has the same colour, lest it pale all other.
_MOST_LOG_ODDS = 5.0
# Less than this is the rounding of labels that do not depend on each other.
_ROUNDING = 1e-9


class DependenceMatrixDisplay(HeatMap):
    """Mutual information or log-odds ratios of all pairs of labels, as colours.

    Log-odds ratios are red where two labels attract each other, blue where they repel each other.
    Colours of mutual information follow its square root, so that a single strong pair does not
    hide the others. Labels that depend on each other stand side by side.

    Parameters
    ----------
    dependence : LabelDependence
    of : {"mutual_information", "log_odds_ratio"}, default="mutual_information"
    title : str, optional

    Attributes
    ----------
    shown_ : (K,) int array
        The labels that are drawn.
    image_ : matplotlib AxesImage
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import labelweave as lw
    >>> data = lw.load_emotions()
    >>> model = lw.TreeNetwork(C=0.01, label_penalty=0.03).fit(data.X, data.Y)
    >>> display = DependenceMatrixDisplay.from_estimator(model, data.X, of="log_odds_ratio")
    >>> display.dependence.to_frame(top=1).round(2)
      label other_label  mutual_information  log_odds_ratio
    0     2           5                0.07           -2.39
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        dependence: LabelDependence,
        *,
        of: Measure = "mutual_information",
        title: str | None = None,
    ) -> None:
        check_choice(of, "of", tuple(_TITLES))
        self.of: Measure = of
        self.dependence = dependence
        self.label_names = dependence.label_names
        self.title = f"{_TITLES[of]}: {dependence.rows}" if title is None else title

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        of: Measure = "mutual_information",
        row: int | None = None,
        label_names: Sequence[str] | None = None,
        labels: Sequence[int | str] | None = None,
        max_labels: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw the dependence of labels in a row, or averaged over all rows.

        Parameters
        ----------
        joint : JointDistribution
        of : {"mutual_information", "log_odds_ratio"}, default="mutual_information"
        row : int, optional
            Position of the row; by default the average.
        label_names : sequence of str, optional
            By default those of the joint, or positions.
        labels : sequence of int or str, optional
            Which labels to draw, in this order; by default those of the strongest pairs.
        max_labels : int, default=30
            How many of them.
        ax : matplotlib Axes, optional
        """
        found = LabelDependence.from_joint(joint, row=row, label_names=label_names)
        return cls(found, of=of).plot(ax, labels=labels, max_labels=max_labels)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        of: Measure = "mutual_information",
        row: int | None = None,
        label_names: Sequence[str] | None = None,
        labels: Sequence[int | str] | None = None,
        max_labels: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw the dependence of labels under a fitted model.

        Parameters
        ----------
        model : fitted estimator
            With ``predict_joint``; also inside a pipeline.
        X : array, sparse matrix or data frame
            Features.
        of, row, label_names, labels, max_labels, ax
            As in `from_joint`.
        """
        found = LabelDependence.from_joint(joint_of(model, X), row=row, label_names=label_names)
        return cls(found, of=of).plot(ax, labels=labels, max_labels=max_labels)

    def plot(
        self,
        ax: Any = None,
        *,
        labels: Sequence[int | str] | None = None,
        max_labels: int = 30,
    ) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure, large enough for all names.
        labels, max_labels
            As in `from_joint`.
        """
        n_labels = self.dependence.n_labels
        information = self.dependence.mutual_information
        apart = np.where(np.eye(n_labels, dtype=bool) | (information < _ROUNDING), 0.0, information)
        self.shown_ = choose_labels(labels, self.label_names, apart.max(axis=1), max_labels)
        if labels is None:
            order = _side_by_side(apart[np.ix_(self.shown_, self.shown_)])
            self.shown_ = self.shown_[order]
        matrix = getattr(self.dependence, self.of)
        self._draw_cells(ax, matrix, **_colours(matrix[np.ix_(self.shown_, self.shown_)], self.of))
        return self

    def _number(self, value: float) -> str:
        if self.of == "mutual_information":
            return f"{value:.3f}".removeprefix("0") if value >= 0.0005 else "0"
        if np.isinf(value):
            return "∞" if value > 0 else "−∞"
        text = f"{value:+z.1f}" if abs(value) < 9.95 else f"{value:+.0f}"
        return "0" if text == "+0.0" else text.replace("-", "−")


def _side_by_side(information: Floats) -> Indices:
    """Return an order in which labels stand beside those that they depend on."""
    if len(information) < 3:
        return np.arange(len(information))
    closeness = np.sqrt(information / (information.max() or 1.0))
    distance = squareform(1.0 - closeness, checks=False)
    order = leaves_list(linkage(distance, "average", optimal_ordering=True))
    return np.asarray(order, dtype=np.int64)


def _colours(part: Floats, of: Measure) -> dict[str, Any]:
    """Return colours for cells: paler for less, to both sides of zero where there is a sign."""
    strengths = np.abs(part[~np.eye(len(part), dtype=bool)])
    largest = float(strengths.max(initial=0.0))
    if largest < _ROUNDING:
        largest = 1.0
    if of == "mutual_information":
        return {"cmap": "Blues", "norm": _square_root(largest)}
    end = min(largest, _MOST_LOG_ODDS)
    extend = "both" if largest > _MOST_LOG_ODDS else "neither"
    return {"cmap": "RdBu_r", "vmin": -end, "vmax": end, "extend": extend}


def _square_root(largest: float) -> Any:
    try:
        from matplotlib.colors import PowerNorm
    except ImportError as error:
        raise matplotlib_missing("DependenceMatrixDisplay") from error
    return PowerNorm(0.5, vmin=0.0, vmax=largest)
