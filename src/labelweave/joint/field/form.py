"""Energies, normaliser, probabilities and draws of labels that are coupled in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.seeds import derive_seed
from labelweave.joint import checks, quantities
from labelweave.joint.base import JointDistribution
from labelweave.joint.coupling import coupling_sums
from labelweave.joint.enumeration import (
    MAX_ENUMERATED,
    MAX_SEARCHED,
    Enumeration,
    log_sums,
    patterns,
    row_blocks,
)
from labelweave.joint.estimate import Estimate, Quantity, log_mean, normalised_weights, resample
from labelweave.joint.field.annealed_importance import anneal, forest_of
from labelweave.joint.field.forest import is_forest
from labelweave.joint.tree import TreeJoint, TreeMixture

# How the rows of a pattern of known labels are dealt with.
Kind: TypeAlias = Literal["forest", "table", "draws"]
# Weighted draws that stand for a row that can be neither enumerated nor written as a forest.
POOL_SIZE = 1024


class FieldForm(JointDistribution):
    """The energy s·y + ½ yᵀVy of the unknown labels, normalised over the vectors that agree.

    Rows whose unknown labels form a forest become trees, those with few unknown labels are
    enumerated, all others estimated from weighted draws.
    """

    def __init__(
        self,
        scores: Floats,
        coupling: npt.ArrayLike,
        *,
        label_names: Sequence[str] | None,
        row_ids: npt.ArrayLike | None,
        n_threads: int,
    ) -> None:
        self.scores = scores
        super().__init__(
            *scores.shape, label_names=label_names, row_ids=row_ids, n_threads=n_threads
        )
        self.coupling = check_coupling(coupling, self.n_labels)
        self._known = np.full(self.scores.shape, -1, dtype=np.int8)
        self._normaliser: Estimate | None = None

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.scores, part._known = self.scores[index], self._known[index]
        if self._normaliser is not None:
            part._normaliser = self._normaliser[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    # ------------------------------------------------------------------ kinds of rows

    def _parts(self, max_labels: int = MAX_ENUMERATED) -> Iterator[tuple[Kind, Indices]]:
        """Yield rows that share their unknown labels, and how they are dealt with."""
        for rows, unknown in patterns(self._known):
            if is_forest(self.coupling[np.ix_(unknown, unknown)]):
                yield "forest", rows
            else:
                yield ("table" if unknown.sum() <= max_labels else "draws"), rows

    def _forest(self) -> TreeJoint:
        """Return the strongest forest as a tree; rows share their unknown labels."""
        unknown = (self._known < 0).any(axis=0)
        return forest_of(
            self.scores,
            self.coupling * np.outer(unknown, unknown),
            self._known,
            label_names=self.label_names,
            row_ids=self.row_ids,
            n_threads=self.n_threads,
        )

    def power(self, exponent: float) -> Self:
        """Return the field with scores and couplings times ``exponent``."""
        joint = self[:]
        joint.scores, joint.coupling = exponent * self.scores, exponent * self.coupling
        joint._normaliser = None
        return joint

    def tree_mixture(self) -> TreeMixture | None:
        """Return the field as one tree, or None if its couplings have a cycle."""
        if self.n_rows == 0 or not is_forest(self.coupling):
            return None
        whole = forest_of(self.scores, self.coupling, self._known, row_ids=self.row_ids)
        return whole.tree_mixture()

    # ------------------------------------------------------------------ energy and normaliser

    def _energy(self, labels: Labels) -> Floats:
        """s·y + ½ yᵀVy over the unknown labels of (n, k, L) vectors, (n, k)."""
        active = np.where(self._known[:, None, :] < 0, labels, 0).astype(np.float64)
        energy = np.zeros(labels.shape[:2])
        for label in range(self.n_labels):
            # Sums row by row, not a product of matrices: the same bits in every batch.
            pairs = (active[:, :, :label] * self.coupling[label, :label]).sum(axis=2)
            energy += active[:, :, label] * (self.scores[:, None, label] + pairs)
        return energy

    def _energies(self, free: Indices) -> Floats:
        """(n, 2^f) energies of all values of the unknown labels ``free``."""
        table = np.zeros((self.n_rows, 2 ** len(free)))
        pairs = np.zeros((len(free), 1))  # what the labels so far add to each later one
        for t, label in enumerate(free):
            half = table[:, 2**t : 2 ** (t + 1)]  # with this label; before it, without
            np.add(self.scores[:, label, None], pairs[t], out=half)
            half += table[:, : 2**t]
            pairs = np.concatenate([pairs, pairs + self.coupling[free, label, None]], axis=1)
        return table

    def log_normaliser(self) -> Estimate:
        """Log of the sum of exp(energy) over all vectors that agree with what is known.

        Its standard error is that of `log_prob`; zero where it is exact.
        """
        if self._normaliser is None:
            self._normaliser = self._log_normaliser()
        return self._normaliser

    def _log_normaliser(self) -> Estimate:
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for kind, rows in self._parts(MAX_SEARCHED):
            exact[rows] = kind != "draws"
            cells = int(2 ** min((self._known[rows[:1]] < 0).sum(), MAX_SEARCHED))
            for block in row_blocks(len(rows), self._cells(cells if kind == "table" else 1)):
                part = self[rows[block]]
                if kind == "table":
                    free = np.flatnonzero(part._known[0] < 0)
                    value[rows[block]] = log_sums(part._energies(free))[:, 0]
                    continue
                # The vector without a positive unknown label has energy zero.
                nothing = np.maximum(part._known, 0)
                forest = part._forest()
                value[rows[block]] = -forest._log_prob(nothing)
                if kind == "draws":
                    ratio, error[rows[block]] = log_mean(part._pool(forest, 0)[1])
                    value[rows[block]] += ratio
        return Estimate(value, error, exact)

    def _cells(self, table: int) -> int:
        return max(table, POOL_SIZE * self.n_labels)

    def _pool(self, forest: TreeJoint, seed: int, k: int = POOL_SIZE) -> tuple[Labels, Floats]:
        """Weighted draws of rows that share their unknown labels."""
        return anneal(
            self.scores,
            self.coupling,
            forest,
            self._known,
            k,
            derive_seed(seed, 1),
        )

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, Y: Labels) -> Floats:
        return self._log_prob_of_draws(Y[:, None, :])[:, 0]

    def _log_prob_of_draws(self, labels: Labels) -> Floats:
        known = self._known[:, None, :]
        possible = ((known < 0) | (known == labels)).all(axis=2)
        energy = self._energy(labels) - self.log_normaliser().value[:, None]
        return np.where(possible, energy, -np.inf)

    def _log_table(self, free: Indices) -> Floats:
        table = self._energies(free)
        # Energies may be so large that the logarithm of a sum of them would round to the highest.
        table -= table.max(axis=1, keepdims=True)
        table -= log_sums(table)
        return table

    def log_prob_error(self) -> Floats:
        """Return the standard error of the normaliser, (n,)."""
        return self.log_normaliser().standard_error

    def _is_exact(self, quantity: Quantity) -> Mask:
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for kind, rows in self._parts():
            exact[rows] = kind != "draws"
        return exact

    def _exact(self, quantity: Quantity) -> Floats:
        parts = [
            (rows, self[rows]._forest()._exact(quantity))
            if kind == "forest"
            else (rows, quantities.by_enumeration(self[rows], quantity))
            for kind, rows in self._parts()
        ]
        if not parts:  # no rows: only the shape matters
            return quantities.by_enumeration(self, quantity)
        out = np.empty((self.n_rows, *parts[0][1].shape[1:]))
        for rows, values in parts:
            out[rows] = values
        return out

    def _marginal_log_odds(self) -> Floats:
        out = np.empty((self.n_rows, self.n_labels))
        for kind, rows in self._parts():
            part = self[rows]
            if kind == "forest":
                out[rows] = part._forest()._marginal_log_odds()
            else:
                out[rows] = quantities.log_odds_by_enumeration(part)
        return out

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        draws = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        for kind, rows in self._parts():
            for block in row_blocks(len(rows), self._cells(2**MAX_ENUMERATED)):
                part = self[rows[block]]
                uniform = part._uniform(seed, k, 0)
                if kind == "forest":
                    draws[rows[block]] = part._forest()._sample(k, seed)
                elif kind == "table":
                    free = np.flatnonzero(part._known[0] < 0)
                    table = Enumeration(part._log_table(free), free, part._known)
                    draws[rows[block]] = table.draw(uniform)
                else:
                    pool, log_weight = part._pool(part._forest(), seed)
                    weight = normalised_weights(log_weight)
                    draws[rows[block]] = resample(pool, weight, uniform)
        return draws

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        log_weight = np.zeros((self.n_rows, k))
        for kind, rows in self._parts():
            part = self[rows]
            if kind == "draws":
                labels[rows], log_weight[rows] = part._pool(part._forest(), seed, k)
            else:
                labels[rows] = part._sample(k, seed)
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given all other labels; those that are known are part of the scores already."""
        active = np.where(self._known[:, None, :] < 0, labels, 0)
        sums = coupling_sums(active, self.coupling, self.n_threads)
        return np.asarray(expit(self.scores[:, None, :] + sums))


def check_coupling(coupling: npt.ArrayLike, n_labels: int) -> Floats:
    """``coupling`` as a symmetric (L, L) matrix with zero diagonal."""
    matrix = checks.check_log_odds(coupling, "coupling")
    if matrix.shape != (n_labels, n_labels):
        raise ValueError(
            f"coupling must have shape ({n_labels}, {n_labels}), one row and one column per label; "
            f"its shape is {matrix.shape}"
        )
    if not np.array_equal(matrix, matrix.T):
        raise ValueError("coupling must be symmetric: give (coupling + coupling.T) / 2")
    if np.diag(matrix).any():
        raise ValueError("coupling must have a zero diagonal: add it to the scores")
    return matrix
