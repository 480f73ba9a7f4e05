"""How labels depend on each other, in data or under a joint distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from labelweave._common.arrays import Floats, Indices
from labelweave.evaluation.validation import check_labels
from labelweave.joint import JointDistribution
from labelweave.joint.dependence import log_odds_ratios, log_ratio, pair_cells
from labelweave.joint.dependence import mutual_information as pairs_information
from labelweave.joint.enumeration import row_blocks
from labelweave.models import Structure

__all__ = [
    "chow_liu",
    "common_log_odds_ratios",
    "conditional_matrix",
    "conditional_mutual_information",
    "mean_conditional_matrix",
    "mutual_information",
]


def conditional_matrix(Y: ArrayLike) -> Floats:
    """Return how often each label occurs among the rows that have another one.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.

    Returns
    -------
    (L, L) array
        ``[i, j]`` is P(y_j = 1 | y_i = 1); nan in the rows of labels that never occur.

    Examples
    --------
    >>> conditional_matrix([[1, 1], [1, 0]])
    array([[1. , 0.5],
           [1. , 1. ]])
    """
    labels = check_labels(Y, "Y").astype(np.float64)
    return _given_rows(labels.T @ labels)


def mean_conditional_matrix(joint: JointDistribution) -> Floats:
    """Return the conditional matrix of a row drawn from the batch, by what the joint says of it.

    Parameters
    ----------
    joint : JointDistribution
        Of at least one row.

    Returns
    -------
    (L, L) array
        ``[i, j]`` is Σ_n P(y_i = y_j = 1 | x_n) / Σ_n P(y_i = 1 | x_n), which is what
        `conditional_matrix` tends to for labels drawn from the joint; nan where both are zero.

    Examples
    --------
    >>> from labelweave.joint import TableJoint
    >>> joint = TableJoint(np.log([[0.25, 0.25, 0.0001, 0.4999]]))
    >>> mean_conditional_matrix(joint).round(2)
    array([[1.  , 0.67],
           [1.  , 1.  ]])
    """
    total = np.zeros((joint.n_labels, joint.n_labels))
    for pairs in _pairwise_blocks(joint):
        total += pairs.sum(axis=0)
    return _given_rows(total)


def _given_rows(pairs: Floats) -> Floats:
    """Divide each row by its diagonal entry; rows where that is zero become nan."""
    alone = np.diag(pairs)[:, None]
    matrix = np.full(pairs.shape, np.nan)
    np.divide(pairs, alone, out=matrix, where=alone > 0)
    return matrix


def mutual_information(Y: ArrayLike) -> Floats:
    """Return the mutual information of every pair of labels.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.

    Returns
    -------
    (L, L) array
        In nats, symmetric; the entropies of the labels are on the diagonal.

    Examples
    --------
    >>> mutual_information([[0, 0], [0, 0], [1, 1], [1, 1]]).round(3)
    array([[0.693, 0.693],
           [0.693, 0.693]])
    """
    labels = check_labels(Y, "Y").astype(np.float64)
    return pairs_information(labels.T @ labels, len(labels))


def conditional_mutual_information(joint: JointDistribution) -> Floats:
    """Return what labels tell about each other once the features of a row are known.

    Parameters
    ----------
    joint : JointDistribution
        Of at least one row.

    Returns
    -------
    (L, L) array
        I(y_i; y_j | x) in nats, the mean over rows of ``joint.mutual_information()``; the mean
        entropies of the labels are on the diagonal.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> conditional_mutual_information(IndependentJoint([[0.0, 0.0], [9.0, 9.0]])).round(3)
    array([[0.347, 0.   ],
           [0.   , 0.347]])
    """
    total = np.zeros((joint.n_labels, joint.n_labels))
    for pairs in _pairwise_blocks(joint):
        total += pairs_information(pairs).sum(axis=0)
    return total / joint.n_rows


def common_log_odds_ratios(joint: JointDistribution) -> Floats:
    """Return how strongly labels attract (or, if negative, repel) each other, given the features.

    Parameters
    ----------
    joint : JointDistribution
        Of at least one row.

    Returns
    -------
    (L, L) array
        The log-odds ratio that all rows have in common by Mantel and Haenszel,
        log Σ_n p₁₁p₀₀ / Σ_n p₁₀p₀₁: finite even if rows exclude a combination, unless all do. The
        diagonal is infinite.

    Examples
    --------
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint([[0.3, -1.0], [-2.0, 0.0]], [[0.0, 0.0], [1.5, 0.0]])
    >>> float(common_log_odds_ratios(joint)[0, 1].round(6))
    1.5
    """
    attraction = np.zeros((joint.n_labels, joint.n_labels))
    repulsion = np.zeros_like(attraction)
    for pairs in _pairwise_blocks(joint):
        both, first, second, neither = pair_cells(pairs)
        attraction += (both * neither).sum(axis=0)
        repulsion += (first * second).sum(axis=0)
    return log_ratio(attraction, repulsion)


def _pairwise_blocks(joint: JointDistribution) -> Iterator[Floats]:
    """Yield P(y_i = 1, y_j = 1) of blocks of rows."""
    if joint.n_rows == 0:
        raise ValueError("joint has no rows; pass at least one")
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        yield joint[rows].pairwise()


def chow_liu(Y: ArrayLike, label_names: Sequence[str] | None = None) -> Structure:
    """Return the forest that explains most of the dependence between labels (Chow and Liu 1968).

    Features play no part in it. An edge must increase the log-likelihood of Y by more than
    ½ log n, the cost of its parameter by the Bayesian information criterion, so that labels which
    occur together by chance remain apart. Every tree has its best connected label as root.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.
    label_names : sequence of str, optional

    Returns
    -------
    Structure
        ``gains`` are n times the mutual information, less ½ log n; ``couplings`` are log-odds
        ratios.

    Examples
    --------
    >>> rain, sun = np.tile([0, 0, 1, 1], 20), np.tile([0, 1], 40)
    >>> chow_liu(np.column_stack([rain, rain, sun]), ["rain", "wet", "sun"])
    Structure(3 labels, 1 edges, gain 53.3)
    rain
    └─ wet  +8.79  (gain 53.3)
    sun
    """
    labels = check_labels(Y, "Y")
    n, n_labels = labels.shape
    if label_names is not None and len(label_names) != n_labels:
        raise ValueError(f"label_names must name {n_labels} labels; it has {len(label_names)}")
    gain = n * mutual_information(labels) - np.log(n) / 2.0
    np.fill_diagonal(gain, 0.0)
    parents = _spanning_forest(np.maximum(gain, 0.0))
    child = np.flatnonzero(parents >= 0)
    gains, couplings = np.zeros(n_labels), np.zeros(n_labels)
    gains[child] = gain[parents[child], child]
    counts = labels.T.astype(np.float64) @ labels
    # Half a row in every cell (Haldane): always finite.
    couplings[child] = log_odds_ratios(counts, n, prior=0.5)[parents[child], child]
    names = None if label_names is None else tuple(map(str, label_names))
    return Structure(parents, gains=gains, label_names=names, couplings=couplings)


def _spanning_forest(weight: Floats) -> Indices:
    """Return the parents in the forest of largest total weight; zero means no edge."""
    edges = minimum_spanning_tree(-weight).toarray() < 0
    linked = edges | edges.T
    degree = linked.sum(axis=0)
    parents = np.full(len(weight), -1, dtype=np.int64)
    _, part = connected_components(linked, directed=False)
    for number in range(part.max() + 1):
        inside = np.flatnonzero(part == number)
        root = inside[np.argmax(degree[inside])]
        order, before = breadth_first_order(linked, root, directed=False)
        parents[order[1:]] = before[order[1:]]
    return parents
