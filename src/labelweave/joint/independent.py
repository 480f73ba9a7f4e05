"""IndependentJoint: labels that do not depend on each other."""

from __future__ import annotations

from typing import ClassVar, Self, Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_matrix
from labelweave.joint.distribution import JointDistribution, RowOptions
from labelweave.joint.quantities import (
    Estimate,
    Quantity,
    bernoulli_entropy,
    bernoulli_log_prob,
)
from labelweave.joint.results import Mode, Ranked
from labelweave.joint.tree import MixtureOfTrees, TreeJoint


class IndependentJoint(JointDistribution):
    """P(y) = Π_j P(y_j): every query has a closed form.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of each label; ±inf for a label that is certain.
    **rows
        ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`.

    Examples
    --------
    >>> import numpy as np
    >>> joint = IndependentJoint(np.log([[3.0, 1.0]]), label_names=("rain", "wind"))
    >>> joint.marginals()
    array([[0.75, 0.5 ]])
    >>> joint.cardinality()
    array([[0.125, 0.5 , 0.375]])
    >>> joint.condition({"rain": 0}).marginals()
    array([[0. , 0.5]])
    """

    exact_powers: ClassVar[bool] = True
    lists_first: ClassVar[bool] = True

    def __init__(self, scores: npt.ArrayLike, **rows: Unpack[RowOptions]) -> None:
        self.scores = check_matrix(scores, "scores", finite=False)
        super().__init__(*self.scores.shape, **rows)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.scores = self.scores[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that are certain: those with infinite log-odds."""
        return np.where(np.isinf(self.scores), self.scores > 0, -1).astype(np.int8)

    def _log_prob(self, vectors: Labels) -> Floats:
        n, k, n_labels = vectors.shape
        # In two dimensions, so that the sums have the same bits for any k.
        scores, flat = np.repeat(self.scores, k, axis=0), vectors.reshape(n * k, n_labels)
        return np.asarray(bernoulli_log_prob(flat, scores).sum(axis=1)).reshape(n, k)

    def _sample(self, k: int, seed: int) -> Labels:
        uniforms = self._uniforms(seed, k, self.n_labels)
        return (uniforms < expit(self.scores)[:, None, :]).astype(np.int8)

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        posterior = self._copy()
        certain = np.where(known == 1, np.inf, -np.inf)
        posterior.scores = np.where(known >= 0, certain, self.scores)
        given = np.where(known >= 0, bernoulli_log_prob(known, self.scores), 0.0)
        return posterior, Estimate.of_exact(np.asarray(given.sum(axis=1)))

    def _table(self, free: Indices) -> Floats:
        table = np.zeros((self.n_rows, 1))
        for label in free:
            z = self.scores[:, label, None]
            table = np.concatenate(
                [table - np.logaddexp(0.0, z), table - np.logaddexp(0.0, -z)], axis=1
            )
        return table

    def _is_exact(self, quantity: Quantity) -> Mask:
        return np.ones(self.n_rows, dtype=np.bool_)

    def _exact(self, quantity: Quantity) -> Floats:
        marginals: Floats = expit(self.scores)
        if quantity == "marginals":
            return marginals
        if quantity == "pairwise":
            out = marginals[:, :, None] * marginals[:, None, :]
            diagonal = np.arange(self.n_labels)
            out[:, diagonal, diagonal] = marginals
            return out
        if quantity == "entropy":
            return np.asarray(bernoulli_entropy(self.scores).sum(axis=1))
        return self._as_tree()._exact(quantity)

    def _marginal_log_odds(self) -> Floats:
        return self.scores

    def _as_tree(self) -> TreeJoint:
        """Return the same distribution as a forest of roots."""
        return TreeJoint(
            np.repeat(self.scores[:, :, None], 2, axis=2),
            np.full(self.n_labels, -1),
            **self._rows(),
        )

    def closed_mode(self) -> Mode:
        """Return the labels that are likelier than not."""
        labels = (self.scores > 0).astype(np.int8)
        log_prob = self._log_prob_of(labels)
        return Mode(labels, log_prob, log_prob.copy())

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing; exact."""
        return self._as_tree().best_vectors(k)

    def power(self, exponent: float) -> IndependentJoint:
        """Return independent labels with log-odds times ``exponent``."""
        joint = self._copy()
        joint.scores = exponent * self.scores
        return joint

    def as_trees(self) -> MixtureOfTrees:
        """Return the mixture of one tree without edges."""
        return self._as_tree().as_trees()
