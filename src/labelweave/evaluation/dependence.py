"""Dependence between labels: pairs of labels and forests of pairs, in data or given features.

In data, the labels are counted. Under a joint distribution, the conditional dependence given the
features of a row is averaged over the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_whole_number
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.pairs import log_odds_ratios, log_ratio, pair_cells
from labelweave.joint.pairs import mutual_information as pairs_information
from labelweave.joint.tree import parents_of_forest
from labelweave.metrics import check_indicators
from labelweave.models.structure import Structure

if TYPE_CHECKING:
    import pandas as pd


def conditional_matrix(Y: ArrayLike) -> Floats:
    """Return the conditional frequencies of all pairs of labels, (L, L).

    ``[i, j]`` is P(y_j = 1 | y_i = 1); nan in the rows of labels that never occur.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.

    Examples
    --------
    >>> conditional_matrix([[1, 1], [1, 0]])
    array([[1. , 0.5],
           [1. , 1. ]])
    """
    labels = check_indicators(Y, "Y").astype(np.float64)
    return _given_rows(labels.T @ labels)


def mean_conditional_matrix(joint: JointDistribution) -> Floats:
    """Return P(y_j = 1 | y_i = 1) for a row drawn at random from the batch, (L, L)."""
    (total,) = _sums_over_rows(joint, lambda pairs: (pairs,))
    return _given_rows(total)


def _given_rows(pairs: Floats) -> Floats:
    """Divide each row by its diagonal entry; rows where that is zero become nan."""
    alone = np.diag(pairs)[:, None]
    matrix = np.full(pairs.shape, np.nan)
    np.divide(pairs, alone, out=matrix, where=alone > 0)
    return matrix


def mutual_information(Y: ArrayLike) -> Floats:
    """Return the mutual information of every pair of labels in nats, (L, L).

    The entropies of the labels are on the diagonal.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.

    Examples
    --------
    >>> mutual_information([[0, 0], [0, 0], [1, 1], [1, 1]]).round(3)
    array([[0.693, 0.693],
           [0.693, 0.693]])
    """
    labels = check_indicators(Y, "Y").astype(np.float64)
    return pairs_information(labels.T @ labels, len(labels))


def mean_dependence(joint: JointDistribution) -> tuple[Floats, Floats]:
    """Return mutual information and log-odds ratios given the features, in one pass."""

    def terms(pairs: Floats) -> tuple[Floats, Floats, Floats]:
        both, first, second, neither = pair_cells(pairs)
        return pairs_information(pairs), both * neither, first * second

    total, attraction, repulsion = _sums_over_rows(joint, terms)
    return total / joint.n_rows, log_ratio(attraction, repulsion)


def _sums_over_rows(
    joint: JointDistribution, terms: Callable[[Floats], tuple[Floats, ...]]
) -> list[Floats]:
    """Return the sums over rows n of functions of P(y_i = 1, y_j = 1 | x_n), computed once."""
    if joint.n_rows == 0:
        raise ValueError("joint has no rows; pass at least one")
    sums: list[Any] = []
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        parts = [term.sum(axis=0) for term in terms(joint[rows].pairwise())]
        sums = [total + part for total, part in zip(sums or [0.0] * len(parts), parts, strict=True)]
    return sums


def chow_liu(Y: ArrayLike, label_names: Sequence[str] | None = None) -> Structure:
    """Return the forest that explains most of the dependence between labels (Chow and Liu 1968).

    Features are not used. An edge must increase the log-likelihood of Y by more than ½ log n, the
    cost of its parameter by the Bayesian information criterion, so that labels that occur together
    by chance are not joined: ``gains`` are n times the mutual information, less ½ log n.
    ``couplings`` are log-odds ratios. The best connected label of a tree is its root.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.
    label_names : sequence of str, optional

    Examples
    --------
    >>> rain, sun = np.tile([0, 0, 1, 1], 20), np.tile([0, 1], 40)
    >>> chow_liu(np.column_stack([rain, rain, sun]), ["rain", "wet", "sun"])
    Structure(3 labels, 1 edges, gain 53.3)
    rain
    └─ wet  +8.79  (gain 53.3)
    sun
    """
    labels = check_indicators(Y, "Y")
    n, n_labels = labels.shape
    if label_names is not None and len(label_names) != n_labels:
        raise ValueError(f"label_names must name {n_labels} labels; it has {len(label_names)}")
    gain = n * mutual_information(labels) - np.log(n) / 2.0
    counts = labels.T.astype(np.float64) @ labels
    # Half a row is added to every cell (Haldane), so the ratios are finite.
    log_odds = log_odds_ratios(counts, n, prior=0.5)
    names = None if label_names is None else tuple(map(str, label_names))
    return forest_of_gains(gain, log_odds, names)


def forest_of_gains(
    gain: Floats, log_odds: Floats, label_names: tuple[str, ...] | None = None
) -> Structure:
    """Return the forest of largest total gain; every tree has its best connected label as root."""
    worth = np.maximum(gain, 0.0)
    np.fill_diagonal(worth, 0.0)
    parents = _spanning_forest(worth)
    child = np.flatnonzero(parents >= 0)
    gains, couplings = np.zeros(len(worth)), np.zeros(len(worth))
    gains[child] = worth[parents[child], child]
    couplings[child] = log_odds[parents[child], child]
    return Structure(parents, gains=gains, label_names=label_names, couplings=couplings)


def _spanning_forest(weight: Floats) -> Indices:
    """Return the parents in the forest of largest total weight; zero means no edge."""
    edges = minimum_spanning_tree(-weight).toarray() < 0
    linked = edges | edges.T
    return parents_of_forest(csr_array(linked), linked.sum(axis=0))


# Rounding errors of the mutual information of independent labels.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class LabelDependence:
    """The dependence of all pairs of labels given the features.

    Attributes
    ----------
    mutual_information : (L, L) array
        I(y_i; y_j | x) in nats, symmetric; the entropies of the labels are on the diagonal.
    log_odds_ratio : (L, L) array
        The change in the log-odds of one label if the other is present, symmetric; negative if the
        labels repel each other, infinite on the diagonal and if they exclude or imply each other.
    label_names : tuple of str
    rows : str
        The rows that were averaged.

    Examples
    --------
    >>> from labelweave.joint import ChainJoint
    >>> coupling = [[0, 0, 0], [2, 0, 0], [-1, 0, 0]]
    >>> joint = ChainJoint([[0.3, -1.0, 0.5]], coupling, label_names=["sea", "sand", "snow"])
    >>> LabelDependence.from_joint(joint).to_frame().round(3)
      label other_label  mutual_information  log_odds_ratio
    0   sea        sand               0.109           2.000
    1   sea        snow               0.030          -1.000
    2  sand        snow               0.006          -0.447
    """

    mutual_information: Floats
    log_odds_ratio: Floats
    label_names: tuple[str, ...]
    rows: str = ""

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        row: int | None = None,
        label_names: Sequence[str] | None = None,
    ) -> LabelDependence:
        """Measure the dependence under joint distributions.

        Parameters
        ----------
        joint : JointDistribution
            Of at least one row. If its pairs are estimated from k draws, independent labels have
            a mutual information of about 1/(2k) in each row.
        row : int, optional
            Position of the row to look at; by default the average over all rows.
        label_names : sequence of str, optional
            By default the names in the joint, or positions.
        """
        rows = f"mean of {joint.n_rows} rows" if joint.n_rows > 1 else "row 0"
        if row is not None:
            rows = f"row {row}"
            joint = joint[check_whole_number(row, "row", 0, joint.n_rows - 1)]
        names = joint.label_names if label_names is None else label_names
        if names is None:
            names = list(map(str, range(joint.n_labels)))
        if len(names) != joint.n_labels:
            raise ValueError(f"label_names must name {joint.n_labels} labels; it has {len(names)}")
        return cls(*mean_dependence(joint), tuple(map(str, names)), rows)

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.label_names)

    def strongest_pairs(self, top: int | None = None) -> tuple[Indices, Indices]:
        """Return the labels i < j of all pairs, or the first `top`, by mutual information."""
        first, second = np.triu_indices(self.n_labels, 1)
        order = np.argsort(-self.mutual_information[first, second], kind="stable")
        if top is not None:
            order = order[: check_whole_number(top, "top")]
        return first[order], second[order]

    def to_frame(self, top: int | None = None) -> pd.DataFrame:
        """Return a table of all pairs, or the first `top`, in descending order of strength."""
        import pandas as pd

        first, second = self.strongest_pairs(top)
        return pd.DataFrame(
            {
                "label": [self.label_names[i] for i in first],
                "other_label": [self.label_names[j] for j in second],
                "mutual_information": self.mutual_information[first, second],
                "log_odds_ratio": self.log_odds_ratio[first, second],
            }
        )

    def forest(self, max_edges: int | None = None) -> Structure:
        """Return the strongest pairs that form a forest, at most `max_edges`.

        In the `Structure`, ``gains`` are mutual information in nats, ``couplings`` log-odds ratios.
        """
        information = np.where(self.mutual_information > _NOTHING, self.mutual_information, 0.0)
        forest = forest_of_gains(information, self.log_odds_ratio, self.label_names)
        if max_edges is None or len(forest.edges) <= check_whole_number(max_edges, "max_edges"):
            return forest
        child = np.argsort(-forest.gains, kind="stable")[:max_edges]
        kept = np.zeros_like(information)
        parent = forest.parents[child]
        kept[parent, child] = kept[child, parent] = forest.gains[child]
        # The roots are chosen again, because trees with fewer edges may have others.
        return forest_of_gains(kept, self.log_odds_ratio, self.label_names)
