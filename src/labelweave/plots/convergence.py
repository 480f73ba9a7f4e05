"""How Gibbs sampling and expectation maximisation converge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice
from labelweave._common.drawing import COLOURS, EDGE, literal
from labelweave._common.pipelines import inside
from labelweave.inference import Gibbs
from labelweave.joint import JointDistribution, Mode
from labelweave.plots.canvas import Display, tidy

__all__ = ["ConvergenceDisplay"]

OF = ("iterations", "components")


class ConvergenceDisplay(Display):
    """Curves that should have become flat.

    Parameters
    ----------
    curves : mapping from str to (x, y)
        Arrays of the same length, by name.
    x_label, y_label : str
    limit : (float, str), optional
        A level that no curve exceeds, and what it is.
    chosen : float, optional
        The x that was chosen.

    Attributes
    ----------
    ax_, axes_, figure_
        As in `Display`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import labelweave as lw
    >>> joint = lw.ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> display = ConvergenceDisplay.from_joint(
    ...     joint, lw.Gibbs(sweeps=3), mode=joint.mode(), ax=Figure().subplots()
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
        """Draw how probable the best vector found is after each sweep, averaged over rows.

        Parameters
        ----------
        joint : JointDistribution
        gibbs : Gibbs, or mapping from name to Gibbs, optional
            Samplers to compare; by default ``Gibbs()``.
        mode : Mode, optional
            The modes of all rows, or bounds on them, to draw as a limit: ``joint.mode()``.
        ax : matplotlib Axes, optional
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
        """Draw how the EM of a fitted mixture went.

        Parameters
        ----------
        model : fitted estimator
            A `TreeMixture` or `ChainMixture`; also inside a pipeline.
        of : {"iterations", "components"}, default="iterations"
            The objective of the final fit over the iterations of EM; or how well mixtures of
            increasing size did on the rows fitted and on those held out, for mixtures that chose
            their size themselves.
        ax : matplotlib Axes, optional
        """
        inner = inside(model, delegates=True).model
        if not (hasattr(inner, "objectives_") and hasattr(inner, "history_")):
            raise ValueError(
                f"model must be a fitted TreeMixture or ChainMixture; got {type(inner).__name__}"
            )
        if check_choice(of, "of", OF) == "iterations":
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
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default those of a new figure.
        """
        (panel,) = self._panels(ax, 1, (5.0, 3.4))
        tidy(panel)
        for k, (name, (x, y)) in enumerate(self.curves.items()):
            # Curves differ in dashes too, so that they can be told apart where they meet.
            dashes = ("-", "--", "-.", ":")[k % 4]
            marker = "o" if len(x) <= 30 else ""
            style = {"color": COLOURS[k % len(COLOURS)], "marker": marker, "markersize": 4}
            panel.plot(x, y, dashes, label=literal(name), **style)
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
