"""The parents of the labels of a tree, as an array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Indices


def check_parents(parents: npt.ArrayLike, n_labels: int) -> Indices:
    """``parents`` as int64, one for each label, without a cycle."""
    values = np.asarray(parents)
    if values.shape != (n_labels,) or values.dtype.kind not in "iu":
        raise ValueError(
            f"parents must be {n_labels} whole numbers, the parent of each label or -1 for a root; "
            f"got {parents!r}"
        )
    if ((values < -1) | (values >= n_labels)).any():
        raise ValueError(
            f"parents must be between 0 and {n_labels - 1}, or -1 for a root; got {values}"
        )
    result = np.ascontiguousarray(values, dtype=np.int64)
    cyclic = np.setdiff1d(np.arange(n_labels), parents_first(result))
    if len(cyclic):
        raise ValueError(
            f"parents must not form a cycle: label {cyclic[0]} is among its own ancestors or below "
            "a label that is; give one label of each cycle the parent -1"
        )
    return result


def parents_first(parents: Indices) -> Indices:
    """Return the labels that hang from a root, level by level."""
    levels = [np.flatnonzero(parents < 0)]
    while len(levels[-1]):
        levels.append(np.flatnonzero(np.isin(parents, levels[-1])))
    return np.concatenate(levels)


def children_first(parents: Indices) -> Indices:
    """Return the labels, each after all of its children."""
    level = np.zeros(len(parents), dtype=np.int64)
    above = parents.copy()
    while (above >= 0).any():
        level[above >= 0] += 1
        above = np.where(above >= 0, parents[above], -1)
    return np.argsort(-level, kind="stable")
