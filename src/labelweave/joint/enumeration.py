"""Tables of all label vectors of rows that share their unknown labels, and exact quantities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.results import Mode, Ranked

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointDistribution
    from labelweave.joint.quantities import Quantity

# A form without a closed formula is enumerated up to this many unknown labels and sampled beyond:
# 2^16 vectors take about half a megabyte and a few milliseconds per row.
MAX_ENUMERATED = 16
# Exact search for the mode prunes and needs no table, so it goes a little further.
MAX_SEARCHED = 20
# A probability of at least this has lost no terms that are too small for a float.
SAFE_PROBABILITY = 1e-280
# Tables and draws are made for blocks of rows of at most this many numbers (16 MB): larger blocks
# do not fit into the cache, smaller ones spend their time in Python.
BLOCK_CELLS = 2**21


def row_blocks(n_rows: int, cells_per_row: int) -> list[slice]:
    """Return consecutive slices of rows, each of at most ``BLOCK_CELLS`` numbers if possible."""
    step = max(1, BLOCK_CELLS // max(1, cells_per_row))
    return [slice(start, min(n_rows, start + step)) for start in range(0, n_rows, step)]


def patterns(known: Labels) -> Iterator[tuple[Indices, Mask]]:
    """Yield the rows that share their unknown labels, with the mask of these labels."""
    is_unknown = known < 0
    if len(known) and (is_unknown == is_unknown[0]).all():
        yield np.arange(len(known)), is_unknown[0]
        return
    masks, group = np.unique(is_unknown, axis=0, return_inverse=True)
    for g, unknown in enumerate(masks):
        yield np.flatnonzero(group.ravel() == g), unknown


def log_sums(table: Floats) -> Floats:
    """Return the logarithm of the sum of exp of each row of a finite table, (n, 1).

    SciPy's function takes three times as long, because it handles infinities and signs.
    """
    highest = table.max(axis=1, keepdims=True)
    terms = table - highest
    np.exp(terms, out=terms)
    return np.asarray(highest + np.log(terms.sum(axis=1, keepdims=True)))


def label_vectors(n_labels: int) -> Labels:
    """All label vectors, (2^L, L): label j of row c is bit j of c."""
    columns = np.arange(2**n_labels, dtype=np.int64)
    return ((columns[:, None] >> np.arange(n_labels)) & 1).astype(np.int8)


@dataclass(frozen=True)
class Enumeration:
    """The distribution of a block of rows over the labels that are not known.

    ``log_table`` (n, 2^f) holds normalised log-probabilities; bit t of the column index is label
    ``free[t]``, and ``known`` (n, L) has the values of the labels that are not in ``free``.
    """

    log_table: Floats
    free: Indices
    known: Labels

    def quantity(self, name: Quantity) -> Floats:
        values: Floats = getattr(self, name)()  # its methods have the names of the quantities
        return values

    def vectors(self, columns: Indices) -> Labels:
        """Label vectors of the (n, ...) column indices, as (n, ..., L)."""
        n, n_labels = self.known.shape
        known = self.known.reshape(n, *(1,) * (columns.ndim - 1), n_labels)
        labels = np.array(np.broadcast_to(known, (*columns.shape, n_labels)))
        labels[..., self.free] = (columns[..., None] >> np.arange(len(self.free))) & 1
        return labels

    def _halves(self) -> Iterator[tuple[int, Floats, Floats]]:
        """Yield for each free label, from the last, the parts of the table where it is 0 and 1.

        Summing out a label folds the table in half, so all parts together cost two passes.
        """
        table = np.exp(self.log_table)
        for t in reversed(range(len(self.free))):
            negative, positive = table[:, : 2**t], table[:, 2**t :]
            yield t, negative, positive
            table = negative + positive

    def marginals(self) -> Floats:
        """P(y_j = 1)."""
        out: Floats = (self.known == 1).astype(np.float64)
        for t, _, positive in self._halves():
            out[:, self.free[t]] = np.minimum(positive.sum(axis=1), 1.0)
        return out

    def log_odds(self) -> Floats:
        """Log P(y_j = 1) − log P(y_j = 0), also where one of them is too small for a float."""
        out = np.where(self.known == 1, np.inf, -np.inf)
        tiny = np.zeros(len(out), dtype=np.bool_)
        for t, negative, positive in self._halves():
            zero, one = negative.sum(axis=1), positive.sum(axis=1)
            tiny |= np.minimum(zero, one) < SAFE_PROBABILITY
            with np.errstate(divide="ignore"):
                out[:, self.free[t]] = np.log(one) - np.log(zero)
        table = self.log_table[tiny]
        for t in reversed(range(len(self.free))):  # the same halves, in logarithms
            negative, positive = table[:, : 2**t], table[:, 2**t :]
            zero, one = (np.logaddexp.reduce(half, axis=1) for half in (negative, positive))
            out[tiny, self.free[t]] = one - zero
            table = np.logaddexp(negative, positive)
        return out

    def pairwise(self) -> Floats:
        """P(y_i = 1, y_j = 1); a known label is independent of everything."""
        marginals = self.marginals()
        out = marginals[:, :, None] * marginals[:, None, :]
        for t, _, positive in self._halves():
            both = np.minimum(_row_sums(positive, label_vectors(t)), 1.0)
            out[:, self.free[t], self.free[:t]] = out[:, self.free[:t], self.free[t]] = both
        diagonal = np.arange(marginals.shape[1])
        out[:, diagonal, diagonal] = marginals
        return out

    def cardinality(self) -> Floats:
        """P(|y| = s) for s = 0 … L."""
        n, n_labels = self.known.shape
        size = label_vectors(len(self.free)).sum(axis=1)
        one_hot = np.eye(len(self.free) + 1)[size]
        out = np.zeros((n, n_labels + 1))
        shift = (self.known == 1).sum(axis=1)[:, None] + np.arange(len(self.free) + 1)
        np.put_along_axis(out, shift, _row_sums(np.exp(self.log_table), one_hot), axis=1)
        return out

    def cardinality_by_label(self) -> Floats:
        """P(y_j = 1, |y| = s) for s = 0 … L."""
        n, n_labels = self.known.shape
        vectors = label_vectors(len(self.free))
        size = vectors.sum(axis=1)
        probability = np.exp(self.log_table)
        out = np.zeros((n, n_labels, n_labels + 1))
        shift, rows = (self.known == 1).sum(axis=1), np.arange(n)
        for s in range(len(self.free) + 1):
            columns = np.flatnonzero(size == s)
            part = _row_sums(probability[:, columns], vectors[columns])
            out[rows[:, None], self.free, (shift + s)[:, None]] = part
        certain = np.nonzero(self.known == 1)
        out[certain] = self.cardinality()[certain[0]]
        return out

    def entropy(self) -> Floats:
        """−Σ p log p in nats."""
        return entropy(self.log_table)

    def best(self) -> tuple[Labels, Floats]:
        """Return the most probable vector (the first of equals) and its log-probability."""
        column = self.log_table.argmax(axis=1)
        return self.vectors(column), np.take_along_axis(self.log_table, column[:, None], 1)[:, 0]

    def top(self, k: int) -> Ranked:
        """Return the ``k`` most probable vectors, padded as in `Ranked`."""
        columns, log_prob = ranked(self.log_table, k)
        return Ranked.padded(self.vectors(columns), log_prob, k, -np.inf)

    def draw(self, uniform: Floats) -> Labels:
        """One vector for each of the (n, k) uniform numbers."""
        return self.vectors(drawn(self.log_table, uniform))


def ranked(log_table: Floats, k: int) -> tuple[Indices, Floats]:
    """Return the ``k`` most probable columns of each row, and their log-probabilities."""
    columns = np.argsort(-log_table, axis=1, kind="stable")[:, :k]
    return columns, np.take_along_axis(log_table, columns, axis=1)


def drawn(log_table: Floats, uniform: Floats) -> Indices:
    """Return a column for each of the (n, k) uniform numbers, by inverting the distribution."""
    columns = np.empty(uniform.shape, dtype=np.int64)
    for i, row in enumerate(np.cumsum(np.exp(log_table), axis=1)):
        # Numbers below the total always select a column of positive probability.
        target = np.minimum(uniform[i] * row[-1], np.nextafter(row[-1], 0.0))
        columns[i] = np.searchsorted(row, target, side="right")
    return columns


def entropy(log_table: Floats) -> Floats:
    """−Σ p log p of each row, in nats."""
    probability = np.exp(log_table)
    finite = np.where(probability > 0, log_table, 0.0)
    return np.asarray(-(probability * finite).sum(axis=1))


def _row_sums(probability: Floats, indicators: npt.NDArray[Any]) -> Floats:
    """Return the (n, k) sums of probabilities where each of the (m, k) indicators is one.

    They are computed row by row from a contiguous copy: the rounding of a matrix product depends on
    the number of rows and on the strides.
    """
    rows = np.array(probability, order="C")[:, None, :]
    return np.asarray((rows @ indicators.astype(np.float64))[:, 0])


def tables(joint: JointDistribution) -> Iterator[tuple[Indices, Enumeration]]:
    """Yield the tables of all rows, in blocks of rows that share the set of unknown labels."""
    for rows, unknown in patterns(joint.known):
        free = np.flatnonzero(unknown)
        for block in row_blocks(len(rows), 2 ** len(free) * (1 + joint.n_labels // 8)):
            part = joint[rows[block]]
            yield rows[block], Enumeration(part._table(free), free, part.known)


def enumerated_mode(joint: JointDistribution) -> Mode:
    labels = np.empty((joint.n_rows, joint.n_labels), dtype=np.int8)
    log_prob = np.empty(joint.n_rows)
    for rows, enumeration in tables(joint):
        labels[rows], log_prob[rows] = enumeration.best()
    return Mode(labels, log_prob, log_prob.copy())
