"""ListedJoint: a list of vectors, or all of them (`of_table`).

Distributions over a list of label vectors: no other vector is possible.

The joint distribution written out: one number for every label vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_labels, check_matrix
from labelweave.joint.distribution import SUM_TOLERANCE, JointDistribution
from labelweave.joint.enumeration import SAFE_PROBABILITY, Enumeration, label_vectors, log_sums
from labelweave.joint.estimate import Estimate, Quantity
from labelweave.joint.results import Mode, Ranked


class ListedJoint(JointDistribution):
    """Probabilities of some label vectors, the same ones in every row.

    Every query is exact and takes one pass over the list, however many labels there are. In a
    `MixtureJoint` with another form, vectors that are not listed become possible.

    Parameters
    ----------
    vectors : (V, L) array
        Distinct label vectors of 0/1.
    log_weights : (n, V) array
        Log-probability of each of them; every row must sum to one.
    label_names, row_ids, n_threads
        As in `JointDistribution`.

    Examples
    --------
    >>> import numpy as np
    >>> joint = ListedJoint([[1, 0, 0], [0, 1, 1]], np.log([[0.25, 0.75]]))
    >>> joint.marginals()
    array([[0.25, 0.75, 0.75]])
    >>> joint.condition({1: 0}).mode().labels
    array([[1, 0, 0]], dtype=int8)
    """

    def __init__(
        self,
        vectors: npt.ArrayLike,
        log_weights: npt.ArrayLike,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        weights = check_matrix(log_weights, "log_weights", finite=False)
        shape = np.shape(vectors)
        if len(shape) != 2 or shape[0] != weights.shape[1] or not shape[1]:
            raise ValueError(
                f"vectors must be (V, L), one row for each of the {weights.shape[1]} columns of "
                f"log_weights; got shape {shape}"
            )
        self.vectors = check_labels(vectors, *shape, name="vectors")
        self._place = {vector.tobytes(): place for place, vector in enumerate(self.vectors)}
        if len(self._place) < len(self.vectors):
            raise ValueError("vectors must be distinct: add the weights of equal ones")
        total = logsumexp(weights, axis=1)
        if not (np.abs(total) <= SUM_TOLERANCE).all():
            raise ValueError(
                "log_weights must be normalised: subtract scipy.special.logsumexp(..., axis=1)"
            )
        self.log_weights: Floats = weights - total[:, None]
        super().__init__(
            len(weights), shape[1], label_names=label_names, row_ids=row_ids, n_threads=n_threads
        )
        self._known = np.full((self.n_rows, self.n_labels), -1, dtype=np.int8)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.log_weights = self.log_weights[index]
        part._known = self._known[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    def _places(self, labels: Labels) -> Indices:
        """Return where each of the (m, L) vectors is listed; V for one that is not."""
        missing = len(self.vectors)
        found = [self._place.get(vector.tobytes(), missing) for vector in labels]
        return np.array(found, dtype=np.int64)

    def _log_prob(self, Y: Labels) -> Floats:
        return self._log_prob_of_draws(Y[:, None])[:, 0]

    def _log_prob_of_draws(self, labels: Labels) -> Floats:
        n, k, n_labels = labels.shape
        places = self._places(np.ascontiguousarray(labels).reshape(n * k, n_labels))
        with_missing = np.column_stack([self.log_weights, np.full(n, -np.inf)])
        return np.take_along_axis(with_missing, places.reshape(n, k), axis=1)

    def _sample(self, k: int, seed: int) -> Labels:
        places = np.empty((self.n_rows, k), dtype=np.int64)
        uniform = self._uniform(seed, k, 0)
        for i, row in enumerate(np.cumsum(np.exp(self.log_weights), axis=1)):
            # Staying below the total makes sure that a vector of positive probability is met.
            target = np.minimum(uniform[i] * row[-1], np.nextafter(row[-1], 0.0))
            places[i] = np.searchsorted(row, target, side="right")
        return self.vectors[places]

    def _restricted(self, known: Labels) -> Floats:
        """Return the log-weights with -inf for vectors that contradict ``known``."""
        weights = self.log_weights.copy()
        for label in np.flatnonzero((known >= 0).any(axis=0)):
            given = known[:, label, None]
            weights[(given >= 0) & (self.vectors[:, label] != given)] = -np.inf
        return weights

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        return Estimate.of_exact(np.asarray(logsumexp(self._restricted(known), axis=1)))

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        posterior = self[:]
        possible = np.isfinite(log_prob.value)[:, None]
        normaliser = np.where(possible, log_prob.value[:, None], 0.0)
        posterior.log_weights = np.where(
            possible, self._restricted(known) - normaliser, self.log_weights
        )
        posterior._known = np.where(known >= 0, known, self._known)
        return posterior

    def _log_table(self, free: Indices) -> Floats:
        table = np.full((2 ** len(free), self.n_rows), -np.inf)
        columns = self.vectors[:, free].astype(np.int64) @ (1 << np.arange(len(free)))
        # Of the vectors that share a column, at most one agrees with the labels that are known.
        np.maximum.at(table, columns, self.log_weights.T)
        return np.ascontiguousarray(table.T)

    def _is_exact(self, quantity: Quantity) -> Mask:
        return np.ones(self.n_rows, dtype=np.bool_)

    def _exact(self, quantity: Quantity) -> Floats:
        if quantity == "marginals":
            return self._summed(np.arange(len(self.vectors)))
        if quantity == "entropy":
            weights = np.exp(self.log_weights)
            finite = np.where(weights > 0, self.log_weights, 0.0)
            return np.asarray(-(weights * finite).sum(axis=1))
        size = self.vectors.sum(axis=1, dtype=np.int64)
        if quantity == "cardinality":
            sizes = np.eye(self.n_labels + 1)[size]
            total = np.einsum("nv,vs->ns", np.exp(self.log_weights), sizes)
            return np.asarray(np.minimum(total, 1.0))
        if quantity == "pairwise":
            chosen = [np.flatnonzero(column) for column in self.vectors.T]
            return np.stack([self._summed(places) for places in chosen], axis=1)
        by_size = [self._summed(np.flatnonzero(size == s)) for s in range(self.n_labels + 1)]
        return np.stack(by_size, axis=2)

    def _summed(self, places: Indices) -> Floats:
        """P(y_j = 1, y is one of the vectors at these places), (n, L)."""
        weights = np.exp(self.log_weights[:, places])
        # Not by BLAS, which rounds differently for different numbers of rows.
        total = np.einsum("nv,vl->nl", weights, self.vectors[places].astype(np.float64))
        return np.asarray(np.minimum(total, 1.0))

    def _marginal_log_odds(self) -> Floats:
        weights, chosen = np.exp(self.log_weights), self.vectors == 1
        # Not by BLAS, which rounds differently for different numbers of rows.
        zero, one = (
            np.einsum("nv,vl->nl", weights, part.astype(np.float64)) for part in (~chosen, chosen)
        )
        with np.errstate(divide="ignore"):
            out = np.log(one) - np.log(zero)
        tiny = np.minimum(zero, one) < SAFE_PROBABILITY
        for label in np.flatnonzero(tiny.any(axis=0)):
            rows, has = tiny[:, label], chosen[:, label]
            with_label, without = (
                np.logaddexp.reduce(self.log_weights[rows][:, part], axis=1) for part in (has, ~has)
            )
            out[rows, label] = with_label - without
        return np.asarray(out)

    def power(self, exponent: float) -> ListedJoint:
        """Return the same list with powers of its probabilities, normalised."""
        joint = self[:]
        weights = exponent * self.log_weights
        joint.log_weights = weights - log_sums(weights)
        return joint

    def closed_mode(self) -> Mode:
        """Return the most probable vector of the list."""
        place = self.log_weights.argmax(axis=1)
        log_prob = np.take_along_axis(self.log_weights, place[:, None], axis=1)[:, 0]
        return Mode(self.vectors[place], log_prob, log_prob.copy())

    def greedy_mode(self) -> Mode:
        """Return the mode: it costs less than a greedy vector."""
        return self.closed_mode()

    def _top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing; exact."""
        kept = min(k, len(self.vectors))
        places = np.argsort(-self.log_weights, axis=1, kind="stable")[:, :kept]
        labels = np.full((self.n_rows, k, self.n_labels), -1, dtype=np.int8)
        log_prob = np.full((self.n_rows, k), -np.inf)
        labels[:, :kept] = self.vectors[places]
        log_prob[:, :kept] = np.take_along_axis(self.log_weights, places, axis=1)
        labels[np.isneginf(log_prob)] = -1
        return Ranked(labels, log_prob, log_prob[:, -1].copy())


