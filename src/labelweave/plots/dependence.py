"""Forests of labels: which labels depend on which others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from labelweave._common.checks import check_whole_number
from labelweave._common.drawing import literal
from labelweave._common.files import replacing
from labelweave._common.pipelines import inside
from labelweave.evaluation import LabelDependence, chow_liu
from labelweave.joint import JointDistribution
from labelweave.models.structure import Structure, figure_of, plot_structures, structures_of
from labelweave.plots.canvas import Display, joint_of, label_matrix, names_of

#: The extensions of files that `save_structures` can write.
FIGURE_FORMATS = (".png", ".svg", ".pdf", ".dot")


class DependenceDisplay(Display):
    """Forests of labels, each label beside its parent.

    Lines are thicker for edges of larger gain. A solid blue line joins labels that are more likely
    together, and a dashed orange line labels that are less likely together, as the legend explains.

    Parameters
    ----------
    structures : Structure, or sequence of them
        One panel each.
    titles : sequence of str, optional

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> Y = [[0, 0, 1], [1, 1, 0]] * 5
    >>> DependenceDisplay.from_labels(Y, ax=Figure().subplots()).structures[0].n_labels
    3
    """

    def __init__(
        self, structures: Structure | Sequence[Structure], titles: Sequence[str] | None = None
    ) -> None:
        self.structures = [structures] if isinstance(structures, Structure) else list(structures)
        if not self.structures:
            raise ValueError("structures must hold at least one structure")
        if titles is not None and len(titles) != len(self.structures):
            raise ValueError(
                f"titles must have one title for each of the {len(self.structures)} structures; "
                f"it has {len(titles)}"
            )
        self.titles = None if titles is None else list(titles)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        row: int | None = None,
        max_edges: int = 30,
        components: Sequence[int] | None = None,
        label_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the trees of a fitted model or, given X, the strongest pairs of labels of any model.

        Parameters
        ----------
        model : fitted estimator
            With ``predict_joint`` if X is given, otherwise a `TreeNetwork`, `TreeMixture` or
            `TreeEnsemble`; also inside a pipeline.
        components : sequence of int, optional
            Which trees of a mixture or an ensemble to draw; by default all.
        row, max_edges
            As in `from_joint`; only with X.
        X, label_names, ax
            As in `labelweave.plots`.
        """
        if X is not None:
            if components is not None:
                raise ValueError("components selects trees of a model: pass it without X")
            joint = joint_of(model, X)
            return cls.from_joint(
                joint, row=row, max_edges=max_edges, label_names=label_names, ax=ax
            )
        if row is not None:
            raise ValueError("row needs X: the trees of a model are the same for all rows")
        inner = inside(model, delegates=True).model
        found = structures_of(inner)
        if not found:
            raise ValueError(
                f"model must be a fitted TreeNetwork, TreeMixture or TreeEnsemble; got "
                f"{type(inner).__name__}. For other models, pass X to draw the strongest pairs of "
                "their joint distribution"
            )
        chosen = range(len(found)) if components is None else components
        for k in chosen:
            check_whole_number(k, "components", 0, len(found) - 1)
        titles = [f"tree {k + 1} of {len(found)}" for k in chosen] if len(found) > 1 else None
        trees = [found[k] for k in chosen]
        if label_names is not None and trees:
            names = names_of(None, label_names, trees[0].n_labels)
            trees = [replace(tree, label_names=names) for tree in trees]
        return cls(trees, titles).plot(ax)

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        row: int | None = None,
        max_edges: int = 30,
        label_names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the pairs of labels with the most mutual information given the features.

        Lines are thicker for more information, and dashed between labels that are less likely
        together. Pairs whose labels are already joined through stronger pairs are left out, and so
        are labels without a pair; `LabelDependence.to_frame` lists all pairs.

        Parameters
        ----------
        row : int, optional
            Position of the row to draw; by default the average over all rows.
        max_edges : int, default=30
            How many pairs to draw.
        joint, label_names, ax
            As in `labelweave.plots`.
        """
        found = LabelDependence.from_joint(joint, row=row, label_names=label_names)
        return cls.from_dependence(found, max_edges=max_edges, ax=ax)

    @classmethod
    def from_dependence(
        cls, dependence: LabelDependence, *, max_edges: int = 30, ax: Any = None
    ) -> Self:
        """Draw the strongest pairs, at most `max_edges`, of a measured dependence."""
        forest = _without_isolated(dependence.forest(max_edges))
        return cls(forest, [f"given x: {dependence.rows}"]).plot(ax)

    @classmethod
    def from_labels(
        cls, Y: Any, *, label_names: Sequence[str] | None = None, ax: Any = None
    ) -> Self:
        """Draw the forest of maximal mutual information of labels; see `evaluation.chow_liu`."""
        truth = label_matrix(Y)
        return cls(chow_liu(truth, names_of(Y, label_names, truth.shape[1]))).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw all forests, one below the other."""
        if ax is None:
            name = type(self).__name__
            panels = self._keep(figure_of(self.structures, name, pyplot=True)[1])
        else:
            panels = self._panels(ax, len(self.structures))
        titles = [None] * len(panels) if self.titles is None else map(literal, self.titles)
        plot_structures(self.structures, list(titles), panels)
        return self


def _without_isolated(forest: Structure) -> Structure:
    """Leave out labels without an edge, unless there are no others."""
    joined = np.unique(np.array(forest.edges, dtype=np.int64))
    if len(joined) == 0:
        return forest
    position = np.full(forest.n_labels, -1, dtype=np.int64)
    position[joined] = np.arange(len(joined))
    parents = forest.parents[joined]
    return Structure(
        np.where(parents < 0, -1, position[parents]),
        gains=forest.gains[joined],
        label_names=tuple(forest.name(label) for label in joined),
        couplings=forest.couplings[joined],
    )


def save_structures(structures: Sequence[Structure], path: Path) -> None:
    """Draw forests into a file, one below the other; only ``.dot`` does not need matplotlib."""
    kind = path.suffix.lower()
    if kind not in FIGURE_FORMATS:
        listed = f"{', '.join(FIGURE_FORMATS[:-1])} or {FIGURE_FORMATS[-1]}"
        raise ValueError(f"cannot draw into {path.name!r}: its extension must be {listed}")
    n = len(structures)
    titles = [f"tree {k} of {n}" if n > 1 else None for k in range(1, n + 1)]
    if kind == ".dot":
        graphs = [s.to_dot(title) for s, title in zip(structures, titles, strict=True)]
        with replacing(path) as file:
            file.write(("\n".join(graphs) + "\n").encode())
        return
    figure, axes = figure_of(structures, f"drawing {path.name}", pyplot=False)
    plot_structures(structures, titles, axes)
    with replacing(path) as file:
        figure.savefig(file, format=kind[1:], dpi=150)
