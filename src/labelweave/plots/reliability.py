"""Reliability of marginals, of single labels and of whole label vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.checks import check_choice
from labelweave._common.drawing import COLOURS, EDGE, literal
from labelweave.evaluation import predict_marginals, reliability_curve
from labelweave.joint import JointDistribution
from labelweave.metrics import ReliabilityCurve
from labelweave.plots.canvas import Display, choose_labels, label_matrix, names_of, tidy
from labelweave.plots.models import joint_of, model_names

__all__ = ["ReliabilityDisplay"]

OF = ("marginals", "labels", "joint")
_AXES = {
    "marginals": ("predicted probability", "observed rate"),
    "labels": ("predicted probability", "observed rate"),
    "joint": ("probability of the predicted label vector", "all labels right"),
}


class ReliabilityDisplay(Display):
    """Reliability diagrams: of what was predicted with probability p, a share p should come true.

    Points below the diagonal were predicted with too much confidence. Bars are 95 % intervals
    (Wilson's), and the area of a point grows with the number of predictions.

    Parameters
    ----------
    curves : mapping from str to ReliabilityCurve
        The curves, one panel each, by title.
    of : {"marginals", "labels", "joint"}, default="marginals"
        What the probabilities are about; names the axes.

    Attributes
    ----------
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import labelweave as lw
    >>> train, test = lw.load_emotions().published_split()
    >>> model = lw.TreeNetwork(C=0.01, label_penalty=0.03).fit(train.X, train.Y)
    >>> display = ReliabilityDisplay.from_estimator(model, test.X, test.Y, of="joint", n_bins=5)
    >>> display.ax_.get_xlabel()
    'probability of the predicted label vector'
    >>> plt.close(display.figure_)
    """

    def __init__(self, curves: Mapping[str, ReliabilityCurve], *, of: str = "marginals") -> None:
        if not curves:
            raise ValueError("curves must hold at least one curve")
        self.curves = dict(curves)
        self.of = check_choice(of, "of", OF)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        Y: Any,
        *,
        of: str = "marginals",
        labels: Sequence[int | str] | None = None,
        max_labels: int = 6,
        n_bins: int = 10,
        strategy: str = "uniform",
        label_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Compare a fitted model's probabilities with the labels of test rows.

        Parameters
        ----------
        model : fitted estimator
            Any with ``predict_proba``; of="joint" needs ``predict_joint``, also inside a pipeline.
        X, Y
            Features and labels of rows that were not used for fitting.
        of : {"marginals", "labels", "joint"}, default="marginals"
            The marginals of all labels pooled; those of each label, one panel per label; or the
            probability of the most probable label vector, which comes true if all labels are
            right: vectors of probability 0.8 should be right in 80 % of the rows.
        labels, max_labels, n_bins, strategy, label_names, ax
            As in `from_predictions`.
        """
        names = model_names(model) if label_names is None else label_names
        if check_choice(of, "of", OF) == "joint":
            joint = joint_of(model, X)
            return cls.from_joint(joint, Y, n_bins=n_bins, strategy=strategy, ax=ax)
        scores = predict_marginals(model, X)
        if scores is None:
            raise ValueError(f"model must have predict_proba; {type(model).__name__} has none")
        return cls.from_predictions(
            scores,
            Y,
            of=of,
            labels=labels,
            max_labels=max_labels,
            n_bins=n_bins,
            strategy=strategy,
            label_names=names,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        scores: ArrayLike,
        Y: Any,
        *,
        of: str = "marginals",
        labels: Sequence[int | str] | None = None,
        max_labels: int = 6,
        n_bins: int = 10,
        strategy: str = "uniform",
        label_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Compare marginals with labels.

        Parameters
        ----------
        scores : (n, L) array
            P(y_j = 1 | x).
        Y : (n, L) array, sparse matrix or data frame of 0/1
        of : {"marginals", "labels"}, default="marginals"
            All labels pooled, or one panel per label.
        labels : sequence of int or str, optional
            Which labels to use; by default all of them if pooled, else the most frequent ones.
        max_labels : int, default=6
            Number of panels if `labels` is not given.
        n_bins, strategy
            As in `reliability_curve`.
        label_names : sequence of str, optional
            By default the columns of a data frame, or positions.
        ax : matplotlib Axes, or a sequence with one for each panel, optional
        """
        check_choice(of, "of", OF[:2])
        truth = label_matrix(Y)
        values = np.asarray(scores, dtype=np.float64)
        if values.shape != truth.shape:
            raise ValueError(
                f"scores and Y must have the same shape, got {values.shape} and {truth.shape}"
            )
        names = names_of(Y, label_names, truth.shape[1])
        most = truth.shape[1] if of == "marginals" else max_labels
        chosen = choose_labels(labels, names, truth.sum(axis=0).astype(np.float64), most)
        if of == "marginals":
            count = f"{len(chosen)} label{'s' if len(chosen) != 1 else ''}"
            groups = {f"{count}, {len(truth)} rows": chosen}
        else:
            groups = {names[label]: chosen[[k]] for k, label in enumerate(chosen)}
        curves = {
            title: reliability_curve(values[:, group], truth[:, group], n_bins, strategy=strategy)
            for title, group in groups.items()
        }
        return cls(curves, of=of).plot(ax)

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        Y: Any,
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Any = None,
    ) -> Self:
        """Compare the probabilities of the most probable label vectors with whether they are right.

        Parameters
        ----------
        joint : JointDistribution
        Y : (n, L) array, sparse matrix or data frame of 0/1
        n_bins, strategy
            As in `reliability_curve`.
        ax : matplotlib Axes, optional
        """
        truth = label_matrix(Y)
        if truth.shape != (joint.n_rows, joint.n_labels):
            raise ValueError(
                f"Y must have shape ({joint.n_rows}, {joint.n_labels}); its shape is {truth.shape}"
            )
        mode = joint.mode()
        right = (mode.labels == truth).all(axis=1)
        confidence = np.minimum(np.exp(mode.log_prob), 1.0)
        curve = reliability_curve(confidence, right, n_bins, strategy=strategy)
        return cls({f"label vectors of {len(truth)} rows": curve}, of="joint").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw all curves.

        Parameters
        ----------
        ax : matplotlib Axes, or a sequence with one for each curve, optional
            By default panels of a new figure.
        """
        n = len(self.curves)
        size = (4.2, 4.4) if n == 1 else (2.9, 3.1)
        panels = self._panels(ax, n, size, columns=3, sharex=True, sharey=True)
        x_label, y_label = _AXES[self.of]
        for panel, (title, curve) in zip(panels, self.curves.items(), strict=True):
            _draw(panel, curve)
            shown = f"{literal(title)}\nmean distance {curve.error:.3f}"
            panel.set_title(shown, fontsize=9, loc="left")
        for panel in panels:
            if panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col():
                panel.set_ylabel(y_label)
            if ax is not None or panel in panels[-3:]:
                panel.set_xlabel(x_label)
                panel.tick_params(labelbottom=True)
        return self


def _draw(panel: Any, curve: ReliabilityCurve) -> None:
    tidy(panel)
    panel.plot([0, 1], [0, 1], color=EDGE, linewidth=1, linestyle="--", zorder=1)
    panel.vlines(curve.p, curve.low, curve.high, color=COLOURS[0], alpha=0.55, linewidth=1.6)
    panel.plot(curve.p, curve.rate, color=COLOURS[0], linewidth=1, alpha=0.55)
    area = 14 + 70 * curve.n / curve.n.max()
    panel.scatter(curve.p, curve.rate, s=area, color=COLOURS[0], edgecolor="white", zorder=3)
    panel.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    panel.set_xticks([0, 0.5, 1])
    panel.set_yticks([0, 0.5, 1])
