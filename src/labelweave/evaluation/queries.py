"""Scores of rows, and of single labels of a row, by which active learning selects queries.

The higher the score, the more is learned from the answer (math.md, section 13). Known labels are
given to the joint as evidence, ``joint.condition(...)``, and score zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import entr

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.joint.enumeration import row_blocks


def row_uncertainty(joint: JointDistribution, by: str = "entropy") -> Floats:
    """Return how uncertain the labels of each row are, (n,).

    Parameters
    ----------
    joint : JointDistribution
    by : {"entropy", "labels", "confidence", "margin", "disagreement"}, default="entropy"
        "entropy" is the entropy of the whole label vector. "labels" is the sum of the labels' own
        entropies, which counts information that labels share several times. "confidence" is one
        minus the probability of the most probable vector; "margin" is one minus its lead over the
        runner-up. "disagreement", of a mixture or an ensemble, is the mutual information of labels
        and component: the part of the uncertainty that is due to contradicting members and
        decreases with more training rows.

    Examples
    --------
    Two labels that are certainly equal have the entropy of one label:

    >>> from labelweave.joint import ListedJoint
    >>> with np.errstate(divide="ignore"):
    ...     joint = ListedJoint.of_table(np.log([[0.5, 0.0, 0.0, 0.5]]))
    >>> row_uncertainty(joint).round(3), row_uncertainty(joint, "labels").round(3)
    (array([0.693]), array([1.386]))
    """
    return _BY[check_choice(by, "by", tuple(_BY))](joint)


def label_uncertainty(joint: JointDistribution) -> Floats:
    """Return the entropy of every label in nats, (n, L).

    By the chain rule of entropy, this is the expected reduction of the entropy of the whole vector
    if the label is revealed.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> label_uncertainty(IndependentJoint([[0.0, 5.0]])).round(3)
    array([[0.693, 0.04 ]])
    """
    p = joint.marginals()
    return np.asarray(entr(p) + entr(1.0 - p))


def information_about_others(joint: JointDistribution) -> Floats:
    """Return the information Σ_k I(y_j; y_k | x) of one label about all others in nats, (n, L).

    It is the expected reduction of the sum of the others' own entropies if label j is revealed, and
    zero for independent labels.

    Examples
    --------
    The first label of this tree is informative about both others:

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


def _margin(joint: JointDistribution) -> Floats:
    probability = np.exp(joint.top(2).log_prob)
    return np.asarray(1.0 - (probability[:, 0] - probability[:, 1]))


def _disagreement(joint: JointDistribution) -> Floats:
    """Return the mutual information of labels and component, (n,) (Houlsby et al., 2011)."""
    if not isinstance(joint, MixtureJoint):
        raise ValueError(
            f"joint must be a MixtureJoint, of an ensemble or a mixture; got {type(joint).__name__}"
        )
    within = np.column_stack([component.entropy() for component in joint.components])
    return np.asarray(np.maximum(joint.entropy() - (joint.weights * within).sum(axis=1), 0.0))


_BY: dict[str, Callable[[JointDistribution], Floats]] = {
    "entropy": lambda joint: joint.entropy(),
    "labels": lambda joint: np.asarray(label_uncertainty(joint).sum(axis=1)),
    "confidence": lambda joint: np.asarray(1.0 - np.exp(joint.top(1).log_prob[:, 0])),
    "margin": _margin,
    "disagreement": _disagreement,
}
