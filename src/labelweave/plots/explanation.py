"""Contributions to a log-odds or a log-ratio of one row."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Self

import numpy as np

from labelweave._common.checks import check_whole_number
from labelweave._common.drawing import COLOURS, EDGE, literal
from labelweave.joint.distribution import Evidence
from labelweave.models.explanations import Explanation, explain_label, explain_set
from labelweave.plots.canvas import Display, shortened

# The number of letters that fit above the bars, beside the names of terms.
_TITLE_WIDTH = 30


class ExplanationDisplay(Display):
    """Contributions to the log-odds of a label, or of one label vector against another, as bars.

    The bars are the base value and the largest contributions, from top to bottom; they add up to
    the log-odds in the title. Bars to the right support the label or the vector.

    Parameters
    ----------
    explanation : Explanation
    row : int, default=0
        Its row among those that are explained.
    title : str, optional

    Attributes
    ----------
    table_ : DataFrame
        The terms that are drawn, as from ``Explanation.to_frame``.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from labelweave import TreeNetwork
    >>> X, Y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 4, [[0, 1], [1, 0], [1, 1]] * 4
    >>> model = TreeNetwork(C=1.0, label_penalty=1.0).fit(X, Y)
    >>> display = ExplanationDisplay.from_estimator(model, X, label=1, ax=Figure().subplots())
    >>> display.table_.term.tolist()[0]
    'base value'
    """

    def __init__(self, explanation: Explanation, *, row: int = 0, title: str = "") -> None:
        self.explanation = explanation
        self.row = check_whole_number(row, "row", 0, len(explanation.values) - 1)
        self.title = title

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        row: int = 0,
        label: int | str | None = None,
        given: Evidence | None = None,
        feature_names: Sequence[str] | None = None,
        max_terms: int = 20,
        ax: Any = None,
    ) -> Self:
        """Draw the reasons for a label, or for the most probable vector against the runner-up.

        Parameters
        ----------
        model, X, ax
            As in `labelweave.plots`; the model as in `explain_label`.
        row : int, default=0
            Position of the row in X.
        label : int or str, optional
            The label to explain; by default the most probable vector against the runner-up.
        given : mapping, optional
            Labels that are known, as in `explain_label`; only with `label`.
        feature_names : sequence of str, optional
        max_terms : int, default=20
            Number of contributions to draw; the others are summed up.
        """
        X = X if hasattr(X, "shape") else np.asarray(X)
        row = check_whole_number(row, "row", 0, X.shape[0] - 1)
        part = X.iloc[[row]] if hasattr(X, "iloc") else X[[row]]
        if label is None:
            if given is not None:
                raise ValueError(
                    "given needs a label: pass label, or compare vectors without given"
                )
            explanation = explain_set(model, part, feature_names=feature_names)
        else:
            explanation = explain_label(model, part, label, given, feature_names=feature_names)
        display = cls(explanation, title=f"row {row}: {explanation.title()}")
        return display.plot(ax, max_terms=max_terms)

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, row: int = 0, max_terms: int = 20, ax: Any = None
    ) -> Self:
        """Draw one row of an explanation, with its `max_terms` largest contributions."""
        display = cls(explanation, row=row, title=explanation.title(row))
        return display.plot(ax, max_terms=max_terms)

    def plot(self, ax: Any = None, *, max_terms: int = 20) -> Self:
        """Draw the bars, the largest of `max_terms` contributions first."""
        self.table_ = self.explanation.to_frame(self.row, max_terms)
        contribution = self.table_.contribution.to_numpy()
        is_sum = self.table_.kind.isin(["base", "rest"])
        colours = np.where(is_sum, EDGE, np.where(contribution > 0, COLOURS[5], COLOURS[1]))
        names = [_tick(*line) for line in self.table_.itertuples(index=False)]
        panel = self._bars(ax, 6.4, contribution, colours, names)
        panel.axvline(0.0, color=EDGE, linewidth=1, zorder=1)
        panel.set_xlabel("contribution to the log-odds")
        title = f"{self.title}: {self.explanation.log_ratio[self.row]:+.2f}"
        lines = [literal(line) for line in wrap(title, _TITLE_WIDTH)]
        panel.set_title("\n".join(lines), loc="left", fontsize=10)
        return self


def _tick(term: str, kind: str, value: float, contribution: float) -> str:
    shown = shortened(term, 40)
    return literal(f"{shown} = {value:.3g}" if np.isfinite(value) else shown)
