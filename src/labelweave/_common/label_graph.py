"""Which label depends on which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelweave._common.arrays import Indices, Mask


@dataclass(frozen=True, eq=False)
class LabelGraph:
    """The parents of every label, as in a Bayesian network: what its conditional depends on.

    As an array it is the (L, L) mask whose entry ``[j, k]`` says whether k is a parent of j.

    Attributes
    ----------
    parents : tuple of arrays
        The parents of each label, in the order in which its conditional sees them.

    Examples
    --------
    >>> chain = LabelGraph.chain(np.array([2, 0, 1]))
    >>> chain.parents[1]
    array([2, 0])
    >>> np.asarray(chain).astype(int)
    array([[0, 0, 1],
           [1, 0, 1],
           [0, 0, 0]])
    >>> LabelGraph.forest(np.array([-1, 0, 0])).parents
    (array([], dtype=int64), array([0]), array([0]))
    """

    parents: tuple[Indices, ...]

    @classmethod
    def empty(cls, n_labels: int) -> LabelGraph:
        """Return the graph of independent labels."""
        return cls((np.empty(0, dtype=np.int64),) * n_labels)

    @classmethod
    def chain(cls, order: Indices) -> LabelGraph:
        """Return the graph in which the parents of a label are all labels before it in `order`."""
        rank = np.argsort(order)
        return cls(tuple(order[: rank[label]] for label in range(len(order))))

    @classmethod
    def forest(cls, parents: Indices) -> LabelGraph:
        """Return the graph in which every label has one parent; none where that is -1."""
        return cls(tuple(parents[j : j + 1][parents[j : j + 1] >= 0] for j in range(len(parents))))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Mask:
        mask = np.zeros((len(self.parents),) * 2, dtype=np.bool_)
        for label, parents in enumerate(self.parents):
            mask[label, parents] = True
        return mask if dtype is None else mask.astype(dtype, copy=False)
