"""The marginals of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_whole_number
from labelweave._common.drawing import COLOURS, EDGE, INK
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


class MarginalsDisplay(Display):
    """P(y_j = 1 | x) of every label of one row, as bars.

    The row's positive labels are marked ●, its negative ones ○. Sampled marginals have error bars
    of two standard errors. Given evidence, the known labels are grey and a thin line shows the
    marginals without it.

    Parameters
    ----------
    marginals : (L,) array
    label_names : sequence of str, optional
    standard_error : (L,) array, optional
        Zero where marginals are exact.
    truth : (L,) array of 0/1, optional
    known : (L,) array of 0, 1 and -1, optional
        The evidence; -1 for labels that are not known.
    before : (L,) array, optional
        The marginals without the evidence.
    title : str, optional

    Attributes
    ----------
    shown_ : (K,) int array
        The labels in the order of drawing, from top to bottom.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint([[-1.0, 2.0]])
    >>> display = MarginalsDisplay.from_joint(joint, evidence={0: 1}, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'P(label | x, evidence)'
    """

    def __init__(
        self,
        marginals: Any,
        *,
        label_names: Sequence[str] | None = None,
        standard_error: Any = None,
        truth: Any = None,
        known: Any = None,
        before: Any = None,
        title: str = "",
    ) -> None:
        self.marginals = np.asarray(marginals, dtype=np.float64)
        if self.marginals.ndim != 1 or len(self.marginals) == 0:
            raise ValueError(
                f"marginals must be those of one row; their shape is {self.marginals.shape}"
            )
        n_labels = len(self.marginals)
        self.label_names = names_of(None, label_names, n_labels)
        self.standard_error = self._one_each(standard_error, "standard_error", np.zeros(n_labels))
        self.known = self._one_each(known, "known", np.full(n_labels, -1))
        self.truth = None if truth is None else self._one_each(truth, "truth", truth)
        self.before = None if before is None else self._one_each(before, "before", before)
        self.title = title

    def _one_each(self, values: Any, name: str, default: Any) -> Floats:
        array = np.asarray(default if values is None else values, dtype=np.float64)
        if array.shape != self.marginals.shape:
            raise ValueError(
                f"{name} must have one entry for each of the {len(self.marginals)} labels; "
                f"its shape is {array.shape}"
            )
        return array

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        Y: Any = None,
        *,
        row: int = 0,
        evidence: Mapping[int | str, int] | None = None,
        label_names: Sequence[str] | None = None,
        **drawn: Unpack[LabelChoice],
    ) -> Self:
        """Draw the marginals of a row of X under a fitted model; Y are the true labels of all rows.

        The other parameters are as in `from_joint`.
        """
        n_rows = len(X) if not hasattr(X, "shape") else X.shape[0]
        row = check_whole_number(row, "row", 0, n_rows - 1)
        part = X.iloc[[row]] if hasattr(X, "iloc") else X[row : row + 1]
        joint = joint_of(model, part)
        names = joint.label_names if label_names is None else label_names
        if names is None and hasattr(Y, "columns"):
            names = names_of(Y, None, joint.n_labels)
        truth = None
        if Y is not None:
            truth = label_matrix(Y)
            if truth.shape != (n_rows, joint.n_labels):
                raise ValueError(
                    f"Y must have shape ({n_rows}, {joint.n_labels}); its shape is {truth.shape}"
                )
            truth = truth[row]
        return cls._of_row(joint, truth, evidence, names, f"row {row}").plot(**drawn)

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        row: int = 0,
        truth: Any = None,
        evidence: Mapping[int | str, int] | None = None,
        label_names: Sequence[str] | None = None,
        **drawn: Unpack[LabelChoice],
    ) -> Self:
        """Draw the marginals of a row of a batch.

        By default the most probable labels, the positive labels and the known ones are drawn.

        Parameters
        ----------
        row : int, default=0
            Position of the row.
        truth : (L,) array of 0/1, optional
            Its labels.
        evidence : mapping from label to 0 or 1, optional
            Labels that are known: marginals are then conditional on them.
        joint, label_names, labels, max_labels, ax
            As in `labelweave.plots`.
        """
        row = check_whole_number(row, "row", 0, joint.n_rows - 1)
        names = joint.label_names if label_names is None else label_names
        return cls._of_row(joint[row], truth, evidence, names, f"row {row}").plot(**drawn)

    @classmethod
    def _of_row(
        cls,
        joint: JointDistribution,
        truth: Any,
        evidence: Mapping[int | str, int] | None,
        names: Sequence[str] | None,
        title: str,
    ) -> Self:
        estimate = joint.estimate("marginals")
        before = None
        if evidence:
            before = estimate.value[0]
            joint = joint.condition(evidence)
            estimate = joint.estimate("marginals")
        return cls(
            estimate.value[0],
            label_names=names,
            standard_error=estimate.standard_error[0],
            truth=truth,
            known=joint.known[0] if evidence else None,
            before=before,
            title=title,
        )

    def plot(
        self, ax: Any = None, *, labels: Sequence[int | str] | None = None, max_labels: int = 30
    ) -> Self:
        """Draw the bars, the most probable label first unless `labels` are given."""
        # Positive and known labels come before all others.
        wanted = self.marginals + 2.0 * (self.known >= 0)
        if self.truth is not None:
            wanted = wanted + 2.0 * self.truth
        chosen = choose_labels(labels, self.label_names, wanted, max_labels)
        if labels is None:
            chosen = chosen[np.argsort(-self.marginals[chosen], kind="stable")]
        self.shown_ = chosen
        colours = np.where(self.known[chosen] >= 0, EDGE, COLOURS[5])
        names = display_labels(self.label_names, chosen)
        panel = self._bars(ax, 5.6, self.marginals[chosen], colours, names)
        self._draw_marks(panel)
        panel.set_xlim(0, 1 if self.truth is None else 1.06)
        panel.set_xticks(np.linspace(0, 1, 6))
        panel.set_xlabel("P(label | x, evidence)" if (self.known >= 0).any() else "P(label | x)")
        panel.set_title(self.title + self._left_out(), loc="left", fontsize=10)
        return self

    def _left_out(self) -> str:
        n = len(self.marginals) - len(self.shown_)
        return f"  ({n} label{'s' if n > 1 else ''} not shown)" if n else ""

    def _draw_marks(self, panel: Any) -> None:
        """Draw errors, marginals without the evidence, and the row's true labels."""
        chosen, place = self.shown_, np.arange(len(self.shown_))
        value = self.marginals[chosen]
        error = 2.0 * self.standard_error[chosen]
        sampled = error > 0
        if sampled.any():
            low = np.minimum(error, value)[sampled]  # probabilities lie between 0 and 1
            high = np.minimum(error, 1.0 - value)[sampled]
            style = {"fmt": "none", "ecolor": INK, "elinewidth": 1, "capsize": 2, "zorder": 3}
            panel.errorbar(value[sampled], place[sampled], xerr=[low, high], **style)
        if self.before is not None:
            was = self.before[chosen]
            panel.vlines(was, place - 0.42, place + 0.42, color=COLOURS[1], linewidth=2, zorder=4)
        if self.truth is not None:
            has = self.truth[chosen] == 1
            fill = np.where(has, INK, "white")
            at = np.full(len(place), 1.03)
            panel.scatter(at, place, s=26, c=fill, edgecolor=INK, linewidth=1, zorder=3)
