"""Sets of label vectors: all vectors that are probable enough, and the labels they agree on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Counts, Floats, Indices, Labels, Mask
from labelweave._common.checks import check_labels, check_whole_number
from labelweave._common.wording import counted, left_out, positive_labels
from labelweave.joint import JointDistribution
from labelweave.joint.enumeration import label_vectors, row_blocks

# The length of the first list of a row, and the factor by which each further list is longer.
_FIRST, _GROWTH = 16, 4
# The most rows shown, vectors per row, and labels per vector.
_ROWS, _VECTORS, _LABELS = 5, 3, 6


@dataclass(frozen=True, repr=False)
class VectorSets:
    """A set of label vectors for each row, and the labels that all or some of them have.

    ``len(sets)`` is the number of rows, ``sets[i]`` the vectors of row i as a (size, L) array.

    Attributes
    ----------
    vectors : (V, L) int8 array
        The vectors of the first row, then those of the second, and so on.
    sizes : (n,) array of int
        How many vectors each row has in `vectors`; at least one.
    complete : (n,) array of bool
        Whether `vectors` has all vectors of the set; sets that are too large are cut short.
    inner, outer : (n, L) arrays of bool
        Labels that all vectors of the set have, and labels that at least one has. For a set that is
        not complete, `inner` may miss labels and `outer` may have too many, never the reverse.
    label_names : tuple of str or None
        Known if the joint distribution has names.
    confidence : float or None
        The probability that a set of a `ConformalClassifier` contains the true vector.

    Examples
    --------
    >>> from labelweave.decision.sets import vector_sets
    >>> from labelweave.joint import IndependentJoint
    >>> sets = vector_sets(IndependentJoint([[4.0, 0.5, -4.0]]), np.log(0.1))
    >>> sets
    VectorSets: 1 row, 2 vectors on average
    row 0: {0, 1} or {0}
    >>> sets.inner, sets.outer
    (array([[ True, False, False]]), array([[ True,  True, False]]))
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

        `reachable` returns the possible values of labels in sets that are not complete; see
        `reachable_values`.
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
        """Whether one label vector of each row is in `vectors`, (n,)."""
        wanted = check_labels(Y, len(self), self.vectors.shape[1])
        rows = np.repeat(np.arange(len(self)), self.sizes)
        equal = (self.vectors == wanted[rows]).all(axis=1)
        return np.bincount(rows[equal], minlength=len(self)) > 0

    def __repr__(self) -> str:
        shown = range(min(len(self), _ROWS))
        rows = [f"row {row}: {' or '.join(self._listed(row))}" for row in shown]
        return "\n".join([self._heading(), *rows, *left_out(len(self) - len(rows))])

    def _repr_html_(self) -> str:
        import pandas as pd

        shown = range(min(len(self), _ROWS))
        columns = {
            "label vectors": [" or ".join(self._listed(row)) for row in shown],
            "labels of all": [self._named(self.inner[row]) for row in shown],
            "labels of some": [self._named(self.outer[row] & ~self.inner[row]) for row in shown],
            "size": [
                f"{self.sizes[row]}{'' if self.complete[row] else ' or more'}" for row in shown
            ],
        }
        table = pd.DataFrame(columns, index=[f"row {row}" for row in shown])
        with pd.option_context("display.max_colwidth", None, "display.html.use_mathjax", False):
            html: str = table.to_html()
        below = "".join(f"<div>{escape(note)}</div>" for note in left_out(len(self) - len(shown)))
        return f"<div><strong>{escape(self._heading())}</strong></div>{html}{below}"

    def _heading(self) -> str:
        heading = f"{type(self).__name__}: {counted(len(self), 'row')}"
        if len(self):
            heading += f", {self.sizes.mean():.3g} vectors on average"
        if self.confidence is not None:
            heading += f", confidence {self.confidence:g}"
        cut = int((~self.complete).sum())
        return heading + (f"; {counted(cut, 'set')} cut short" if cut else "")

    def _listed(self, row: int) -> list[str]:
        """Return the first vectors of a row as sets of labels, and the number of others."""
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


def vector_sets(
    joint: JointDistribution, log_floor: npt.ArrayLike, *, max_size: int = 1000
) -> VectorSets:
    """Return all vectors of log-probability at least `log_floor`, (n,) or one, and the mode."""
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


def probable_vectors(
    joint: JointDistribution, floor: Floats, max_size: int
) -> tuple[Indices, Labels, Mask]:
    """Return the vectors at or above the row's floor, and always the mode, by growing lists.

    The result is the row of each vector, (V,), the at most `max_size` vectors of each row, (V, L),
    the most probable first, and whether all vectors of a row are there, (n,).
    """
    most = min(max_size, 2**joint.n_labels)
    # Lists omit vectors of probability zero, which a floor of -inf includes.
    all_vectors = np.isneginf(floor) & (most == 2**joint.n_labels)
    every = label_vectors(joint.n_labels) if all_vectors.any() else np.empty((0, joint.n_labels))
    rows = np.flatnonzero(all_vectors)
    parts = [(np.repeat(rows, len(every)), np.tile(every.astype(np.int8), (len(rows), 1)))]
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


def reachable_values(joint: JointDistribution, floor: Floats) -> Mask:
    """Return which values labels have in vectors at or above the floor, (n, L, 2), without a list.

    Label j has the value v in one of them if the mode given y_j = v is at or above the floor. The
    upper bound of a mode that is not proven decides, so that no value is missed.
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
