"""ListedJoint: a list of label vectors, or all of them (`ListedJoint.of_table`)."""

from __future__ import annotations

from typing import ClassVar, Self, Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_labels, check_matrix
from labelweave.joint.distribution import SUM_TOLERANCE, JointDistribution, RowOptions
from labelweave.joint.enumeration import (
    SAFE_PROBABILITY,
    drawn,
    entropy,
    label_vectors,
    log_sums,
    ranked,
)
from labelweave.joint.quantities import Estimate, Quantity
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
    **rows
        ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`.

    Examples
    --------
    >>> import numpy as np
    >>> joint = ListedJoint([[1, 0, 0], [0, 1, 1]], np.log([[0.25, 0.75]]))
    >>> joint.marginals()
    array([[0.25, 0.75, 0.75]])
    >>> joint.condition({1: 0}).mode().labels
    array([[1, 0, 0]], dtype=int8)
    """

    exact_powers: ClassVar[bool] = True
    lists_first: ClassVar[bool] = True

    def __init__(
        self,
        vectors: npt.ArrayLike,
        log_weights: npt.ArrayLike,
        **rows: Unpack[RowOptions],
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
        super().__init__(len(weights), shape[1], **rows)
        self._known = np.full((self.n_rows, self.n_labels), -1, dtype=np.int8)

    @classmethod
    def of_table(cls, log_table: npt.ArrayLike, **rows: Unpack[RowOptions]) -> Self:
        """Return the distribution of an explicit table; for few labels.

        Parameters
        ----------
        log_table : (n, 2^L) array
            Log-probability of every label vector; bit j of the column index is label j. -inf marks
            impossible vectors. Every row must sum to one.
        **rows
            ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`.

        Examples
        --------
        >>> import numpy as np
        >>> ListedJoint.of_table(np.log([[0.1, 0.4, 0.1, 0.4]])).marginals()  # 00, 10, 01, 11
        array([[0.8, 0.5]])
        """
        table = check_matrix(log_table, "log_table", finite=False)
        n_labels = table.shape[1].bit_length() - 1
        if n_labels < 1 or table.shape[1] != 2**n_labels:
            raise ValueError(
                f"log_table must have 2^L columns, one for each label vector; it has "
                f"{table.shape[1]}"
            )
        if not (np.abs(logsumexp(table, axis=1)) <= SUM_TOLERANCE).all():
            raise ValueError(
                "log_table must be normalised: subtract scipy.special.logsumexp(log_table, axis=1)"
            )
        return cls(label_vectors(n_labels), table, **rows)

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

    def _log_prob(self, vectors: Labels) -> Floats:
        n, k, n_labels = vectors.shape
        places = self._places(np.ascontiguousarray(vectors).reshape(n * k, n_labels))
        with_missing = np.column_stack([self.log_weights, np.full(n, -np.inf)])
        return np.take_along_axis(with_missing, places.reshape(n, k), axis=1)

    def _sample(self, k: int, seed: int) -> Labels:
        return self.vectors[drawn(self.log_weights, self._uniform(seed, k, 0))]

    def _restricted(self, known: Labels) -> Floats:
        """Return the log-weights with -inf for vectors that contradict ``known``."""
        weights = self.log_weights.copy()
        for label in np.flatnonzero((known >= 0).any(axis=0)):
            given = known[:, label, None]
            weights[(given >= 0) & (self.vectors[:, label] != given)] = -np.inf
        return weights

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        restricted = self._restricted(known)
        log_prob = np.asarray(logsumexp(restricted, axis=1))
        posterior = self._copy()
        possible = np.isfinite(log_prob)[:, None]
        normaliser = np.where(possible, log_prob[:, None], 0.0)
        posterior.log_weights = np.where(possible, restricted - normaliser, self.log_weights)
        posterior._known = np.where(known >= 0, known, self._known)
        return posterior, Estimate.of_exact(log_prob)

    def _table(self, free: Indices) -> Floats:
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
            return entropy(self.log_weights)
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
        joint = self._copy()
        weights = exponent * self.log_weights
        joint.log_weights = weights - log_sums(weights)
        return joint

    def closed_mode(self) -> Mode:
        """Return the most probable vector of the list."""
        place = self.log_weights.argmax(axis=1)
        log_prob = np.take_along_axis(self.log_weights, place[:, None], axis=1)[:, 0]
        return Mode(self.vectors[place], log_prob, log_prob.copy())

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing; exact."""
        places, log_prob = ranked(self.log_weights, k)
        return Ranked.padded(self.vectors[places], log_prob, k, -np.inf)
