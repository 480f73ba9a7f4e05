"""The structure of a tree network: a forest over labels, with text, plot and exports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Indices
from labelweave._common.label_graph import LabelGraph
from labelweave._common.pipelines import core_model


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """A forest over labels: every label has at most one parent.

    Attributes
    ----------
    parents : (L,) int array
        The parent of each label; -1 for a root.
    gains : (L,) array
        How much the parent increases the held-out log-likelihood of the label, summed over the rows
        (each held out once); 0 for a root, NaN if the structure was given or random, not learned.
    label_names : tuple of str or None
    pair_gains : (L, L) array or None
        The gains of all candidate edges, ``pair_gains[parent, child]``, if the structure was
        learned; NaN on the diagonal and for pairs left out by screening.
    couplings : (L,) array
        How much a positive parent adds to the log-odds of the label, negative if it makes the label
        less likely; 0 for a root, NaN if the effect is not a constant.

    Examples
    --------
    >>> import numpy as np
    >>> structure = Structure(np.array([-1, 0, 0, 1]), label_names=("sea", "sand", "boat", "palm"))
    >>> structure
    Structure(4 labels, 3 edges)
    sea
    ├─ sand
    │  └─ palm
    └─ boat
    >>> print(structure.to_dot())
    digraph labels {
      rankdir=LR;
      node [shape=box];
      0 [label="sea"];
      1 [label="sand"];
      2 [label="boat"];
      3 [label="palm"];
      0 -> 1;
      0 -> 2;
      1 -> 3;
    }
    """

    parents: Indices
    gains: Floats = field(default_factory=lambda: np.empty(0))
    label_names: tuple[str, ...] | None = None
    pair_gains: Floats | None = None
    couplings: Floats = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in ("gains", "couplings"):
            if len(getattr(self, name)) != len(self.parents):
                object.__setattr__(self, name, np.full(len(self.parents), np.nan))

    def coupled(self, coupling: Floats) -> Structure:
        """Return the same forest with the couplings of fitted conditionals, ``coupling[j, k]``."""
        # A label is coupled to its parent alone.
        return replace(self, couplings=coupling.sum(axis=1))

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.parents)

    @property
    def roots(self) -> Indices:
        """The labels without a parent."""
        return np.flatnonzero(self.parents < 0)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The pairs (parent, child), by parent and then by child."""
        children = np.flatnonzero(self.parents >= 0)
        return sorted((int(self.parents[child]), int(child)) for child in children)

    def children(self, label: int) -> Indices:
        """Return the labels whose parent is `label`."""
        return np.flatnonzero(self.parents == label)

    def name(self, label: int) -> str:
        """Return the label's name, or its position if labels have no names."""
        return str(label) if self.label_names is None else self.label_names[label]

    def graph(self) -> LabelGraph:
        """Return which label each label depends on."""
        return LabelGraph.forest(self.parents)

    def walk(self) -> Iterator[tuple[int, int]]:
        """Yield (label, depth) for all labels, parents before children."""
        open_labels = [(int(root), 0) for root in self.roots[::-1]]
        while open_labels:
            label, depth = open_labels.pop()
            yield label, depth
            open_labels += [(int(child), depth + 1) for child in self.children(label)[::-1]]

    def __repr__(self) -> str:
        """Draw the forest as text, with coupling and gain beside the children."""
        known = np.isfinite(self.gains).all() and len(self.edges) > 0
        total = f", gain {_shown(self.gains.sum())}" if known else ""
        lines = [f"Structure({self.n_labels} labels, {len(self.edges)} edges{total})"]
        stems: list[str] = []  # the text left of the children of each open ancestor
        for label, depth in self.walk():
            stems = stems[:depth]
            if depth == 0:
                lines.append(self.name(label))
                stems = [""]
                continue
            last = label == self.children(int(self.parents[label]))[-1]
            stem = f"{stems[-1]}{'└─' if last else '├─'} {self.name(label)}"
            lines.append("  ".join([stem, *self._strength(label)]))
            stems.append(stems[-1] + ("   " if last else "│  "))
        return "\n".join(lines)

    def _strength(self, label: int) -> list[str]:
        """Format the coupling of a label to its parent and the gain of that edge."""
        coupling, gain = self.couplings[label], self.gains[label]
        shown = [f"{coupling:+.2f}"] if np.isfinite(coupling) else []
        return shown + ([f"(gain {_shown(gain)})"] if np.isfinite(gain) else [])

    def plot(self, ax: Any = None) -> Any:
        """Plot the forest from left to right; lines are thicker for edges of larger gain.

        Dashed and orange lines mean that the parent makes the label less likely.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw into; by default those of a new figure, large enough for all names.

        Returns
        -------
        matplotlib Axes
        """
        from labelweave.models.trees.plot import plot_structure

        return plot_structure(self, ax)

    def to_networkx(self) -> Any:
        """Return a ``networkx.DiGraph``: nodes are label positions with their name as `label`.

        Edges carry their `gain` and `coupling` if known. Needs networkx.
        """
        try:
            import networkx
        except ImportError as error:
            raise ImportError(
                "to_networkx needs networkx: install it (pip install networkx), or use to_dot()"
            ) from error
        graph = networkx.DiGraph()
        for label in range(self.n_labels):
            graph.add_node(label, label=self.name(label))
        for parent, child in self.edges:
            strength = {"gain": self.gains[child], "coupling": self.couplings[child]}
            known = {name: float(value) for name, value in strength.items() if np.isfinite(value)}
            graph.add_edge(parent, child, **known)
        return graph

    def to_dot(self, title: str | None = None) -> str:
        """Return the forest in Graphviz's DOT language.

        Parameters
        ----------
        title : str, optional
            Shown above the graph.
        """
        lines = ["digraph labels {"]
        if title is not None:
            lines.append(f"  label={_quoted(title)}; labelloc=t;")
        lines += ["  rankdir=LR;", "  node [shape=box];"]
        lines += [
            f"  {label} [label={_quoted(self.name(label))}];" for label in range(self.n_labels)
        ]
        for parent, child in self.edges:
            strength = " ".join(self._strength(child))
            shown = f' [label="{strength}"]' if strength else ""
            lines.append(f"  {parent} -> {child}{shown};")
        return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    """Quote a text for DOT: escape backslashes and quotes, and join lines."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + " ".join(escaped.splitlines()) + '"'


def structures_of(model: Any) -> list[Structure]:
    """Return the forests that a fitted model, or a pipeline that ends in one, has over its labels.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import BinaryRelevance, structures_of
    >>> data = load_emotions()
    >>> structures_of(BinaryRelevance(C=0.01).fit(data.X, data.Y))
    []
    """
    last = core_model(model)
    for name in ("structure_", "components_", "structures_"):
        found = getattr(last, name, None)
        structures = [found] if isinstance(found, Structure) else found
        if isinstance(structures, list) and all(isinstance(s, Structure) for s in structures):
            return structures
    return []


def _shown(gain: float) -> str:
    """Format a gain: summed over rows it is large, averaged over them it is below one."""
    return f"{gain:.1f}" if abs(gain) >= 1 or gain == 0 else f"{gain:.2g}"