class TableJoint(JointDistribution):
    """An explicit table of log-probabilities; for few labels, and the oracle of the tests.

    Parameters
    ----------
    log_table : (n, 2^L) array
        Log-probability of every label vector; bit j of the column index is label j. -inf marks
        impossible vectors. Every row must sum to one.
    label_names, row_ids, n_threads
        As in `JointDistribution`.
    """

    def __init__(
        self,
        log_table: npt.ArrayLike,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        table = check_matrix(log_table, "log_table", finite=False)
        n_labels = table.shape[1].bit_length() - 1
        if n_labels < 1 or table.shape[1] != 2**n_labels:
            raise ValueError(
                f"log_table must have 2^L columns, one for each label vector; it has "
                f"{table.shape[1]}"
            )
        total = logsumexp(table, axis=1)
        if not (np.abs(total) <= SUM_TOLERANCE).all():
            raise ValueError(
                "log_table must be normalised: subtract scipy.special.logsumexp(log_table, axis=1)"
            )
        self.log_table: Floats = table - total[:, None]
        super().__init__(
            len(table), n_labels, label_names=label_names, row_ids=row_ids, n_threads=n_threads
        )
        self._known = np.full((self.n_rows, n_labels), -1, dtype=np.int8)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.log_table = self.log_table[index]
        part._known = self._known[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    def _columns(self, labels: Labels) -> Indices:
        return labels.astype(np.int64) @ (1 << np.arange(self.n_labels, dtype=np.int64))

    def _log_prob(self, Y: Labels) -> Floats:
        return np.take_along_axis(self.log_table, self._columns(Y)[:, None], axis=1)[:, 0]

    def _whole(self) -> Enumeration:
        free = np.arange(self.n_labels, dtype=np.int64)
        return Enumeration(self.log_table, free, np.full_like(self._known, -1))

    def _sample(self, k: int, seed: int) -> Labels:
        return self._whole().draw(self._uniform(seed, k, 0))

    def _restricted(self, known: Labels) -> Floats:
        """Return the table with -inf for vectors that contradict ``known``."""
        table = self.log_table.copy()
        vectors = label_vectors(self.n_labels)
        for label in range(self.n_labels):
            given = known[:, label, None]
            table[(given >= 0) & (vectors[:, label] != given)] = -np.inf
        return table

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        return Estimate.of_exact(np.asarray(logsumexp(self._restricted(known), axis=1)))

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        posterior = self[:]
        possible = np.isfinite(log_prob.value)[:, None]
        normaliser = np.where(possible, log_prob.value[:, None], 0.0)
        posterior.log_table = np.where(
            possible, self._restricted(known) - normaliser, self.log_table
        )
        posterior._known = np.where(known >= 0, known, self._known)
        return posterior

    def _log_table(self, free: Indices) -> Floats:
        fixed = np.where(self._known == 1, self._known, 0)
        fixed[:, free] = 0
        offset = label_vectors(len(free)).astype(np.int64) @ (1 << free)
        columns = self._columns(fixed)[:, None] + offset[None, :]
        return np.take_along_axis(self.log_table, columns, axis=1)

    def _is_exact(self, quantity: Quantity) -> Mask:
        return np.ones(self.n_rows, dtype=np.bool_)

    def _exact(self, quantity: Quantity) -> Floats:
        return self._whole().quantity(quantity)

    def _marginal_log_odds(self) -> Floats:
        return self._whole().log_odds()

    def power(self, exponent: float) -> TableJoint:
        """Return the table of powers, normalised."""
        joint = self[:]
        table = exponent * self.log_table
        joint.log_table = table - log_sums(table)
        return joint

    def closed_mode(self) -> Mode:
        """Return the highest entry of the table."""
        labels, log_prob = self._whole().best()
        return Mode(labels, log_prob, log_prob.copy())

    def _top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing; exact."""
        return self._whole().top(k)
