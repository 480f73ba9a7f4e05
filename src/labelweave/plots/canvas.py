"""Axes to draw into, the labels that a display shows, and facts about fitted models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_label, check_label_values, check_whole_number
from labelweave._common.drawing import COLOURS, EDGE, INK, literal, matplotlib_missing
from labelweave._common.pipelines import inside
from labelweave.joint import JointDistribution
from labelweave.models.predictions import predict_joint

# Seven markers and eight colours, so that 56 curves differ in one or the other.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_MOST_WITH_MARKERS = 30


class LabelChoice(TypedDict, total=False):
    """Options that methods of displays pass to ``plot``: the labels to draw, and the Axes."""

    ax: Any
    labels: Sequence[int | str] | None
    max_labels: int


class Display:
    """The base of all displays, with the Axes and the figure of the last drawing."""

    ax_: Any  # matplotlib is imported only when something is drawn
    axes_: list[Any]
    figure_: Any

    def _panels(
        self,
        ax: Any,
        n: int = 1,
        size: tuple[float, float] = (5.0, 4.0),
        columns: int = 1,
        layout: str = "constrained",
        **shared: Any,
    ) -> list[Any]:
        """Return the given Axes, or `n` panels of `size` inches in a new figure; keep them."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise matplotlib_missing(type(self).__name__) from error
            columns = min(columns, n)
            rows = -(-n // columns)
            figure = plt.figure(figsize=(size[0] * columns, size[1] * rows), layout=layout)
            panels = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
            for unused in panels[n:]:
                unused.set_axis_off()
            return self._keep(panels[:n])
        given = np.asarray(ax, dtype=object).ravel()
        if len(given) != n:
            wanted = "one Axes" if n == 1 else f"a sequence of {n} Axes, one for each panel"
            raise ValueError(f"ax must be {wanted}; got {len(given)}")
        return self._keep(given)

    def _bars(
        self, ax: Any, width: float, lengths: Floats, colours: Any, names: Sequence[str]
    ) -> Any:
        """Draw a horizontal bar for each name, from top to bottom, and return the panel."""
        place = np.arange(len(names))
        (panel,) = self._panels(ax, 1, (width, 0.26 * len(names) + 1.1))
        tidy(panel)
        panel.barh(place, lengths, height=0.72, color=colours, zorder=2)
        panel.set_yticks(place, names)
        panel.set_ylim(len(names) - 0.4, -0.6)
        panel.grid(visible=False, axis="y")
        return panel

    def _keep(self, panels: Iterable[Any]) -> list[Any]:
        self.axes_ = list(panels)
        self.ax_, self.figure_ = self.axes_[0], self.axes_[0].figure
        return self.axes_


def tidy(ax: Any) -> None:
    """Remove the top and right sides of the frame, and draw a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(EDGE)
    ax.tick_params(color=EDGE, labelcolor=INK)
    ax.grid(color=EDGE, alpha=0.2, linewidth=0.8)
    ax.set_axisbelow(True)


def draw_line(
    panel: Any,
    name: str,
    x: Floats,
    y: Floats,
    look: int,
    *,
    linestyle: str = "-",
    error: ArrayLike = (),
) -> Any:
    """Draw a curve in a colour and marker, hollow if dashed; return its legend handle."""
    marker = _MARKERS[look % len(_MARKERS)] if len(x) <= _MOST_WITH_MARKERS else ""
    colour = COLOURS[look % len(COLOURS)]
    style = {"color": colour, "marker": marker, "markersize": 5, "linestyle": linestyle}
    if linestyle == "--":
        style["markerfacecolor"] = "white"
    if np.size(error):
        return panel.errorbar(x, y, yerr=error, label=literal(name), elinewidth=1.2, **style)
    return panel.plot(x, y, label=literal(name), **style)[0]


def names_of(Y: Any, label_names: Sequence[str] | None, n_labels: int) -> tuple[str, ...]:
    """Return given names, else the columns of a data frame, else positions."""
    if label_names is None:
        columns = getattr(Y, "columns", None)
        label_names = [str(j) for j in range(n_labels)] if columns is None else list(columns)
    if len(label_names) != n_labels:
        raise ValueError(f"label_names must name {n_labels} labels; it has {len(label_names)}")
    names = tuple(map(str, label_names))
    if len(set(names)) < n_labels:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"label_names has {twice!r} twice: label names must be distinct")
    return names


def label_matrix(Y: Any, name: str = "Y") -> Labels:
    """Return labels, an array, sparse matrix or data frame, as an (n, L) array of 0 and 1."""
    labels = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(
            f"{name} must have one row per instance and one column per label; "
            f"its shape is {labels.shape}"
        )
    return check_label_values(labels, (0, 1), name)


def choose_labels(
    labels: Sequence[int | str] | None, names: Sequence[str], order: Floats, most: int
) -> Indices:
    """Return the given labels, or the `most` labels of highest `order` in the order of columns."""
    if labels is not None:
        if len(labels) == 0:
            raise ValueError("labels must name at least one label")
        chosen = [check_label(label, "labels", len(names), names) for label in labels]
        return np.array(chosen, dtype=np.int64)
    most = check_whole_number(most, "max_labels")
    return np.sort(np.argsort(-order, kind="stable")[:most]).astype(np.int64)


def display_labels(names: Sequence[str], chosen: Indices, longest: int = 40) -> list[str]:
    """Return the names of some labels as they are drawn; long ones are shortened."""
    return [literal(shortened(names[int(label)], longest)) for label in chosen]


def shortened(name: str, longest: int) -> str:
    """Return a name, cut in the middle if it is long, because names differ at their ends."""
    if len(name) <= longest:
        return name
    return f"{name[: longest // 2]}…{name[len(name) - (longest - 1) // 2 :]}"


def model_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the labels that the model was fitted to; None if they had none."""
    names = getattr(inside(model).model, "label_names_in_", None)
    return None if names is None else tuple(map(str, names))


def joint_of(model: Any, X: Any) -> JointDistribution:
    """Return the joint distribution of a model's rows; an error if the model has none."""
    joint = predict_joint(model, X)
    if not isinstance(joint, JointDistribution):
        raise ValueError(f"model must have predict_joint; {type(model).__name__} has none")
    return joint
