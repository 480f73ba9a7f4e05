"""What to label next: scores of rows, and of single labels of a row, for active learning.

The higher a score, the more there is to learn from the answer (math.md, 13). Labels that are known
already are given to the joint as evidence, ``joint.condition(...)``; their scores are zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_choice, check_whole_number
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.joint.enumeration import row_blocks


def row_uncertainty(joint: JointDistribution, by: str = "entropy") -> Floats:
    """Return how uncertain the labels of each row are, (n,).

    Parameters
    ----------
    joint : JointDistribution
    by : {"entropy", "labels", "confidence", "margin"}, default="entropy"
        "entropy" of the whole label vector, which is what all its labels tell; "labels": the sum
        of the labels' own entropies, which counts several times what dependent labels share;
        "confidence": one less the probability of the most probable vector; "margin": one less its
        lead over the runner-up.

    Examples
    --------
    Two labels that are equal for certain are one question, not two:

    >>> from labelweave.joint import ListedJoint
    >>> with np.errstate(divide="ignore"):
    ...     joint = ListedJoint.of_table(np.log([[0.5, 0.0, 0.0, 0.5]]))
    >>> row_uncertainty(joint).round(3), row_uncertainty(joint, "labels").round(3)
    (array([0.693]), array([1.386]))
    """
    return _BY[check_choice(by, "by", tuple(_BY))](joint)


def label_uncertainty(joint: JointDistribution) -> Floats:
    """Return the entropy of every label in nats, (n, L).

    By the chain rule of entropy this is also by how much the answer for one label reduces the
    entropy of the whole vector, on average.

    Parameters
    ----------
    joint : JointDistribution

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> label_uncertainty(IndependentJoint([[0.0, 5.0]])).round(3)
    array([[0.693, 0.04 ]])
    """
    return _binary_entropy(joint.marginals())


def information_about_others(joint: JointDistribution) -> Floats:
    """Return how much the answer for one label tells about each of the others, summed, (n, L).

    That is Σ_k I(y_j; y_k | x) in nats over all other labels k: by how much the sum of their own
    entropies is reduced by knowing y_j, on average. It is zero for independent labels. With
    `label_uncertainty` added, it is by how much the sum of all labels' entropies is reduced.

    Parameters
    ----------
    joint : JointDistribution

    Examples
    --------
    The first label of this tree says something about both others:

    >>> from labelweave.joint import TreeJoint
    >>> joint = TreeJoint([[[0.0, 0.0], [-2.0, 2.0], [-2.0, 2.0]]], [-1, 0, 0])
    >>> information_about_others(joint).round(2)
    array([[0.66, 0.51, 0.51]])
    """
    scores = np.empty((joint.n_rows, joint.n_labels))
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        information = joint[rows].mutual_information()
        scores[rows] = information.sum(axis=2) - np.diagonal(information, axis1=1, axis2=2)
    return np.maximum(scores, 0.0)


def disagreement(joint: JointDistribution) -> Floats:
    """Return how much the labels of each row tell about the component of a mixture, (n,).

    The mutual information of labels and component: the entropy of the mixture less the mean entropy
    of its components. In an ensemble it is the part of the uncertainty that comes from members that
    contradict each other, which more training rows remove, rather than from the labels themselves
    (Houlsby et al. 2011).
    """
    if not isinstance(joint, MixtureJoint):
        raise ValueError(
            f"joint must be a MixtureJoint, of an ensemble or a mixture; got {type(joint).__name__}"
        )
    within = np.column_stack([component.entropy() for component in joint.components])
    return np.asarray(np.maximum(joint.entropy() - (joint.weights * within).sum(axis=1), 0.0))


def best_queries(scores: ArrayLike, k: int) -> Indices:
    """Return where the `k` highest scores are, the highest first."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"scores must have shape (n,) or (n, L); their shape is {values.shape}")
    flat = values.ravel()
    order = np.argsort(-flat, kind="stable")
    order = order[flat[order] > -np.inf][: check_whole_number(k, "k")]
    if values.ndim == 1:
        return order
    return np.column_stack(np.unravel_index(order, values.shape))


def _binary_entropy(p: Floats) -> Floats:
    return np.asarray(entr(p) + entr(1.0 - p))


def _margin(joint: JointDistribution) -> Floats:
    probability = np.exp(joint.top(2).log_prob)
    return np.asarray(1.0 - (probability[:, 0] - probability[:, 1]))


_BY: dict[str, Callable[[JointDistribution], Floats]] = {
    "entropy": lambda joint: joint.entropy(),
    "labels": lambda joint: np.asarray(label_uncertainty(joint).sum(axis=1)),
    "confidence": lambda joint: np.asarray(1.0 - np.exp(joint.top(1).log_prob[:, 0])),
    "margin": _margin,
}
