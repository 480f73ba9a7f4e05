"""Objectives of a pairwise field: negative pseudo-likelihood and exact likelihood.

Both are functions of weights W (L, D), intercepts b (L,) and couplings v (E,), concatenated in this
order to one vector, and depend on the data through the scores S = X Wᵀ + b. An objective has a
value, a gradient, and products of its Hessian with vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices
from labelweave.baselines._field_preconditioner import BlockInverse
from labelweave.joint.enumeration import label_vectors, row_blocks

# Up to this many edges, the preconditioner has their full block of the Hessian.
_MOST_EDGES = 512
# Probabilities of label vectors that are kept between Hessian products; 64 MB.
_KEPT_CELLS = 2**23


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
        by_edge = self._edge_curvature()
        if by_edge.ndim == 2:
            by_edge = by_edge + self.coupling_penalty * np.eye(len(by_edge))
        else:
            by_edge = by_edge + self.coupling_penalty
        return BlockInverse(self.data.X, self._score_curvature(), by_edge, 1 / self.data.C)

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
    def _edge_curvature(self) -> Floats:
        """Return the second derivatives by pairs of edges, (E, E), or their diagonal, (E,)."""


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

    def _edge_curvature(self) -> Floats:
        edges, Y = self.data.edges, self.data.Y
        if len(edges) > _MOST_EDGES:
            return self._of_edges(self._variance)
        curvature = np.zeros((len(edges), len(edges)))
        for label, variance in enumerate(self._variance.T):
            # The derivative of a label's score by its coupling to label k is y_k.
            touching = np.flatnonzero((edges == label).any(axis=1))
            others = Y[:, edges[touching].sum(axis=1) - label]
            curvature[np.ix_(touching, touching)] += (variance[:, None] * others).T @ others
        return curvature

    def _of_edges(self, by_score: Floats) -> Floats:
        """Return Σ_n (y_j r_i + y_i r_j) for every edge (i, j)."""
        product = by_score.T @ self.data.Y
        i, j = self.data.edges.T
        return np.asarray(product[i, j] + product[j, i])


class ExactLikelihood(FieldObjective):
    """Σ_n −log P(y_n | x_n), with partition function and moments by enumeration."""

    def __init__(self, data: FieldData) -> None:
        super().__init__(data, data.label_penalty / data.C)
        vectors = label_vectors(data.shape[0]).astype(np.float64)
        i, j = data.edges.T
        # Sufficient statistics of every vector: labels, then products over edges.
        self.statistics = np.concatenate([vectors, vectors[:, i] * vectors[:, j]], axis=1)
        self.seen = np.concatenate([data.Y, data.Y[:, i] * data.Y[:, j]], axis=1)
        self._blocks = row_blocks(len(data.Y), len(vectors))
        self._keeps = len(data.Y) * len(vectors) <= _KEPT_CELLS

    def _natural(self, scores: Floats, v: Floats) -> Floats:
        return np.concatenate([scores, np.broadcast_to(v, (len(scores), len(v)))], axis=1)

    def _at(self, scores: Floats, v: Floats) -> tuple[float, Floats, Floats]:
        self._parameters = self._natural(scores, v)
        self._log_z = np.empty(len(scores))
        self._moments = np.empty_like(self._parameters)
        self._kept: list[Floats] = []
        self._mass = np.zeros(len(self.statistics))
        for block in self._blocks:
            energy = self._parameters[block] @ self.statistics.T
            highest = energy.max(axis=1, keepdims=True)
            probability = np.exp(energy - highest)
            total = probability.sum(axis=1, keepdims=True)
            probability /= total
            self._log_z[block] = (highest + np.log(total))[:, 0]
            self._moments[block] = probability @ self.statistics
            self._mass += self.data.weight[block] @ probability
            if self._keeps:
                self._kept.append(probability)
        weight = self.data.weight
        energy_seen = (self._parameters * self.seen).sum(axis=1)
        loss = float((weight * (self._log_z - energy_seen)).sum())
        return loss, *self._split(weight[:, None] * (self._moments - self.seen))

    def _probabilities(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the probabilities of all label vectors for each block of rows."""
        if self._keeps:
            yield from zip(self._blocks, self._kept, strict=True)
            return
        for block in self._blocks:
            energy = self._parameters[block] @ self.statistics.T
            yield block, np.exp(energy - self._log_z[block, None])

    def _along(self, scores: Floats, v: Floats) -> tuple[Floats, Floats]:
        direction = self._natural(scores, v)
        change = np.empty_like(direction)
        for block, probability in self._probabilities():
            energy = direction[block] @ self.statistics.T
            energy -= np.einsum("ns,ns->n", probability, energy)[:, None]
            energy *= probability
            change[block] = energy @ self.statistics
        return self._split(self.data.weight[:, None] * change)

    def _score_curvature(self) -> Floats:
        moments = self._moments[:, : self.data.shape[0]]
        return np.asarray(self.data.weight[:, None] * moments * (1 - moments))

    def _edge_curvature(self) -> Floats:
        n_labels = self.data.shape[0]
        pairs, means = self.statistics[:, n_labels:], self._moments[:, n_labels:]
        expected = (self._mass[:, None] * pairs).T @ pairs
        return np.asarray(expected - (self.data.weight[:, None] * means).T @ means)

    def _split(self, by_statistic: Floats) -> tuple[Floats, Floats]:
        n_labels = self.data.shape[0]
        return by_statistic[:, :n_labels], by_statistic[:, n_labels:].sum(axis=0)
