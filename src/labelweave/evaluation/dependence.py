"""How labels depend on each other, in data or under a joint distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.special import xlogy

from labelweave._common.arrays import Floats, Indices
from labelweave.evaluation.validation import check_labels
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import row_blocks
from labelweave.models import Structure

__all__ = ["chow_liu", "conditional_matrix", "mean_conditional_matrix", "mutual_information"]


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
    if joint.n_rows == 0:
        raise ValueError("joint has no rows; pass at least one")
    total = np.zeros((joint.n_labels, joint.n_labels))
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        total += joint[rows].pairwise().sum(axis=0)
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
    labels = check_labels(Y, "Y")
    p = labels.mean(axis=0)
    ones, zeros = labels.astype(np.float64), 1.0 - labels
    information = np.zeros((labels.shape[1],) * 2)
    for a, p_a in ((ones, p), (zeros, 1.0 - p)):
        for b, p_b in ((ones, p), (zeros, 1.0 - p)):
            both = a.T @ b / len(labels)
            # A pair of values that never occurs adds nothing, even if neither value occurs.
            expected = np.where(both > 0, np.multiply.outer(p_a, p_b), 1.0)
            information += xlogy(both, both) - xlogy(both, expected)
    return np.maximum(information, 0.0)


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
    couplings[child] = _log_odds_ratio(labels[:, parents[child]], labels[:, child])
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


def _log_odds_ratio(a: Indices, b: Indices) -> Floats:
    """Log-odds ratios of columns, with half a row in every cell (Haldane): always finite."""
    cells = [np.sum((a == u) & (b == v), axis=0) + 0.5 for u, v in ((1, 1), (0, 0), (1, 0), (0, 1))]
    return np.asarray(np.log(cells[0] * cells[1] / (cells[2] * cells[3])))
