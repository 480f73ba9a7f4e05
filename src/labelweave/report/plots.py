"""Diagnostic plots with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats
from labelweave.decision import F1Statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS_PER_ROW = 4


def plot_expected_f1(
    statistics: F1Statistics,
    scores: npt.ArrayLike,
    Y: npt.ArrayLike,
    labels: Sequence[int] | None = None,
    label_names: Sequence[str] | None = None,
) -> Figure:
    """Plot expected and true F1 against the threshold, as in figure 4 of the BOMC paper.

    If the two curves peak at nearly the same threshold, choosing it by the expected F1 is sound;
    their heights matter less.

    Parameters
    ----------
    statistics : F1Statistics
        Counts over the test rows and their sampled labels.
    scores : (n, L) array
        Probabilities of the test rows.
    Y : (n, L) array of 0/1
        Their true labels.
    labels : sequence of int, optional
        Which labels to plot, one panel each; by default four, from frequent to rare.
    label_names : sequence of str, optional
        Names of all L labels, for the titles.

    Returns
    -------
    matplotlib.figure.Figure
        ``savefig`` writes it to a file.

    Examples
    --------
    >>> counts = F1Statistics(n_labels=1, samples=1)
    >>> scores, Y = np.array([[0.9], [0.2]]), np.array([[1], [0]])
    >>> counts.update(scores, Y[None])
    >>> plot_expected_f1(counts, scores, Y, label_names=["sad"]).axes[0].get_title()
    'sad: 1 of 2 rows'
    """
    from matplotlib.figure import Figure  # unlike pyplot, needs no display and no global state

    truth = np.asarray(Y)
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != truth.shape or truth.shape[1] != len(statistics.beta):
        raise ValueError(
            f"scores {values.shape} and Y {truth.shape} must have one row per "
            f"test row and one column for each of the {len(statistics.beta)} labels of statistics"
        )
    shown = _from_frequent_to_rare(truth) if labels is None else list(labels)
    expected, true = statistics.expected_f1(), true_f1(values, truth, statistics.grid)
    n_rows = -(-len(shown) // _PANELS_PER_ROW)
    columns = min(len(shown), _PANELS_PER_ROW)
    figure = Figure(figsize=(3.2 * columns, 2.9 * n_rows + 0.3), layout="constrained")
    panels = figure.subplots(n_rows, columns, sharex=True, squeeze=False).ravel()
    for axes in panels[len(shown) :]:
        axes.set_axis_off()
    for axes, label in zip(panels, shown, strict=False):
        axes.plot(statistics.grid, expected[label], "-", color="tab:blue", label="expected F1")
        axes.plot(statistics.grid, true[label], ":", color="tab:red", label="true F1")
        axes.axvline(statistics.thresholds()[label], color="grey", linewidth=0.8, label="chosen θ")
        name = label_names[label] if label_names is not None else f"label {label}"
        axes.set_title(f"{name}: {np.count_nonzero(truth[:, label])} of {len(truth)} rows")
        axes.set(xlabel="threshold θ", xlim=(0, 1), ylim=(0, 1.03))
        axes.grid(alpha=0.3)
    panels[0].legend(loc="lower center", fontsize=8)
    return figure


def true_f1(scores: Floats, Y: npt.NDArray[np.generic], grid: Floats) -> Floats:
    """Return the true F1 of each label at each threshold, an array of shape (L, G)."""
    counts = F1Statistics(Y.shape[1], samples=1, grid=grid)
    counts.update(scores, np.asarray(Y)[None])
    return counts.expected_f1()


def _from_frequent_to_rare(truth: npt.NDArray[np.generic]) -> list[int]:
    """Return up to four labels that occur, evenly spaced in order of frequency."""
    frequency = np.count_nonzero(truth, axis=0)
    ranked = np.argsort(-frequency, kind="stable")[: max(1, np.count_nonzero(frequency))]
    chosen = np.unique(np.linspace(0, len(ranked) - 1, _PANELS_PER_ROW).round().astype(int))
    return [int(label) for label in ranked[chosen]]
