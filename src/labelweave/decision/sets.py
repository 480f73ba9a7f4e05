"""Sets of label vectors: every vector that is probable enough, and the labels they agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Counts, Indices, Labels, Mask
from labelweave._common.checks import check_labels, check_whole_number
from labelweave.decision.probable_vectors import probable_vectors, reachable_values
from labelweave.joint import JointDistribution


@dataclass(frozen=True)
class VectorSets:
    """A set of label vectors for each row, and what it says about each label.

    ``len(sets)`` is the number of rows, ``sets[i]`` the vectors of row i as a (size, L) array.

    Attributes
    ----------
    vectors : (V, L) int8 array
        The vectors of the first row, then those of the second, and so on.
    sizes : (n,) array of int
        How many vectors each row has in `vectors`; at least one.
    complete : (n,) array of bool
        Whether these are all vectors of the set. If not, the set was too large to be written out.
    inner, outer : (n, L) arrays of bool
        Labels that all vectors of the set have, and labels that at least one has. If a set is not
        complete, they are those of all of it nevertheless, or on the safe side: `inner` has no
        label too many, `outer` none too few.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.decision import vector_sets
    >>> from labelweave.joint import IndependentJoint
    >>> sets = vector_sets(IndependentJoint([[4.0, 0.5, -4.0]]), np.log(0.1))
    >>> sets[0]
    array([[1, 1, 0],
           [1, 0, 0]], dtype=int8)
    >>> sets.inner, sets.outer
    (array([[ True, False, False]]), array([[ True,  True, False]]))
    >>> sets.contains([[1, 0, 1]])
    array([False])
    """

    vectors: Labels
    sizes: Counts
    complete: Mask
    inner: Mask
    outer: Mask

    @classmethod
    def of(
        cls, rows: Indices, vectors: Labels, complete: Mask, reachable: Callable[[Mask], Mask]
    ) -> Self:
        """Return sets from their vectors and the row of each, in increasing order.

        `reachable` says of the rows that are not complete which values labels can have in the set;
        see `reachable_values`.
        """
        sizes = np.bincount(rows, minlength=len(complete))
        ones = np.add.reduceat(vectors, np.cumsum(sizes) - sizes, axis=0, dtype=np.int64)
        found = np.stack([ones < sizes[:, None], ones > 0], axis=2)
        if not complete.all():
            found[~complete] |= reachable(~complete)
        return cls(vectors, sizes, complete, ~found[:, :, 0], found[:, :, 1])

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, row: int) -> Labels:
        """Return the vectors of a row, (size, L)."""
        row = range(len(self))[row]
        end = int(self.sizes[: row + 1].sum())
        return self.vectors[end - int(self.sizes[row]) : end]

    def __iter__(self) -> Iterator[Labels]:
        return iter(np.split(self.vectors, np.cumsum(self.sizes))[:-1])

    def contains(self, Y: npt.ArrayLike) -> Mask:
        """Whether one label vector of each row is among the vectors written out, (n,)."""
        wanted = check_labels(Y, len(self), self.vectors.shape[1])
        rows = np.repeat(np.arange(len(self)), self.sizes)
        equal = (self.vectors == wanted[rows]).all(axis=1)
        return np.bincount(rows[equal], minlength=len(self)) > 0


def vector_sets(
    joint: JointDistribution, log_floor: npt.ArrayLike, *, max_size: int = 1000
) -> VectorSets:
    """Return all label vectors of at least a given probability, and always the mode.

    Parameters
    ----------
    joint : JointDistribution
    log_floor : float or (n,) array
        The least log-probability of a vector in the set; -inf asks for all vectors.
    max_size : int, default=1000
        Most vectors of a row to write out.

    Returns
    -------
    VectorSets

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> vector_sets(IndependentJoint([[2.0, 0.5], [2.0, 6.0]]), np.log(0.2)).sizes
    array([2, 1])
    """
    floor = np.broadcast_to(np.asarray(log_floor, dtype=np.float64), joint.n_rows)
    if np.isnan(floor).any():
        raise ValueError("log_floor must be a number for each row; it contains NaN")
    max_size = check_whole_number(max_size, "max_size")
    rows, vectors, complete = probable_vectors(joint, floor, max_size)
    order = np.argsort(rows, kind="stable")
    return VectorSets.of(
        rows[order],
        vectors[order],
        complete,
        lambda cut: reachable_values(joint[cut], floor[cut]),
    )
