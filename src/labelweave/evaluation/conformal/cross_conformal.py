"""Sets of label vectors by CV+: each model compares a vector with the rows it has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave.decision import VectorSets
from labelweave.decision.sets import probable_vectors, reachable_values
from labelweave.evaluation.conformal.nonconformity import HeldOutScores
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import row_blocks


def cross_conformal_sets(
    joints: Sequence[JointDistribution],
    offsets: Sequence[Floats],
    held_out: HeldOutScores,
    groups: Indices,
    confidence: float,
    max_size: int,
) -> VectorSets:
    """Return the sets of CV+ (docs/design/math.md, section 11).

    Parameters
    ----------
    joints : sequence of JointDistribution
        P(y|x) of the same rows by the model of each fold.
    offsets : sequence of (n,) arrays
        What the score of each model subtracts from -log P(y|x).
    held_out : HeldOutScores
    groups : (n,) array of int
    confidence : float
    max_size : int
        Most vectors that are taken from each model.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joints = [IndependentJoint([[2.0, -1.0]]), IndependentJoint([[2.0, 1.0]])]
    >>> folds, groups = np.array([0, 0, 1, 1]), np.zeros(4, dtype=int)
    >>> held_out = HeldOutScores(np.array([0.1, 0.5, 0.2, 0.6]), folds, groups)
    >>> sets = cross_conformal_sets(joints, [np.zeros(1)] * 2, held_out, groups[:1], 0.8, 10)
    >>> sets[0]
    array([[1, 0],
           [1, 1]], dtype=int8)
    """
    # A vector that is stranger than the quantile to every model is in no set.
    quantiles = held_out.quantiles(groups, confidence)
    floors = [-quantiles - offset for offset in offsets]
    lists = [
        probable_vectors(joint, floor, max_size)
        for joint, floor in zip(joints, floors, strict=True)
    ]
    rows = np.concatenate([listed[0] for listed in lists])
    vectors = np.concatenate([listed[1] for listed in lists])
    first = _distinct(rows, vectors)
    rows, vectors = rows[first], vectors[first]
    scores = np.stack(
        [
            -_log_prob(joint, rows, vectors) - offset[rows]
            for joint, offset in zip(joints, offsets, strict=True)
        ],
        axis=1,
    )
    conforming, below = held_out.conforms(scores, groups[rows], confidence)
    order = np.lexsort((scores.sum(axis=1), below, rows))
    # The most conforming vector of a row stays in any case: no set is empty.
    conforming[order[np.diff(rows[order], prepend=-1) > 0]] = True
    kept = order[conforming[order]]

    def reachable(cut: Mask) -> Mask:
        parts = [
            reachable_values(joint[cut], floor[cut])
            for joint, floor in zip(joints, floors, strict=True)
        ]
        return np.asarray(np.any(parts, axis=0))

    complete = np.all([listed[2] for listed in lists], axis=0)
    return VectorSets.of(rows[kept], vectors[kept], complete, reachable, joints[0].label_names)


def _distinct(rows: Indices, vectors: Labels) -> Positions:
    """Return the place of each vector of a row where it occurs first."""
    keys = np.hstack([rows.astype("<i8")[:, None].view(np.uint8), np.packbits(vectors, axis=1)])
    packed = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1])))
    return np.unique(packed.ravel(), return_index=True)[1]


def _log_prob(joint: JointDistribution, rows: Indices, vectors: Labels) -> Floats:
    blocks = row_blocks(len(rows), joint.n_labels)
    return np.concatenate([joint[rows[block]].log_prob(vectors[block]) for block in blocks])
