"""How probable each label is given each other one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from labelweave.evaluation import conditional_matrix
from labelweave.evaluation.dependence import mean_conditional_matrix
from labelweave.joint import JointDistribution
from labelweave.plots.canvas import choose_labels, label_matrix, names_of
from labelweave.plots.heat_map import HeatMap
from labelweave.plots.models import joint_of

__all__ = ["ConditionalMatrixDisplay"]


class ConditionalMatrixDisplay(HeatMap):
    """P(column | row) of all pairs of labels, as colours; each row's own probability beside it.

    Compare a column's cells with its own probability: where they are equal, row and column are
    independent.

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
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import labelweave as lw
    >>> data = lw.load_emotions()
    >>> display = ConditionalMatrixDisplay.from_labels(data.Y, label_names=data.label_names)
    >>> display.matrix.shape
    (6, 6)
    >>> plt.close(display.figure_)
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
        cls,
        Y: Any,
        *,
        label_names: Sequence[str] | None = None,
        labels: Sequence[int | str] | None = None,
        max_labels: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw how often labels occur together in data.

        Parameters
        ----------
        Y : (n, L) array, sparse matrix or data frame of 0/1
            True or predicted labels.
        label_names : sequence of str, optional
            By default the columns of a data frame, or positions.
        labels : sequence of int or str, optional
            Which labels to draw, in this order; by default the most frequent ones.
        max_labels : int, default=30
            How many of them.
        ax : matplotlib Axes, optional
        """
        truth = label_matrix(Y)
        names = names_of(Y, label_names, truth.shape[1])
        title = f"P(column | row) in {len(truth)} rows"
        matrix, frequency = conditional_matrix(truth), truth.mean(axis=0)
        display = cls(matrix, frequency, label_names=names, title=title)
        return display.plot(ax, labels=labels, max_labels=max_labels)

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        label_names: Sequence[str] | None = None,
        labels: Sequence[int | str] | None = None,
        max_labels: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw how often labels occur together under joint distributions, averaged over rows.

        Parameters
        ----------
        joint : JointDistribution
        label_names, labels, max_labels, ax
            As in `from_labels`; names are by default those of the joint.
        """
        matrix = mean_conditional_matrix(joint)
        names = joint.label_names if label_names is None else label_names
        display = cls(
            matrix,
            joint.marginals().mean(axis=0),
            label_names=names,
            title=f"P(column | row), {joint.n_rows} rows under the model",
        )
        return display.plot(ax, labels=labels, max_labels=max_labels)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        label_names: Sequence[str] | None = None,
        labels: Sequence[int | str] | None = None,
        max_labels: int = 30,
        ax: Any = None,
    ) -> Self:
        """Draw how often labels occur together under a fitted model, averaged over rows.

        Parameters
        ----------
        model : fitted estimator
            With ``predict_joint``; also inside a pipeline.
        X : array, sparse matrix or data frame
            Features.
        label_names, labels, max_labels, ax
            As in `from_joint`.
        """
        return cls.from_joint(
            joint_of(model, X), label_names=label_names, labels=labels, max_labels=max_labels, ax=ax
        )

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
            As in `from_labels`.
        """
        self.shown_ = choose_labels(labels, self.label_names, self.frequency, max_labels)
        shares = [f"{self.frequency[label]:.0%}" for label in self.shown_]
        self._draw_cells(ax, self.matrix, beside=shares, cmap="cividis", vmin=0, vmax=1)
        return self

    def _number(self, value: float) -> str:
        return f"{value:.2f}".removeprefix("0") if value < 0.995 else "1"
