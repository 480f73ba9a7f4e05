"""Label vectors above a probability, and the values that labels have in them."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import label_vectors, row_blocks

# Vectors of the first list of a row; each further list is so many times as long as the one before.
_FIRST, _GROWTH = 16, 4


def probable_vectors(
    joint: JointDistribution, floor: Floats, max_size: int
) -> tuple[Indices, Labels, Mask]:
    """Return the vectors whose log-probability is at least the row's floor, and always the mode.

    Lists of the most probable vectors grow until they reach below the floor.

    Returns
    -------
    rows : (V,) array
        The row of each vector, in no particular order; those of a row, the most probable first.
    vectors : (V, L) int8 array
    complete : (n,) array of bool
        Whether all vectors of the row are there; at most `max_size` of each row are.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint([[2.0, 0.5], [2.0, 6.0]])
    >>> probable_vectors(joint, np.log([0.2, 0.01]), 2)[0]
    array([0, 0, 1, 1])
    """
    most = min(max_size, 2**joint.n_labels)
    # A list leaves out vectors of probability zero, which are at least as probable as -inf.
    all_vectors = np.isneginf(floor) & (most == 2**joint.n_labels)
    every = label_vectors(joint.n_labels) if all_vectors.any() else np.empty((0, joint.n_labels))
    parts = [_everything(np.flatnonzero(all_vectors), every.astype(np.int8))]
    complete = all_vectors.copy()
    waiting, k = np.flatnonzero(~all_vectors), min(_FIRST, most)
    while len(waiting):
        unfinished = []
        for block in row_blocks(len(waiting), k * joint.n_labels):
            rows = waiting[block]
            listed = joint[rows].top(k)
            complete[rows] = (listed.upper_bound < floor[rows]) | (k == 2**joint.n_labels)
            done = complete[rows] | (k == most)
            inside = (listed.log_prob >= floor[rows, None]) & (listed.labels[:, :, 0] >= 0)
            inside[:, 0] = True
            inside &= done[:, None]
            parts.append((rows[np.nonzero(inside)[0]], listed.labels[inside]))
            unfinished.append(rows[~done])
        waiting, k = np.concatenate(unfinished), min(_GROWTH * k, most)
    return (
        np.concatenate([rows for rows, _ in parts]),
        np.concatenate([vectors for _, vectors in parts]),
        complete,
    )


def _everything(rows: Indices, vectors: Labels) -> tuple[Indices, Labels]:
    return np.repeat(rows, len(vectors)), np.tile(vectors, (len(rows), 1))


def reachable_values(joint: JointDistribution, floor: Floats) -> Mask:
    """Return which values labels have in vectors at or above the floor, (n, L, 2), without a list.

    Label j has the value v in such a vector if the mode given y_j = v is one. Where that mode is
    not proven its upper bound decides, so that no value is missed.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> reachable_values(IndependentJoint([[2.0, 0.5]]), np.log([0.2]))[0].tolist()
    [[False, True], [True, True]]
    """
    reachable = np.isneginf(floor)[:, None, None].repeat(joint.n_labels, 1).repeat(2, 2)
    for label in range(joint.n_labels):
        for value in (0, 1):
            evidence = joint.evidence_log_prob({label: value}).value
            possible = np.flatnonzero(evidence > -np.inf)
            given = joint[possible].condition({label: value})
            bound = given.mode().upper_bound + evidence[possible]
            reachable[possible, label, value] |= bound >= floor[possible]
    return reachable
