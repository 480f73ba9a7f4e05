"""Expected and true F1 of labels at every threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_label
from labelweave._common.drawing import COLOURS, EDGE, literal
from labelweave.decision.expected import F1Statistics
from labelweave.metrics import f1_by_threshold
from labelweave.plots.canvas import Display, label_matrix, names_of, tidy

__all__ = ["ExpectedF1Display"]

_PANELS = 4


class ExpectedF1Display(Display):
    """Expected and true F1 against the threshold, as in figure 4 of the BOMC paper.

    If the two curves peak at nearly the same threshold, choosing it by the expected F1 is sound;
    their heights matter less.

    Parameters
    ----------
    grid : (G,) array
        Thresholds.
    expected, true : (K, G) arrays
        F1 of K labels at each threshold.
    chosen : (K,) array
        The threshold with the highest expected F1.
    titles : sequence of str

    Attributes
    ----------
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> counts = F1Statistics(n_labels=1, samples=1)
    >>> scores, Y = np.array([[0.9], [0.2]]), np.array([[1], [0]])
    >>> counts.update(scores, Y[None])
    >>> display = ExpectedF1Display.from_predictions(counts, scores, Y, label_names=["sad"])
    >>> display.ax_.get_title()
    'sad: 1 of 2 rows'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, grid: Floats, expected: Floats, true: Floats, chosen: Floats, titles: Sequence[str]
    ) -> None:
        self.grid, self.expected, self.true = grid, expected, true
        self.chosen, self.titles = chosen, list(titles)

    @classmethod
    def from_predictions(
        cls,
        statistics: F1Statistics,
        scores: ArrayLike,
        Y: Any,
        *,
        labels: Sequence[int | str] | None = None,
        label_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of test rows.

        Parameters
        ----------
        statistics : F1Statistics
            Counts over the test rows and their sampled labels.
        scores : (n, L) array
            Probabilities of the test rows.
        Y : (n, L) array, sparse matrix or data frame of 0/1
            Their true labels.
        labels : sequence of int or str, optional
            Which labels to draw, one panel each; by default four, from frequent to rare.
        label_names : sequence of str, optional
            By default the columns of a data frame, or positions.
        ax : sequence of matplotlib Axes, optional
            One for each panel.
        """
        truth, values = label_matrix(Y), np.asarray(scores, dtype=np.float64)
        n_labels = len(statistics.beta)
        if values.shape != truth.shape or truth.shape[1] != n_labels:
            raise ValueError(
                f"scores {values.shape} and Y {truth.shape} must have one row per test row and "
                f"one column for each of the {n_labels} labels of statistics"
            )
        names = names_of(Y, label_names, n_labels)
        if labels is None:
            shown = _from_frequent_to_rare(truth.sum(axis=0))
        else:
            shown = np.array([check_label(k, "labels", n_labels, names) for k in labels])
        titles = [f"{names[k]}: {int(truth[:, k].sum())} of {len(truth)} rows" for k in shown]
        true = f1_by_threshold(values[:, shown], truth[:, shown], statistics.grid)
        expected, chosen = statistics.expected_f1()[shown], statistics.thresholds()[shown]
        return cls(statistics.grid, expected, true, chosen, titles).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one panel per label.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            One for each label; by default panels of a new figure.
        """
        panels = self._panels(ax, len(self.titles), (3.2, 3.0), columns=_PANELS, sharex=True)
        for k, panel in enumerate(panels):
            tidy(panel)
            panel.plot(self.grid, self.expected[k], color=COLOURS[0], label="expected F1")
            panel.plot(self.grid, self.true[k], ":", color=COLOURS[1], label="true F1")
            panel.axvline(self.chosen[k], color=EDGE, linewidth=0.8, label="chosen θ")
            panel.set_title(literal(self.titles[k]), fontsize=10)
            panel.set(xlabel="threshold θ", xlim=(0, 1), ylim=(0, 1.03))
        panels[0].legend(loc="lower center", fontsize=8)
        return self


def _from_frequent_to_rare(frequency: Any) -> Indices:
    """Return up to four labels that occur, evenly spaced in order of frequency."""
    ranked = np.argsort(-frequency, kind="stable")[: max(1, np.count_nonzero(frequency))]
    chosen = np.unique(np.linspace(0, len(ranked) - 1, _PANELS).round().astype(int))
    return np.asarray(ranked[chosen], dtype=np.int64)
