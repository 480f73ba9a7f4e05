"""The label vectors of the training rows that share a row's leaves.

A tree gives a row x the label vectors of the training rows in the leaf of x, each with its share of
the leaf's weight; a forest averages its trees (Lin and Jeon 2006; Meinshausen 2006). Leaves are
one-hot columns, so that all of this is a product of two sparse matrices, (rows × leaves) times
(leaves × vectors). Only the second is kept: at most one entry of 12 bytes for each training row and
tree, less where rows of a leaf share a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from labelweave._common.arrays import Floats, Indices, Mask

#: Rows × vectors; every row sums to one.
Shares: TypeAlias = Any


@dataclass(frozen=True)
class LeafMates:
    """How much training weight each label vector has in each leaf of a forest.

    Attributes
    ----------
    first_leaf : (T,) int64 array
        Where the leaves of each tree begin.
    weights : (leaves, V) CSR array
        Weight of the training rows in a leaf that have a vector.
    leaf_weight : (leaves,) array
        Weight of all training rows in a leaf.

    Examples
    --------
    Two trees, three training rows with the vectors 0, 1 and 1:

    >>> leaves = np.array([[0, 0], [0, 1], [1, 1]])
    >>> mates = LeafMates.of(leaves, np.array([0, 1, 1]), np.ones(3), n_vectors=2)
    >>> mates.shares(leaves).toarray()
    array([[0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """

    first_leaf: Indices
    weights: Any
    leaf_weight: Floats

    @classmethod
    def of(cls, leaves: Indices, place: Indices, weight: Floats, n_vectors: int) -> LeafMates:
        """Collect training rows by their (n, T) leaves; row i has the vector ``place[i]``."""
        ends = np.cumsum(leaves.max(axis=0) + 1)
        first_leaf = np.concatenate([[0], ends[:-1]])
        n_trees = leaves.shape[1]
        cells = ((leaves + first_leaf).ravel(), np.repeat(place, n_trees))
        weights = sp.coo_array(
            (np.repeat(weight, n_trees), cells), shape=(int(ends[-1]), n_vectors)
        ).tocsr()
        return cls(first_leaf, weights, np.asarray(weights.sum(axis=1), dtype=np.float64).ravel())

    def shares(self, leaves: Indices) -> Shares:
        """Return the probabilities of the vectors among the mates of rows in (n, T) leaves, CSR."""
        at = leaves + self.first_leaf
        return self._averaged(at, 1 / self.leaf_weight[at])

    def shares_without(
        self, leaves: Indices, unseen: Mask, place: Indices, weight: Floats
    ) -> tuple[Shares, Mask]:
        """Return the shares of training rows by the trees that have not seen them.

        The row itself is not among its mates, so that all of this is as if it had not existed.

        Parameters
        ----------
        leaves : (n, T) array
        unseen : (n, T) array of bool
            Whether the row was left out when the tree was grown.
        place, weight : (n,) arrays
            As in `of`.

        Returns
        -------
        shares : (n, V) CSR array
        judged : (n,) array of bool
            Rows that at least one tree has not seen; the shares of the others are meaningless.
        """
        at = leaves + self.first_leaf
        others = self.leaf_weight[at] - weight[:, None]
        usable = unseen & (others > 0)
        share = np.divide(1.0, others, out=np.zeros_like(others), where=usable)
        total = self._averaged(at, share)
        own = sp.coo_array(
            (weight * share.mean(axis=1), (np.arange(len(at)), place)), shape=total.shape
        )
        total = (total - own.tocsr()).tocsr()
        total.data = np.maximum(total.data, 0.0)  # what is left of the row itself is rounding
        return _normalised(total), np.asarray(usable.any(axis=1))

    def _averaged(self, at: Indices, share: Floats) -> Shares:
        n, n_trees = at.shape
        one_hot = sp.csr_array(
            ((share / n_trees).ravel(), at.ravel(), np.arange(0, at.size + 1, n_trees)),
            shape=(n, self.weights.shape[0]),
        )
        shares = (one_hot @ self.weights).tocsr()
        shares.sort_indices()  # products are unsorted, and SciPy sorts in place when it has to
        return shares


def leaves_of(forest: Any, X: Any) -> Indices:
    """Return the leaf of every row in every tree of a forest, or of a single tree, (n, T)."""
    return np.asarray(forest.apply(X), dtype=np.int64).reshape(X.shape[0], -1)


def unseen_by(forest: Any, n_rows: int) -> Mask | None:
    """Return which training rows each tree has not seen, (n, T); None if all have seen all."""
    if not getattr(forest, "bootstrap", False) or not hasattr(forest, "estimators_samples_"):
        return None
    samples = forest.estimators_samples_
    unseen = np.ones((n_rows, len(samples)), dtype=np.bool_)
    for tree, rows in enumerate(samples):
        unseen[rows, tree] = False
    return unseen


def tempered(shares: Shares, temperature: float) -> Shares:
    """Return shares raised to the power of 1 / temperature, normalised row by row.

    Examples
    --------
    >>> tempered(sp.csr_array([[0.2, 0.8]]), 0.5).toarray().round(3)
    array([[0.059, 0.941]])
    """
    if temperature == 1:
        return shares
    powered = shares.copy()
    # Relative to the largest share of a row, whose power may be too small for a double.
    largest = shares.max(axis=1).toarray().ravel()
    relative = shares.data / np.repeat(largest, np.diff(shares.indptr))
    powered.data = relative ** (1 / temperature)
    return _normalised(powered)


def _normalised(shares: Shares) -> Shares:
    total = np.asarray(shares.sum(axis=1)).ravel()
    scaled = shares.copy()
    scaled.data = shares.data / np.repeat(np.where(total > 0, total, 1.0), np.diff(shares.indptr))
    return scaled
