"""Sets of label vectors: every vector that is probable enough, and the labels they agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Counts, Indices, Labels, Mask
from labelweave._common.checks import check_labels, check_whole_number
from labelweave._common.notebook import html_table
from labelweave._common.wording import counted, left_out, positive_labels
from labelweave.decision.probable_vectors import probable_vectors, reachable_values
from labelweave.joint import JointDistribution

# Rows that are shown, vectors of each, and labels of a vector.
_ROWS, _VECTORS, _LABELS = 5, 3, 6


@dataclass(frozen=True, repr=False)
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
    label_names : tuple of str or None
        Known if the joint distribution has names.
    confidence : float or None
        The probability with which a set contains the true vector, if a `ConformalClassifier` has
        made it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.decision import vector_sets
    >>> from labelweave.joint import IndependentJoint
    >>> sets = vector_sets(IndependentJoint([[4.0, 0.5, -4.0]]), np.log(0.1))
    >>> sets
    VectorSets: 1 row, 2 vectors on average
    row 0: {0, 1} or {0}
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
    label_names: tuple[str, ...] | None = field(default=None, kw_only=True)
    confidence: float | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        rows: Indices,
        vectors: Labels,
        complete: Mask,
        reachable: Callable[[Mask], Mask],
        label_names: tuple[str, ...] | None = None,
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
        inner, outer = ~found[:, :, 0], found[:, :, 1]
        return cls(vectors, sizes, complete, inner, outer, label_names=label_names)

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

    def __repr__(self) -> str:
        shown = range(min(len(self), _ROWS))
        rows = [f"row {row}: {' or '.join(self._listed(row))}" for row in shown]
        return "\n".join([self._heading(), *rows, *left_out(len(self) - len(rows))])

    def _repr_html_(self) -> str:
        """Show the first rows in notebooks."""
        header = ["", "label vectors", "labels of all", "labels of some", "size"]
        rows = [
            [
                f"row {row}",
                " or ".join(self._listed(row)),
                self._named(self.inner[row]),
                self._named(self.outer[row] & ~self.inner[row]),
                self._size(row),
            ]
            for row in range(min(len(self), _ROWS))
        ]
        return html_table(self._heading(), header, rows, left_out(len(self) - len(rows)), n_left=4)

    def _heading(self) -> str:
        heading = f"{type(self).__name__}: {counted(len(self), 'row')}"
        if len(self):
            heading += f", {self.sizes.mean():.3g} vectors on average"
        if self.confidence is not None:
            heading += f", confidence {self.confidence:g}"
        cut = int((~self.complete).sum())
        return heading + (f"; {counted(cut, 'set')} cut short" if cut else "")

    def _listed(self, row: int) -> list[str]:
        """Return the first vectors of a row as sets of labels, and how many others there are."""
        vectors = self[row]
        shown = [
            f"{{{self._named(vector) if vector.any() else ''}}}" for vector in vectors[:_VECTORS]
        ]
        others = len(vectors) - len(shown)
        if not self.complete[row]:
            return [*shown, f"at least {counted(others, 'other')}"]
        return [*shown, counted(others, "other")] if others else shown

    def _named(self, labels: Labels | Mask) -> str:
        return positive_labels(labels, self.label_names, _LABELS)

    def _size(self, row: int) -> str:
        return f"{self.sizes[row]}" if self.complete[row] else f"{self.sizes[row]} or more"


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
        joint.label_names,
    )
