"""The forest of a tree network: as a value, as text, as a picture, and for networkx and DOT.

Forests are drawn from left to right, so that names do not overlap. Every leaf has a line of its
own; a parent is centred on its children; a column is as wide as its longest name. Isolated labels,
of which a forest may have many, share lines at the bottom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave._common.arrays import Floats, Indices
from labelweave._common.drawing import COLOURS, EDGE, INK, literal, matplotlib_missing
from labelweave._common.pipelines import inside
from labelweave.joint import TreeJoint
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import LabelGraph

if TYPE_CHECKING:
    from labelweave.models.conditionals import LabelConditionals

_FONT = 9.0  # points
# Sizes in characters of the names: a letter of matplotlib's default font is about 0.6 em wide.
_CHARACTER = 0.6 * _FONT / 72  # inches
_LINE, _TITLE = 0.27, 0.3  # inches
_GAP = 4.0  # characters between columns
_PADDING = 1.2  # characters inside a box
_INSTEAD = ", or use to_dot()"
_WIDE, _NARROW = frozenset("MWmw@%"), frozenset("ijl.,:;|!' ")
_DASHES = (0, (2.0, 1.1))  # short, so that even a thick line has two of them between columns
_BOX, _ROOT = "#eef2f6", "#d6e4f0"
_LEGEND = 1.7  # lines below the forest
# Styles of edges whose parent makes the child more likely, or less likely.
_MORE: dict[str, Any] = {"color": COLOURS[0], "linestyle": "-"}
_LESS: dict[str, Any] = {"color": COLOURS[1], "linestyle": _DASHES}


@dataclass(frozen=True)
class Layout:
    """Positions of the labels, (L,): left edges and box widths in characters, heights in lines."""

    x: Floats
    y: Floats
    width: Floats

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches at which every name is legible."""
        right = float((self.x + self.width).max()) + 2.0
        return max(3.0, right * _CHARACTER), max(1.0, (float(self.y.max()) + 1.6) * _LINE)


def layout_of(structure: Structure) -> Layout:
    """Place the labels of a forest."""
    n_labels = structure.n_labels
    width = np.array([_text_width(structure.name(i)) for i in range(n_labels)]) + 2 * _PADDING
    depth = np.zeros(n_labels, dtype=np.int64)
    y = np.zeros(n_labels)
    has_child = np.bincount(structure.parents[structure.parents >= 0], minlength=n_labels) > 0
    alone = (structure.parents < 0) & ~has_child
    order: list[int] = []
    line = 0.0
    for label, level in structure.walk():
        if alone[label]:
            continue
        if level == 0 and order:
            line += 0.5  # a gap between trees
        depth[label] = level
        order.append(label)
        if not has_child[label]:
            y[label] = line
            line += 1.0
    for label in reversed(order):
        if has_child[label]:
            lines = y[structure.children(label)]
            y[label] = (lines.min() + lines.max()) / 2
    column = np.zeros(int(depth.max(initial=0)) + 2)
    for level in range(len(column) - 1):
        here = width[(depth == level) & ~alone]
        column[level + 1] = column[level] + here.max(initial=0.0) + _GAP
    x = column[depth]
    _place_alone(np.flatnonzero(alone), line + 0.5 * bool(order), float(column[-1]), x, y, width)
    return Layout(x, y, width)


def _text_width(name: str) -> float:
    """Estimate the width of a name, in characters of average width."""
    return sum(
        1.7 if c in _WIDE else 0.6 if c in _NARROW else 1.15 if c.isupper() else 1.0 for c in name
    )


def _place_alone(
    labels: Indices, line: float, right: float, x: Floats, y: Floats, width: Floats
) -> None:
    """Fill lines from left to right with isolated labels."""
    room = max(right, 60.0)
    at = 0.0
    for label in labels:
        if at > 0 and at + width[label] > room:
            at, line = 0.0, line + 1.0
        x[label], y[label] = at, line
        at += width[label] + 1.5


def _plot_forest(ax: Any, structure: Structure) -> None:
    layout = layout_of(structure)
    for parent, child in structure.edges:
        _draw_edge(ax, layout, parent, child, _edge_style(structure, child))
    for label in range(structure.n_labels):
        _draw_label(ax, structure, layout, label)
    ax.set_xlim(-1.0, float((layout.x + layout.width).max()) + 1.0)
    ax.set_ylim(float(layout.y.max()) + 0.8, -0.8)
    ax.set_axis_off()


def _edge_style(structure: Structure, child: int) -> dict[str, Any]:
    coupling, gains, linewidth = structure.couplings[child], structure.gains, 1.2
    largest = np.nanmax(gains) if np.isfinite(gains).any() else 0.0
    if largest > 0:
        linewidth = float(0.8 + 3.2 * np.sqrt(max(0.0, gains[child]) / largest))
    if np.isnan(coupling):
        return {"color": EDGE, "linestyle": "-", "linewidth": linewidth}
    return {**(_LESS if coupling < 0 else _MORE), "linewidth": linewidth}


