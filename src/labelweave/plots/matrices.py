"""Heat maps over pairs of labels: conditional probabilities, and the strength of dependence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, TypeAlias, Unpack

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice
from labelweave._common.drawing import EDGE, literal, matplotlib_missing
from labelweave.evaluation import LabelDependence, conditional_matrix
from labelweave.evaluation.dependence import mean_conditional_matrix
from labelweave.joint import JointDistribution
from labelweave.plots.canvas import (
    Display,
    LabelChoice,
    choose_labels,
    display_labels,
    joint_of,
    label_matrix,
    names_of,
)

Measure: TypeAlias = Literal["mutual_information", "log_odds_ratio"]
_TITLES = {
    "mutual_information": "mutual information given x, nats",
    "log_odds_ratio": "log-odds ratio given x",
}
# A 150-fold change of odds. Stronger dependence has the same colour; otherwise a very strong
# pair would make all others pale.
_MOST_LOG_ODDS = 5.0
# Smaller values are rounding errors of independent labels.
_ROUNDING = 1e-9
# Numbers fit into the cells of at most this many labels.
_MOST_WITH_NUMBERS = 14
_BLANK = "#eef1f4"
_ENDLESS = 1e3  # matplotlib would leave infinite cells blank
_LIGHT = 0.5  # relative luminance above which black is easier to read than white


class _HeatMap(Display):
    """A matrix over pairs of labels, as colours; the diagonal is blank."""

    label_names: tuple[str, ...]
    title: str
    shown_: Indices
    image_: Any

    @classmethod
    def from_joint(cls, *args: Any, **options: Any) -> Self:
        """Draw the matrix of joint distributions."""
        raise NotImplementedError

    @classmethod
    def from_estimator(cls, model: Any, X: Any, **options: Any) -> Self:
        """Draw the matrix of the rows of X under a fitted model; options as in `from_joint`."""
        return cls.from_joint(joint_of(model, X), **options)

    def _draw_cells(
        self,
        ax: Any,
        matrix: Floats,
        *,
        beside: Sequence[str] | None = None,
        extend: str = "neither",
        **colours: Any,
    ) -> None:
        """Draw the cells of the labels `shown_`, with numbers if there is room for them."""
        names = display_labels(self.label_names, self.shown_, longest=28)
        side = max(0.46 if len(names) <= _MOST_WITH_NUMBERS else 0.24, 2.4 / len(names))
        margin = 0.075 * max(map(len, names)) + 0.6
        size = (side * len(names) + margin + 1.2, side * len(names) + margin + 0.3)
        (panel,) = self._panels(ax, 1, size, layout="compressed")
        part = matrix[np.ix_(self.shown_, self.shown_)]
        cells = np.ma.masked_where(np.isnan(part) | np.eye(len(part), dtype=bool), part)
        panel.set_facecolor(_BLANK)
        self.image_ = panel.imshow(cells.clip(-_ENDLESS, _ENDLESS), **colours)
        _write_names(panel, names, beside)
        if len(names) <= _MOST_WITH_NUMBERS:
            self._write_numbers(panel, cells)
        bar = panel.figure.colorbar(
            self.image_, ax=panel, fraction=0.04, pad=0.02, shrink=0.8, extend=extend
        )
        bar.outline.set_visible(False)
        panel.set_title(literal(self.title), loc="left", fontsize=10)

    def _number(self, value: float) -> str:
        raise NotImplementedError

    def _write_numbers(self, panel: Any, cells: Any) -> None:
        for (i, j), value in np.ndenumerate(cells.filled(np.nan)):
            if np.isnan(value):
                continue
            shade = self.image_.cmap(self.image_.norm(np.clip(value, -_ENDLESS, _ENDLESS)))[:3]
            colour = "black" if np.dot(shade, (0.2126, 0.7152, 0.0722)) > _LIGHT else "white"
            text = self._number(float(value))
            panel.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)


def _write_names(panel: Any, names: list[str], beside: Sequence[str] | None) -> None:
    place = np.arange(len(names))
    panel.set_xticks(place, names, rotation=90 if len(names) > 6 else 40, fontsize=8)
    if len(names) <= 6:
        for text in panel.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
    rows = names if beside is None else [f"{n}  {b}" for n, b in zip(names, beside, strict=True)]
    panel.set_yticks(place, rows, fontsize=8)
    panel.tick_params(length=0)
    panel.spines[:].set_color(EDGE)


class ConditionalMatrixDisplay(_HeatMap):
    """A heat map of P(column | row) for all pairs of labels, with each row's own probability.

    A cell that equals the column's own probability indicates that row and column are independent.

    Parameters
    ----------
    matrix : (L, L) array
        ``[i, j]`` is P(y_j = 1 | y_i = 1); nan where y_i never occurs.
    frequency : (L,) array
        P(y_i = 1).
    label_names : sequence of str, optional
    title : str, optional

    Attributes
    ----------
    shown_ : (K,) int array
        The labels that are drawn.
    image_ : matplotlib AxesImage

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> Y = [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> display = ConditionalMatrixDisplay.from_labels(Y, ax=Figure().subplots())
    >>> display.matrix.round(2).tolist()
    [[1.0, 0.5, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """

    def __init__(
        self,
        matrix: Any,
        frequency: Any,
        *,
        label_names: Sequence[str] | None = None,
        title: str = "",
    ) -> None:
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.frequency = np.asarray(frequency, dtype=np.float64)
        n_labels = len(self.frequency)
        if self.frequency.ndim != 1 or self.matrix.shape != (n_labels, n_labels):
            raise ValueError(
                f"matrix must be (L, L) and frequency (L,); got shapes {self.matrix.shape} and "
                f"{self.frequency.shape}"
            )
        self.label_names = names_of(None, label_names, n_labels)
        self.title = title

    @classmethod
    def from_labels(
        cls, Y: Any, *, label_names: Sequence[str] | None = None, **drawn: Unpack[LabelChoice]
    ) -> Self:
        """Draw the co-occurrence of true or predicted labels, by default the most frequent ones."""
        truth = label_matrix(Y)
        names = names_of(Y, label_names, truth.shape[1])
        title = f"P(column | row) in {len(truth)} rows"
        matrix, frequency = conditional_matrix(truth), truth.mean(axis=0)
        return cls(matrix, frequency, label_names=names, title=title).plot(**drawn)

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        label_names: Sequence[str] | None = None,
        **drawn: Unpack[LabelChoice],
    ) -> Self:
        """Draw the co-occurrence of labels under joint distributions, averaged over rows."""
        names = joint.label_names if label_names is None else label_names
        title = f"P(column | row), {joint.n_rows} rows under the model"
        matrix, frequency = mean_conditional_matrix(joint), joint.marginals().mean(axis=0)
        return cls(matrix, frequency, label_names=names, title=title).plot(**drawn)

    def plot(
        self, ax: Any = None, *, labels: Sequence[int | str] | None = None, max_labels: int = 30
    ) -> Self:
        """Draw the matrix."""
        self.shown_ = choose_labels(labels, self.label_names, self.frequency, max_labels)
        shares = [f"{self.frequency[label]:.0%}" for label in self.shown_]
        self._draw_cells(ax, self.matrix, beside=shares, cmap="cividis", vmin=0, vmax=1)
        return self

    def _number(self, value: float) -> str:
        return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"


class DependenceMatrixDisplay(_HeatMap):
    """A heat map of the mutual information or log-odds ratios of all pairs of labels.

    Log-odds ratios are red if two labels attract each other, blue if they repel each other.
    Colours of mutual information follow its square root, so that a single strong pair does not
    hide the others. Dependent labels are placed side by side.

    Parameters
    ----------
    dependence : LabelDependence
    of : {"mutual_information", "log_odds_ratio"}, default="mutual_information"

    Attributes
    ----------
    shown_ : (K,) int array
        The labels that are drawn.
    image_ : matplotlib AxesImage

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint([[0.3, -1.0, 0.5]], [[0, 0, 0], [2, 0, 0], [-1, 0, 0]])
    >>> display = DependenceMatrixDisplay.from_joint(joint, ax=Figure().subplots())
    >>> display.ax_.get_title("left")
    'mutual information given x, nats: row 0'
    """

    def __init__(self, dependence: LabelDependence, *, of: Measure = "mutual_information") -> None:
        check_choice(of, "of", tuple(_TITLES))
        self.of: Measure = of
        self.dependence = dependence
        self.label_names = dependence.label_names
        self.title = f"{_TITLES[of]}: {dependence.rows}"

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        of: Measure = "mutual_information",
        row: int | None = None,
        label_names: Sequence[str] | None = None,
        **drawn: Unpack[LabelChoice],
    ) -> Self:
        """Draw the dependence of labels in a row, by default averaged over all rows.

        By default the labels of the strongest pairs are drawn.
        """
        found = LabelDependence.from_joint(joint, row=row, label_names=label_names)
        return cls(found, of=of).plot(**drawn)

    def plot(
        self, ax: Any = None, *, labels: Sequence[int | str] | None = None, max_labels: int = 30
    ) -> Self:
        """Draw the matrix."""
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
    """Return an order in which dependent labels are neighbours."""
    if len(information) < 3:
        return np.arange(len(information))
    closeness = np.sqrt(information / (information.max() or 1.0))
    distance = squareform(1.0 - closeness, checks=False)
    order = leaves_list(linkage(distance, "average", optimal_ordering=True))
    return np.asarray(order, dtype=np.int64)


def _colours(part: Floats, of: Measure) -> dict[str, Any]:
    """Return the cells' colour options: paler for smaller values, diverging for signed values."""
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
