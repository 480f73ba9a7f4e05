"""Objectives of a pairwise field: negative pseudo-likelihood and exact likelihood.

Both are functions of weights W (L, D), intercepts b (L,) and couplings v (E,), concatenated in this
order to one vector, and depend on the data through the scores S = X Wᵀ + b. An objective has a
value, a gradient, and products of its Hessian with vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices
from labelweave.baselines._field_moments import LabelMoments
from labelweave.baselines._field_preconditioner import BlockInverse
from labelweave.joint.enumeration import label_vectors, row_blocks

# Up to this many intercepts and couplings, the preconditioner has their full block.
_LARGEST_BLOCK = 1024


@dataclass(frozen=True)
class FieldData:
    """Training rows of a field, and its penalties.

    Attributes
    ----------
    X : (n, D) array or CSR
    Y : (n, L) float array of 0/1
    weight : (n,) array
    edges : (E, 2) int array
        The coupled pairs of labels, i < j.
    C, label_penalty : float
        As in the logistic engine: the penalty is (|W|² + κ |v|²) / 2C, with the couplings' part
        doubled in a pseudo-likelihood, where each coupling occurs twice.
    """

    X: Any
    Y: Floats
    weight: Floats
    edges: Indices
    C: float
    label_penalty: float

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of labels, features and edges."""
        return self.Y.shape[1], self.X.shape[1], len(self.edges)

    def unpack(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return W, b and v."""
        n_labels, n_features, _ = self.shape
        W, b, v = np.split(parameters, [n_labels * n_features, n_labels * (n_features + 1)])
        return W.reshape(n_labels, n_features), b, v

    def pack(self, W: Floats, b: Floats, v: Floats) -> Floats:
        """Return all parameters in one vector."""
        return np.concatenate([W.ravel(), b, v])

    def matrix(self, v: Floats) -> Floats:
        """Return the symmetric (L, L) coupling matrix of the edges' values."""
        i, j = self.edges.T
        coupling = np.zeros((self.shape[0],) * 2)
        coupling[i, j] = coupling[j, i] = v
        return coupling


class FieldObjective(ABC):
    """Value, gradient and Hessian of the negative (pseudo-)likelihood with its penalty."""

    def __init__(self, data: FieldData, coupling_penalty: float) -> None:
        self.data = data
        self.coupling_penalty = coupling_penalty

    def value_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """Return both at `parameters`, where `hessian_product` is then evaluated."""
        W, b, v = self.data.unpack(parameters)
        loss, by_score, by_edge = self._at(np.asarray(self.data.X @ W.T) + b, v)
        penalty = (W**2).sum() / self.data.C + self.coupling_penalty * (v**2).sum()
        return loss + penalty / 2, self._chain_rule(by_score, by_edge, W, v)

    def hessian_product(self, direction: Floats) -> Floats:
        """Return the product of the Hessian with a direction."""
        W, b, v = self.data.unpack(direction)
        by_score, by_edge = self._along(np.asarray(self.data.X @ W.T) + b, v)
        return self._chain_rule(by_score, by_edge, W, v)

    def _chain_rule(self, by_score: Floats, by_edge: Floats, W: Floats, v: Floats) -> Floats:
        """Turn derivatives by scores and edges into those by all parameters, with the penalty."""
        by_weight = np.asarray(self.data.X.T @ by_score).T + W / self.data.C
        by_edge = by_edge + self.coupling_penalty * v
        return self.data.pack(by_weight, by_score.sum(axis=0), by_edge)

    def preconditioner(self) -> BlockInverse:
        """Return an approximate inverse Hessian at the last point of `value_and_gradient`."""
        n_labels, _, n_edges = self.data.shape
        by_offset = self._offset_curvature()
        penalty = np.repeat([0.0, self.coupling_penalty], [n_labels, n_edges])
        by_offset = by_offset + (np.diag(penalty) if by_offset.ndim == 2 else penalty)
        return BlockInverse(self.data.X, self._score_curvature(), by_offset, 1 / self.data.C)

    @abstractmethod
    def _at(self, scores: Floats, v: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss and its derivatives by scores (n, L) and by edges (E,)."""

    @abstractmethod
    def _along(self, scores: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the directional derivatives of these gradients."""

    @abstractmethod
    def _score_curvature(self) -> Floats:
        """Return the second derivatives by each score, (n, L)."""

    @abstractmethod
    def _offset_curvature(self) -> Floats:
        """Return the second derivatives by intercepts and couplings, or only their diagonal."""


class PseudoLikelihood(FieldObjective):
    """Σ_n Σ_j −log P(y_nj | x_n, all other labels); the two ends of an edge share its coupling."""

    def __init__(self, data: FieldData) -> None:
        super().__init__(data, 2 * data.label_penalty / data.C)

    def _at(self, scores: Floats, v: Floats) -> tuple[float, Floats, Floats]:
        Y, weight = self.data.Y, self.data.weight[:, None]
        z = scores + Y @ self.data.matrix(v)
        probability: Floats = expit(z)
        self._variance = weight * probability * (1 - probability)
        residual = weight * (probability - Y)
        loss = float((weight * (np.logaddexp(0.0, z) - Y * z)).sum())
        return loss, residual, self._of_edges(residual)

    def _along(self, scores: Floats, v: Floats) -> tuple[Floats, Floats]:
        change = self._variance * (scores + self.data.Y @ self.data.matrix(v))
        return change, self._of_edges(change)

    def _score_curvature(self) -> Floats:
        return self._variance

    def _offset_curvature(self) -> Floats:
        edges, Y = self.data.edges, self.data.Y
        n_labels = Y.shape[1]
        if n_labels + len(edges) > _LARGEST_BLOCK:
            return np.concatenate([self._variance.sum(axis=0), self._of_edges(self._variance)])
        curvature = np.zeros((n_labels + len(edges),) * 2)
        for label, variance in enumerate(self._variance.T):
            # The derivative of a label's score by its coupling to label k is y_k.
            touching = np.flatnonzero((edges == label).any(axis=1))
            others = Y[:, edges[touching].sum(axis=1) - label]
            columns = np.column_stack([np.ones(len(Y)), others])
            own = np.append(label, n_labels + touching)
            curvature[np.ix_(own, own)] += (variance[:, None] * columns).T @ columns
        return curvature

    def _of_edges(self, by_score: Floats) -> Floats:
        """Return Σ_n (y_j r_i + y_i r_j) for every edge (i, j)."""
        product = by_score.T @ self.data.Y
        i, j = self.data.edges.T
        return np.asarray(product[i, j] + product[j, i])


class ExactLikelihood(FieldObjective):
    """Σ_n −log P(y_n | x_n), with partition function and moments by enumeration.

    The Hessian is the covariance of the sufficient statistics, labels and their products over
    edges. A direction moves the couplings of all rows alike, so its product needs moments of three
    labels of every row, and of four labels only in sum: no enumeration.
    """

    def __init__(self, data: FieldData) -> None:
        super().__init__(data, data.label_penalty / data.C)
        i, j = data.edges.T
        labels = np.arange(data.shape[0])
        self._vectors = label_vectors(len(labels)).astype(np.float64)
        self._products = self._vectors[:, i] * self._vectors[:, j]
        self._seen = data.Y[:, i] * data.Y[:, j]
        self._blocks = row_blocks(len(data.Y), len(self._vectors))
        self._sets = LabelMoments(len(labels))
        label, edge = 2**labels, 2**i + 2**j
        # Where to find E[y_i y_j], E[y_e] and E[y_i y_e] for labels i, j and edges e.
        self._pair = self._sets.positions(label[:, None] | label)
        self._edge = self._sets.positions(edge)
        self._joined = self._sets.positions(label[:, None] | edge), labels[:, None]

    def _at(self, scores: Floats, v: Floats) -> tuple[float, Floats, Floats]:
        Y, weight = self.data.Y, self.data.weight
        coupled = self._products @ v
        log_z = np.empty(len(scores))
        self._moments = np.empty((len(scores), len(self._sets.sets)))
        mass = np.zeros(len(self._vectors))
        for block in self._blocks:
            energy = scores[block] @ self._vectors.T
            energy += coupled
            highest = energy.max(axis=1, keepdims=True)
            energy -= highest
            probability = np.exp(energy, out=energy)
            total = probability.sum(axis=1, keepdims=True)
            probability /= total
            log_z[block] = (highest + np.log(total))[:, 0]
            self._moments[block] = self._sets.of(probability)
            mass += weight[block] @ probability
        pairs = self._moments[:, self._pair]
        self._means = pairs.diagonal(axis1=1, axis2=2).copy()
        self._covariance = pairs - self._means[:, :, None] * self._means[:, None, :]
        self._edge_means = self._moments[:, self._edge]
        self._edge_covariance = (mass[:, None] * self._products).T @ self._products
        self._edge_covariance -= (weight[:, None] * self._edge_means).T @ self._edge_means
        loss = float(weight @ (log_z - (scores * Y).sum(axis=1) - self._seen @ v))
        return loss, weight[:, None] * (self._means - Y), weight @ (self._edge_means - self._seen)

    def _along(self, scores: Floats, v: Floats) -> tuple[Floats, Floats]:
        weight = self.data.weight[:, None]
        by_label = np.zeros((len(self._sets.sets), len(scores.T)))
        by_label[self._joined] = v
        change = np.einsum("nij,nj->ni", self._covariance, scores)
        change += self._moments @ by_label - self._means * (self._edge_means @ v)[:, None]
        scores = weight * scores
        by_edge = (self._moments.T @ scores)[self._joined].sum(axis=0)
        by_edge -= np.einsum("nj,nj->n", self._means, scores) @ self._edge_means
        return weight * change, by_edge + self._edge_covariance @ v

    def _score_curvature(self) -> Floats:
        return np.asarray(self.data.weight[:, None] * self._means * (1 - self._means))

    def _offset_curvature(self) -> Floats:
        weight = self.data.weight
        by_label = np.tensordot(weight, self._covariance, axes=1)
        mixed = (weight @ self._moments)[self._joined[0]]
        mixed -= (weight[:, None] * self._means).T @ self._edge_means
        return np.block([[by_label, mixed], [mixed.T, self._edge_covariance]])
