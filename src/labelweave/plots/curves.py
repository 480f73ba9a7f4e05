"""Curves of reliability, of convergence, of F1 over thresholds, and of the quality of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice, check_label, check_whole_number
from labelweave._common.drawing import COLOURS, EDGE, literal
from labelweave._common.pipelines import inside
from labelweave.decision.expected import F1Statistics
from labelweave.inference import Gibbs
from labelweave.joint import JointDistribution, Mode
from labelweave.metrics import (
    ReliabilityCurve,
    f1_by_threshold,
    reliability_curve,
    vector_reliability,
)
from labelweave.models.online import StreamHistory
from labelweave.models.predictions import predict_marginals
from labelweave.plots.canvas import (
    Display,
    choose_labels,
    draw_line,
    joint_of,
    label_matrix,
    model_names,
    names_of,
    tidy,
)

_RELIABILITY = ("marginals", "labels", "joint")
_CONVERGENCE = ("iterations", "components")
_MOST_PANELS = 4
_AXES = {
    "marginals": ("predicted probability", "observed rate"),
    "labels": ("predicted probability", "observed rate"),
    "joint": ("probability of the predicted label vector", "all labels right"),
}


class _Bins(TypedDict, total=False):
    """Options that methods of `ReliabilityDisplay` pass to `reliability_curve`."""

    n_bins: int
    strategy: str


class ReliabilityDisplay(Display):
    """Reliability diagrams: of the events with probability p, a fraction p should occur.

    Points below the diagonal were predicted with too much confidence. Bars are 95 % intervals
    (Wilson's), and the area of a point grows with the number of predictions.

    Parameters
    ----------
    curves : mapping from str to ReliabilityCurve
        The curves, one panel each, by title.
    of : {"marginals", "labels", "joint"}, default="marginals"
        The events that the probabilities are about; it names the axes.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = ReliabilityDisplay.from_predictions(
    ...     [[0.2], [0.7]], [[0], [1]], n_bins=5, ax=Figure().subplots()
    ... )
    >>> display.ax_.get_xlabel()
    'predicted probability'
    """

    def __init__(self, curves: Mapping[str, ReliabilityCurve], *, of: str = "marginals") -> None:
        if not curves:
            raise ValueError("curves must hold at least one curve")
        self.curves = dict(curves)
        self.of = check_choice(of, "of", _RELIABILITY)

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
        label_names: Sequence[str] | None = None,
        ax: Any = None,
        **bins: Unpack[_Bins],
    ) -> Self:
        """Compare a fitted model's probabilities with the labels of test rows.

        Parameters
        ----------
        model : fitted estimator
            Any with ``predict_proba``; of="joint" needs ``predict_joint``, also inside a pipeline.
        X, Y
            Features and labels of rows that were not used for fitting.
        of : {"marginals", "labels", "joint"}, default="marginals"
            The pooled marginals of all labels; the marginals of each label, one panel per label; or
            the probabilities of the most probable label vectors: vectors of probability 0.8 should
            be entirely right in 80 % of the rows.
        labels, max_labels, label_names, ax, n_bins, strategy
            As in `from_predictions`.
        """
        if check_choice(of, "of", _RELIABILITY) == "joint":
            return cls.from_joint(joint_of(model, X), Y, ax=ax, **bins)
        scores = predict_marginals(model, X)
        if scores is None:
            raise ValueError(f"model must have predict_proba; {type(model).__name__} has none")
        return cls.from_predictions(
            scores,
            Y,
            of=of,
            labels=labels,
            max_labels=max_labels,
            label_names=model_names(model) if label_names is None else label_names,
            ax=ax,
            **bins,
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
        label_names: Sequence[str] | None = None,
        ax: Any = None,
        **bins: Unpack[_Bins],
    ) -> Self:
        """Compare marginals with labels.

        Parameters
        ----------
        scores : (n, L) array
            P(y_j = 1 | x).
        of : {"marginals", "labels"}, default="marginals"
            All labels pooled, or one panel per label.
        labels : sequence of int or str, optional
            Which labels to use; by default all of them if pooled, else the most frequent ones.
        max_labels : int, default=6
            Number of panels if `labels` is not given.
        Y, label_names, ax
            As in `labelweave.plots`.
        n_bins, strategy
            As in `reliability_curve`.
        """
        check_choice(of, "of", _RELIABILITY[:2])
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
            title: reliability_curve(values[:, group], truth[:, group], **bins)
            for title, group in groups.items()
        }
        return cls(curves, of=of).plot(ax)

    @classmethod
    def from_joint(
        cls, joint: JointDistribution, Y: Any, *, ax: Any = None, **bins: Unpack[_Bins]
    ) -> Self:
        """Compare the probabilities of the most probable label vectors with their exact matches.

        `n_bins` and `strategy` are those of `reliability_curve`.
        """
        truth = label_matrix(Y)
        if truth.shape != (joint.n_rows, joint.n_labels):
            raise ValueError(
                f"Y must have shape ({joint.n_rows}, {joint.n_labels}); its shape is {truth.shape}"
            )
        curve = vector_reliability(truth, joint, **bins)
        return cls({f"label vectors of {len(truth)} rows": curve}, of="joint").plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw all curves, one panel each."""
        n = len(self.curves)
        size = (4.2, 4.4) if n == 1 else (2.9, 3.1)
        panels = self._panels(ax, n, size, columns=3, sharex=True, sharey=True)
        x_label, y_label = _AXES[self.of]
        for panel, (title, curve) in zip(panels, self.curves.items(), strict=True):
            _draw_reliability(panel, curve)
            shown = f"{literal(title)}\nmean distance {curve.error:.3f}"
            panel.set_title(shown, fontsize=9, loc="left")
        for panel in panels:
            if panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col():
                panel.set_ylabel(y_label)
            if ax is not None or panel in panels[-3:]:
                panel.set_xlabel(x_label)
                panel.tick_params(labelbottom=True)
        return self


def _draw_reliability(panel: Any, curve: ReliabilityCurve) -> None:
    tidy(panel)
    panel.plot([0, 1], [0, 1], color=EDGE, linewidth=1, linestyle="--", zorder=1)
    panel.vlines(curve.p, curve.low, curve.high, color=COLOURS[0], alpha=0.55, linewidth=1.6)
    panel.plot(curve.p, curve.rate, color=COLOURS[0], linewidth=1, alpha=0.55)
    area = 14 + 70 * curve.n / curve.n.max()
    panel.scatter(curve.p, curve.rate, s=area, color=COLOURS[0], edgecolor="white", zorder=3)
    panel.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    panel.set_xticks([0, 0.5, 1])
    panel.set_yticks([0, 0.5, 1])


class ConvergenceDisplay(Display):
    """Curves that become flat as an algorithm converges.

    `curves` are arrays (x, y) by name. `limit` is a level that no curve exceeds, and its name;
    `chosen` is the x that was chosen.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint([[0.2, -5.0]], [[0.0, 0.0], [5.0, 0.0]])
    >>> display = ConvergenceDisplay.from_joint(
    ...     joint, Gibbs(sweeps=3), mode=joint.mode(), ax=Figure().subplots()
    ... )
    >>> display.ax_.lines[0].get_ydata().round(3)
    array([0.275, 0.447, 0.447, 0.447])
    """

    def __init__(
        self,
        curves: Mapping[str, tuple[Floats, Floats]],
        *,
        x_label: str,
        y_label: str,
        limit: tuple[float, str] | None = None,
        chosen: float | None = None,
    ) -> None:
        if not curves:
            raise ValueError("curves must hold at least one curve")
        self.curves = {
            name: (np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
            for name, (x, y) in curves.items()
        }
        for name, (x, y) in self.curves.items():
            if x.ndim != 1 or x.shape != y.shape:
                raise ValueError(
                    f"curves[{name!r}] must be two arrays of the same length; "
                    f"got shapes {x.shape} and {y.shape}"
                )
        self.x_label, self.y_label = x_label, y_label
        self.limit, self.chosen = limit, chosen

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        gibbs: Gibbs | Mapping[str, Gibbs] | None = None,
        *,
        mode: Mode | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the probability of the best vector found after each sweep, averaged over rows.

        Parameters
        ----------
        gibbs : Gibbs, or mapping from name to Gibbs, optional
            Samplers to compare; by default ``Gibbs()``.
        mode : Mode, optional
            The modes of all rows, or bounds on them, to draw as a limit: ``joint.mode()``.
        joint, ax
            As in `labelweave.plots`.
        """
        if gibbs is None or isinstance(gibbs, Gibbs):
            gibbs = {"Gibbs": gibbs or Gibbs()}
        curves = {}
        for name, sampler in gibbs.items():
            y = np.exp(sampler.trace(joint)).mean(axis=0)
            curves[name] = (np.arange(len(y), dtype=np.float64), y)
        limit = None
        if mode is not None:
            if len(mode.labels) != joint.n_rows:
                raise ValueError(
                    f"mode must have one vector for each of the {joint.n_rows} rows of joint; "
                    f"it has {len(mode.labels)}"
                )
            level = float(np.exp(np.minimum(mode.upper_bound, 0.0)).mean())
            limit = level, "the modes" if mode.optimal.all() else "upper bound of the modes"
        y_label = "mean probability of the best vector found"
        return cls(curves, x_label="sweeps", y_label=y_label, limit=limit).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, *, of: str = "iterations", ax: Any = None) -> Self:
        """Draw the course of EM of a fitted mixture.

        Parameters
        ----------
        model : fitted estimator
            A `TreeMixture` or `ChainMixture`; also inside a pipeline.
        of : {"iterations", "components"}, default="iterations"
            The objective of the final fit over the iterations of EM; or the quality of mixtures of
            increasing size on the rows fitted and on those held out, for mixtures that chose their
            size themselves.
        """
        inner = inside(model, delegates=True).model
        if not (hasattr(inner, "objectives_") and hasattr(inner, "history_")):
            raise ValueError(
                f"model must be a fitted TreeMixture or ChainMixture; got {type(inner).__name__}"
            )
        if check_choice(of, "of", _CONVERGENCE) == "iterations":
            y = np.asarray(inner.objectives_)
            curves = {"EM": (np.arange(len(y), dtype=np.float64), y)}
            y_label = "penalised log-likelihood"
            return cls(curves, x_label="iterations of EM", y_label=y_label).plot(ax)
        steps = inner.history_
        if not steps:
            raise ValueError(
                "model has no history of sizes: fit it with n_components='auto', or draw "
                "of='iterations'"
            )
        size = np.array([step.n_components for step in steps], dtype=np.float64)
        both = {
            "rows fitted": (size, np.array([step.train for step in steps])),
            "rows held out": (size, np.array([step.validation for step in steps])),
        }
        y_label, chosen = "mean log-likelihood of a row", float(inner.n_components_)
        return cls(both, x_label="components", y_label=y_label, chosen=chosen).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves."""
        (panel,) = self._panels(ax, 1, (5.0, 3.4))
        tidy(panel)
        for k, (name, (x, y)) in enumerate(self.curves.items()):
            # Curves also differ in dashes, so that they can be distinguished where they meet.
            draw_line(panel, name, x, y, k, linestyle=("-", "--", "-.", ":")[k % 4])
        if self.limit is not None:
            level, meaning = self.limit
            panel.axhline(level, color=EDGE, linewidth=1.2, linestyle=(0, (6, 3)), label=meaning)
        if self.chosen is not None:
            panel.axvline(self.chosen, color=EDGE, linewidth=1.2, linestyle=":", label="chosen")
        panel.locator_params(axis="x", integer=True)
        panel.set(xlabel=self.x_label, ylabel=self.y_label)
        if len(self.curves) > 1 or self.limit is not None or self.chosen is not None:
            panel.legend(fontsize=8, frameon=False)
        return self


class ExpectedF1Display(Display):
    """Expected and true F1 against the threshold, as in figure 4 of the BOMC paper.

    If the two curves peak at nearly the same threshold, the expected F1 is a sound criterion for
    choosing it; the heights of the curves matter less. `expected` and `true`, (K, G), are the F1 of
    K labels at the G thresholds of `grid`; `chosen`, (K,), are the thresholds with the highest
    expected F1.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> counts = F1Statistics(n_labels=1, samples=1)
    >>> counts.update([[0.9], [0.2]], [[[1], [0]]])
    >>> display = ExpectedF1Display.from_predictions(
    ...     counts, [[0.9], [0.2]], [[1], [0]], label_names=["sad"], ax=Figure().subplots()
    ... )
    >>> display.ax_.get_title()
    'sad: 1 of 2 rows'
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
        """Draw the curves of test rows, by default of four labels, from frequent to rare.

        Parameters
        ----------
        statistics : F1Statistics
            Counts over the test rows and their sampled labels.
        scores : (n, L) array
            Probabilities of the test rows.
        Y, labels, label_names, ax
            As in `labelweave.plots`.
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
        """Draw one panel per label."""
        panels = self._panels(ax, len(self.titles), (3.2, 3.0), columns=_MOST_PANELS, sharex=True)
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
    chosen = np.unique(np.linspace(0, len(ranked) - 1, _MOST_PANELS).round().astype(int))
    return np.asarray(ranked[chosen], dtype=np.int64)


class StreamDisplay(Display):
    r"""Prequential F1 over the rows of a stream: each batch is predicted before it is learned.

    The solid line is the micro F1 over all rows so far, the dashed line the macro F1. A thin line
    shows the micro F1 of the last `window` rows: the current quality of the model.

    Parameters
    ----------
    histories : StreamHistory, or mapping from name to StreamHistory
    window : int, optional
        Rows of the thin line; by default a twentieth of all rows. 0 leaves it out.

    Examples
    --------
    >>> import io
    >>> from matplotlib.figure import Figure
    >>> from labelweave.data.row_text import RowStream
    >>> from labelweave.models.online import StreamHistory, StreamLearner
    >>> history = StreamHistory()
    >>> stream = RowStream(io.BytesIO(b"0 1:1\n1 2:1\n" * 20))
    >>> StreamLearner(stream, batch_lines=10).run(history)
    >>> display = StreamDisplay.from_history(history, ax=Figure().subplots())
    >>> display.ax_.get_xlabel()
    'rows'
    """

    def __init__(
        self, histories: StreamHistory | Mapping[str, StreamHistory], *, window: int | None = None
    ) -> None:
        if isinstance(histories, StreamHistory):
            histories = {"": histories}
        self.histories = dict(histories)
        if not self.histories:
            raise ValueError("histories must hold at least one history")
        for name, history in self.histories.items():
            if len(history) == 0:
                which = f"histories[{name!r}]" if name else "histories"
                raise ValueError(f"{which} is empty: pass it to StreamLearner.run first")
        if window is not None:
            check_whole_number(window, "window", 0)
        self.window = window

    @classmethod
    def from_history(
        cls,
        histories: StreamHistory | Mapping[str, StreamHistory],
        *,
        window: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the quality that a `StreamHistory` recorded in ``StreamLearner.run(history)``."""
        return cls(histories, window=window).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves."""
        (panel,) = self._panels(ax, 1, (5.6, 3.4))
        tidy(panel)
        one = len(self.histories) == 1
        for k, (name, history) in enumerate(self.histories.items()):
            prefix = f"{literal(name)}: " if name else ""
            micro, macro = (COLOURS[0], COLOURS[1]) if one else (COLOURS[k % len(COLOURS)],) * 2
            rows = history.n_rows
            panel.plot(rows, history.micro, color=micro, label=f"{prefix}micro F1")
            panel.plot(rows, history.macro, "--", color=macro, label=f"{prefix}macro F1")
            window = int(-(-rows[-1] // 20)) if self.window is None else self.window
            recent = history.recent_micro(window) if window else np.full(len(rows), np.nan)
            if np.isfinite(recent).any():
                meaning = f"{prefix}micro F1, last {window:,} rows"
                style = {"color": micro, "linewidth": 0.9, "alpha": 0.6}
                panel.plot(rows, recent, label=meaning, **style)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        panel.set(xlabel="rows", ylabel="F1 before learning", ylim=(0, 1.02))
        panel.set_xlim(left=0)
        # The legend is above the Axes, because the curves may be anywhere inside.
        where = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3 if one else 2}
        panel.legend(fontsize=8, frameon=False, **where)
        return self
