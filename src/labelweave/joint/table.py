"""The joint distribution written out: one number for every label vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_matrix
from labelweave.joint.base import JointDistribution
from labelweave.joint.checks import SUM_TOLERANCE
from labelweave.joint.enumeration import Enumeration, label_vectors, log_sums
from labelweave.joint.estimate import Estimate, Quantity
from labelweave.joint.mode import Mode, Ranked


class TableJoint(JointDistribution):
    """An explicit table of log-probabilities; for few labels, and the oracle of the tests.

    Parameters
    ----------
    log_table : (n, 2^L) array
        Log-probability of every label vector; bit j of the column index is label j. -inf marks
        impossible vectors. Every row must sum to one.
    label_names, row_ids, n_threads
        As in `JointDistribution`.

    Examples
    --------
    Two labels that exclude each other:

    >>> import numpy as np
    >>> joint = TableJoint(np.log([[0.2, 0.5, 0.3, 1e-300]]))
    >>> joint.marginals()
    array([[0.5, 0.3]])
    >>> joint.condition({0: 0}).marginals().round(3)
    array([[0. , 0.6]])
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