def _need_legend(structures: Sequence[Structure]) -> bool:
    return any(np.isfinite(s.couplings[child]) for s in structures for _, child in s.edges)


def _draw_legend(ax: Any) -> None:
    from matplotlib.lines import Line2D

    low, high = ax.get_ylim()
    ax.set_ylim(low + _LEGEND, high)
    meanings = {"more likely together": _MORE, "less likely together": _LESS}
    lines = [Line2D([], [], linewidth=2.0, **style) for style in meanings.values()]
    ax.legend(
        lines,
        list(meanings),
        loc="lower left",
        fontsize=_FONT - 1.0,
        labelcolor=INK,
        frameon=False,
        handlelength=2.6,
        borderaxespad=0.0,
    )


def figure_of(structures: Sequence[Structure], what: str, *, pyplot: bool) -> tuple[Any, list[Any]]:
    """Return a figure of suitable size and an Axes for each forest, one below the other.

    ``pyplot`` says whether the figure is shown by pyplot or notebooks; others need no display.
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.figure import Figure
    except ImportError as error:
        raise matplotlib_missing(what, _INSTEAD) from error
    sizes = [layout_of(structure).size for structure in structures]
    title_height = _TITLE if len(structures) > 1 else 0.0
    heights = [height + title_height for _, height in sizes]
    heights[-1] += _LEGEND * _LINE * _need_legend(structures)
    make = plt.figure if pyplot else Figure
    figure = make(figsize=(max(width for width, _ in sizes), sum(heights)), layout="constrained")
    axes = figure.subplots(len(structures), 1, squeeze=False, height_ratios=heights)[:, 0]
    return figure, list(axes)


def plot_structures(
    structures: Sequence[Structure], titles: Sequence[str | None], axes: Sequence[Any]
) -> None:
    """Plot forests into Axes of equal width, all at the same scale, with a legend in the last."""
    widths = [layout_of(structure).size[0] for structure in structures]
    for ax, structure, title, width in zip(axes, structures, titles, widths, strict=True):
        _plot_forest(ax, structure)
        # Panels are equally wide; the same scale keeps boxes as wide as the names in them.
        left, right = ax.get_xlim()
        ax.set_xlim(left, left + (right - left) * max(widths) / width)
        if title is not None:
            ax.set_title(title, loc="left", fontsize=10)
    if _need_legend(structures):
        _draw_legend(axes[-1])


def _draw_edge(ax: Any, layout: Layout, parent: int, child: int, style: dict[str, Any]) -> None:
    left, right = layout.x[parent] + layout.width[parent], layout.x[child]
    bend = right - 0.75 * _GAP  # all edges into a column bend at the same place
    across = np.linspace(0.0, 1.0, 25)
    smooth = across**2 * (3.0 - 2.0 * across)
    x = np.concatenate([[left], bend + (right - bend) * across])
    y = np.concatenate([[0.0], smooth]) * (layout.y[child] - layout.y[parent]) + layout.y[parent]
    ax.plot(x, y, solid_capstyle="butt", zorder=1, **style)


def _draw_label(ax: Any, structure: Structure, layout: Layout, label: int) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y, width = layout.x[label], layout.y[label], layout.width[label]
    is_root = structure.parents[label] < 0
    box = FancyBboxPatch(
        (x, y - 0.34),
        width,
        0.68,
        boxstyle="round,pad=0,rounding_size=0.2",
        mutation_aspect=1.0,
        facecolor=_ROOT if is_root else _BOX,
        edgecolor=EDGE,
        linewidth=0.8,
        zorder=2,
    )
    ax.add_patch(box)
    name = literal(structure.name(label))
    ax.text(x + width / 2, y, name, ha="center", va="center", fontsize=_FONT, color=INK, zorder=3)


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

    def joint(self, conditionals: LabelConditionals, X: Any, rows: RowOptions) -> TreeJoint:
        """Return the tree network of the conditionals, for the rows of X."""
        return TreeJoint(conditionals.given_parent(X, rows["n_threads"]), self.parents, **rows)

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
        """Plot the forest from left to right into `ax`, or into a new figure of suitable size.

        Edges of larger gain are thicker. Dashed and orange lines mean that the parent makes the
        label less likely. Returns the Axes.
        """
        if ax is None:
            ax = figure_of([self], "plot", pyplot=True)[1][0]
        plot_structures([self], [None], [ax])
        return ax

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
        """Return the forest in Graphviz's DOT language, with a title above the graph if given."""
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
    """Return the label forests of a fitted model, or of a pipeline that ends in one."""
    last = inside(model, delegates=True).model
    for name in ("structure_", "components_", "structures_"):
        found = getattr(last, name, None)
        structures = [found] if isinstance(found, Structure) else found
        if isinstance(structures, list) and all(isinstance(s, Structure) for s in structures):
            return structures
    return []


def _shown(gain: float) -> str:
    """Format a gain: summed over rows it is large, averaged over them it is below one."""
    return f"{gain:.1f}" if abs(gain) >= 1 or gain == 0 else f"{gain:.2g}"
