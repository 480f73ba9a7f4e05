"""How labels depend on each other, in data or under a joint distribution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats
from labelweave.joint import JointDistribution
from labelweave.joint.dependence import log_ratio, pair_cells
from labelweave.joint.dependence import mutual_information as pairs_information
from labelweave.joint.enumeration import row_blocks
from labelweave.metrics import check_labels

__all__ = [
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
    (total,) = _sums_over_rows(joint, lambda pairs: pairs)
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
    (total,) = _sums_over_rows(joint, pairs_information)
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
    return log_ratio(*_sums_over_rows(joint, _attraction, _repulsion))


def mean_dependence(joint: JointDistribution) -> tuple[Floats, Floats]:
    """Return mutual information and log-odds ratios given the features, in one pass over the rows.

    Examples
    --------
    >>> from labelweave.joint import TableJoint
    >>> information, log_odds = mean_dependence(TableJoint(np.log([[0.4, 0.1, 0.1, 0.4]])))
    >>> float(information[0, 1].round(3)), float(log_odds[0, 1].round(3))
    (0.193, 2.773)
    """
    total, attraction, repulsion = _sums_over_rows(
        joint, pairs_information, _attraction, _repulsion
    )
    return total / joint.n_rows, log_ratio(attraction, repulsion)


def _attraction(pairs: Floats) -> Floats:
    both, _, _, neither = pair_cells(pairs)
    return both * neither


def _repulsion(pairs: Floats) -> Floats:
    _, first, second, _ = pair_cells(pairs)
    return first * second


def _sums_over_rows(joint: JointDistribution, *terms: Callable[[Floats], Floats]) -> list[Floats]:
    """Return Σ_n of functions of P(y_i = 1, y_j = 1 | x_n), which is computed once."""
    if joint.n_rows == 0:
        raise ValueError("joint has no rows; pass at least one")
    sums = [np.zeros((joint.n_labels, joint.n_labels)) for _ in terms]
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        pairs = joint[rows].pairwise()
        for total, term in zip(sums, terms, strict=True):
            total += term(pairs).sum(axis=0)
    return sums
