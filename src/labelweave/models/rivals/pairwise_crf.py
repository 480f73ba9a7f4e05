"""A conditional random field with couplings of pairs of labels: P(y|x) ∝ exp(Σ_j y_j s_j + yᵀVy/2).

The scores are s = Wx + b, and V is symmetric with an empty diagonal. The objective is the negative
likelihood or pseudo-likelihood of the training rows,

    −Σ_n log P(y_n | x_n)    or    −Σ_n Σ_j log P(y_nj | x_n, all other labels),

plus (|W|² + κ Σ_{i<j} V_ij²) / 2C, with κ doubled for the pseudo-likelihood, where each coupling
occurs twice. Both objectives are convex. The logistic engine solves independent regressions, so it
cannot tie V_ij and V_ji, but it provides the penalties and a start from which a few steps of
Newton's method remain. A step is found by conjugate gradients from products of the Hessian with
vectors, preconditioned by the inverse of the Hessian's diagonal blocks. The parameters form one
vector: W (L, D), b (L,) and the couplings v (E,) of the edges.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_choice, check_whole_number
from labelweave._common.matrices import without_empty_columns
from labelweave._common.presets import Presets, published
from labelweave.inference.strategy import Inference
from labelweave.joint import FieldJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.joint.enumeration import MAX_ENUMERATED, label_vectors, row_blocks
from labelweave.logistic.conditionals import LinearConditionals, fit_conditionals
from labelweave.models.base import MultiLabelClassifier


class LabelMoments:
    """Probabilities that all labels of a set are positive, for every set of one to three labels.

    A set is a number whose bit j says whether label j belongs to it, like the number of a column in
    a table of all label vectors. The sets are in increasing order.
    """

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        vectors = np.arange(2**n_labels, dtype=np.int64)
        size = label_vectors(n_labels).sum(axis=1)
        self.sets: Indices = vectors[(size > 0) & (size <= 3)]
        # A set consists of its largest label and at most two smaller ones, which this table finds
        # in the vectors of smaller labels.
        half = vectors[: 2 ** (n_labels - 1)]
        smaller = half[size[: len(half)] <= 2]
        self._contains = ((half[:, None] & smaller) == smaller).astype(np.float64)

    def of(self, probability: Floats) -> Floats:
        """Return the moments of every row of a table of probabilities, (n, 2^L), as (n, K)."""
        moments = np.empty((len(probability), len(self.sets)))
        table = probability
        # Summing a label out folds the table in half, so all sets cost little more than the sets
        # that contain the last label.
        for label in reversed(range(self.n_labels)):
            n_vectors = 2**label
            negative, positive = table[:, :n_vectors], table[:, n_vectors:]
            first, last = self.sets.searchsorted([n_vectors, 2 * n_vectors])
            moments[:, first:last] = positive @ self._contains[:n_vectors, : last - first]
            table = negative + positive
        return moments


# Largest number of entries in the blocks of all labels; 2^24 of them take 128 MB.
_MOST_CELLS = 2**24
# Relative increase of the diagonal that keeps a block positive definite despite the rounding of
# sums in single precision.
_JITTER = 1e-6
# A column shorter than this counts as empty: the penalty divided by its square would overflow.
_LEAST_SQUARE = 1e-290


class BlockInverse:
    """The inverse of the diagonal blocks of a Hessian.

    There is one block for the weights and the intercept of each label, and one for the couplings.
    If the blocks of labels would be too large (wide X) or too costly (sparse X), only the diagonal
    of the weights is inverted, and the intercepts join the couplings: a coupling moves the scores
    of its labels in many rows at once, much as their intercepts do. The arguments are the second
    derivatives by each score, (n, L), and by intercepts and couplings, (L + E, L + E), or only the
    diagonal of the latter.
    """

    def __init__(self, X: Any, curvature: Floats, by_offset: Floats, penalty: float) -> None:
        self.n_features, self.n_labels = X.shape[1], curvature.shape[1]
        wide = self.n_labels * (self.n_features + 1) ** 2 > _MOST_CELLS
        self.blocks: Floats | None = None
        if isinstance(X, np.ndarray) and not wide:
            self.blocks = _inverse_blocks(X, curvature, penalty)
            # The intercepts are in the blocks of their labels.
            by_offset = by_offset[(slice(self.n_labels, None),) * by_offset.ndim]
        else:
            squared = X.multiply(X).tocsr() if hasattr(X, "multiply") else X**2
            by_weight = np.asarray(squared.T @ curvature).T + penalty
            self.diagonal = 1 / np.ravel(by_weight)
        self.offsets = _inverse(by_offset) if by_offset.ndim == 2 else 1 / _positive(by_offset)

    def __call__(self, residual: Floats) -> Floats:
        """Return the inverse times a vector of the parameters' layout."""
        cut = self.n_labels * self.n_features
        if self.blocks is None:
            weights, offsets = np.split(residual, [cut])
            return np.concatenate([self.diagonal * weights, self._of_offsets(offsets)])
        by_weight, by_intercept, by_edge = np.split(residual, [cut, cut + self.n_labels])
        columns = np.column_stack([by_weight.reshape(self.n_labels, -1), by_intercept])
        solved = np.matmul(self.blocks, columns[:, :, None])[:, :, 0]
        return np.concatenate([solved[:, :-1].ravel(), solved[:, -1], self._of_offsets(by_edge)])

    def _of_offsets(self, residual: Floats) -> Floats:
        product = self.offsets @ residual if self.offsets.ndim == 2 else self.offsets * residual
        return np.asarray(product)


def _inverse_blocks(X: Floats, curvature: Floats, penalty: float) -> Floats:
    """Invert [X, 1]' diag(curvature) [X, 1] + penalty for every label, (L, D + 1, D + 1)."""
    n_rows, n_features = X.shape
    # Single precision is accurate enough for a preconditioner if columns have unit norm.
    squares = np.einsum("nd,nd->d", X, X)
    length = np.sqrt(np.where(squares > _LEAST_SQUARE, squares, 1.0))
    columns = np.column_stack([X / length, np.ones(n_rows)]).astype(np.float32)
    scale = np.append(1 / length, 1.0)
    ridge = np.append(penalty / length**2, 0.0)
    blocks = np.empty((curvature.shape[1], n_features + 1, n_features + 1))
    for block, weight in zip(blocks, curvature.T, strict=True):
        weighted = np.sqrt(np.maximum(weight, 0.0)).astype(np.float32)[:, None] * columns
        gram = (weighted.T @ weighted).astype(np.float64)
        gram.flat[:: n_features + 2] += ridge
        block[:] = scale[:, None] * _inverse(gram) * scale
    return blocks


def _inverse(matrix: Floats) -> Floats:
    """Invert a positive semidefinite matrix, or its diagonal if it is numerically singular."""
    # Scales of features may differ by many orders of magnitude, so the diagonal is made one.
    scale = 1 / np.sqrt(_positive(matrix.diagonal()))
    scaled = scale[:, None] * matrix * scale
    np.fill_diagonal(scaled, 1 + _JITTER)
    factor, failed = dpotrf(scaled, lower=1, overwrite_a=1)
    if failed:
        return np.diag(scale**2)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    whole = np.tril(lower) + np.tril(lower, -1).T
    return np.asarray(scale[:, None] * whole * scale)


def _positive(diagonal: Floats) -> Floats:
    return np.maximum(diagonal, np.finfo(float).tiny)


# Up to this many intercepts and couplings, the preconditioner has their full block.
_LARGEST_BLOCK = 1024


@dataclass(frozen=True)
class FieldData:
    """Training rows of a field, its edges (E, 2) of labels i < j, and its penalties C and κ."""

    X: Any
    Y: Floats
    weight: Floats
    edges: Indices
    C: float
    label_penalty: float

    @property
    def shape(self) -> tuple[int, int, int]:  # labels, features and edges
        return self.Y.shape[1], self.X.shape[1], len(self.edges)

    def unpack(self, parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return W, b and v."""
        n_labels, n_features, _ = self.shape
        W, b, v = np.split(parameters, [n_labels * n_features, n_labels * (n_features + 1)])
        return W.reshape(n_labels, n_features), b, v

    def pack(self, W: Floats, b: Floats, v: Floats) -> Floats:
        return np.concatenate([W.ravel(), b, v])

    def matrix(self, v: Floats) -> Floats:
        """Return the couplings of the edges as a symmetric matrix, (L, L)."""
        i, j = self.edges.T
        coupling = np.zeros((self.shape[0],) * 2)
        coupling[i, j] = coupling[j, i] = v
        return coupling


class FieldObjective(ABC):
    """Value, gradient and Hessian of the negative (pseudo-)likelihood with its penalty."""

    #: How often each coupling occurs in the objective.
    occurrences: ClassVar[int]

    def __init__(self, data: FieldData) -> None:
        self.data = data
        self.coupling_penalty = self.occurrences * data.label_penalty / data.C

    def value_and_gradient(self, parameters: Floats) -> tuple[float, Floats]:
        """Return both, and keep what the Hessian at these parameters needs."""
        W, b, v = self.data.unpack(parameters)
        loss, by_score, by_edge = self._at(np.asarray(self.data.X @ W.T) + b, v)
        penalty = (W**2).sum() / self.data.C + self.coupling_penalty * (v**2).sum()
        return loss + penalty / 2, self._chain_rule(by_score, by_edge, W, v)

    def hessian_product(self, direction: Floats) -> Floats:
        W, b, v = self.data.unpack(direction)
        by_score, by_edge = self._along(np.asarray(self.data.X @ W.T) + b, v)
        return self._chain_rule(by_score, by_edge, W, v)

    def _chain_rule(self, by_score: Floats, by_edge: Floats, W: Floats, v: Floats) -> Floats:
        """Return derivatives by all parameters from those by scores and edges; add the penalty."""
        by_weight = np.asarray(self.data.X.T @ by_score).T + W / self.data.C
        by_edge = by_edge + self.coupling_penalty * v
        return self.data.pack(by_weight, by_score.sum(axis=0), by_edge)

    def preconditioner(self) -> BlockInverse:
        """Return an approximate inverse Hessian at the last point of `value_and_gradient`."""
        n_labels, _, n_edges = self.data.shape
        by_score, by_offset = self._curvature()
        penalty = np.repeat([0.0, self.coupling_penalty], [n_labels, n_edges])
        by_offset = by_offset + (np.diag(penalty) if by_offset.ndim == 2 else penalty)
        return BlockInverse(self.data.X, by_score, by_offset, 1 / self.data.C)

    @abstractmethod
    def _at(self, scores: Floats, v: Floats) -> tuple[float, Floats, Floats]:
        """Return the loss and its derivatives by scores (n, L) and by edges (E,)."""

    @abstractmethod
    def _along(self, scores: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the directional derivatives of these gradients."""

    @abstractmethod
    def _curvature(self) -> tuple[Floats, Floats]:
        """Return the second derivatives by scores, and by offsets, as in `BlockInverse`."""


class PseudoLikelihood(FieldObjective):
    """−Σ_n Σ_j log P(y_nj | x_n, all other labels); the two ends of an edge share its coupling."""

    occurrences = 2

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

    def _curvature(self) -> tuple[Floats, Floats]:
        edges, Y = self.data.edges, self.data.Y
        n_labels = Y.shape[1]
        if n_labels + len(edges) > _LARGEST_BLOCK:
            diagonal = [self._variance.sum(axis=0), self._of_edges(self._variance)]
            return self._variance, np.concatenate(diagonal)
        curvature = np.zeros((n_labels + len(edges),) * 2)
        for label, variance in enumerate(self._variance.T):
            # The derivative of a label's score by its coupling to label k is y_k.
            touching = np.flatnonzero((edges == label).any(axis=1))
            others = Y[:, edges[touching].sum(axis=1) - label]
            columns = np.column_stack([np.ones(len(Y)), others])
            own = np.append(label, n_labels + touching)
            curvature[np.ix_(own, own)] += (variance[:, None] * columns).T @ columns
        return self._variance, curvature

    def _of_edges(self, by_score: Floats) -> Floats:
        """Return Σ_n (y_j r_i + y_i r_j) for every edge (i, j)."""
        product = by_score.T @ self.data.Y
        i, j = self.data.edges.T
        return np.asarray(product[i, j] + product[j, i])


class ExactLikelihood(FieldObjective):
    """−Σ_n log P(y_n | x_n), with the partition function and moments by enumeration.

    The Hessian is the covariance of the sufficient statistics, which are the labels and their
    products over edges. A direction moves the couplings of all rows alike, so a product with it
    needs the moments of three labels in every row, but those of four labels only in their sum over
    rows. It needs no further enumeration.
    """

    occurrences = 1

    def __init__(self, data: FieldData) -> None:
        super().__init__(data)
        i, j = data.edges.T
        labels = np.arange(data.shape[0])
        self._vectors = label_vectors(len(labels)).astype(np.float64)
        self._products = self._vectors[:, i] * self._vectors[:, j]
        self._seen = data.Y[:, i] * data.Y[:, j]
        self._blocks = row_blocks(len(data.Y), len(self._vectors))
        self._sets = LabelMoments(len(labels))
        label, edge = 2**labels, 2**i + 2**j
        # The positions of E[y_i y_j], E[y_e] and E[y_i y_e] for labels i, j and edges e.
        positions = self._sets.sets.searchsorted
        self._pair, self._edge = positions(label[:, None] | label), positions(edge)
        self._joined = positions(label[:, None] | edge), labels[:, None]

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

    def _curvature(self) -> tuple[Floats, Floats]:
        weight = self.data.weight
        by_score = weight[:, None] * self._means * (1 - self._means)
        by_label = np.tensordot(weight, self._covariance, axes=1)
        mixed = (weight @ self._moments)[self._joined[0]]
        mixed -= (weight[:, None] * self._means).T @ self._edge_means
        return by_score, np.block([[by_label, mixed], [mixed.T, self._edge_covariance]])


# Half the Newton decrement g·H⁻¹g estimates the distance to the minimum; below this share of the
# value, further steps change no probability in its first eight digits.
TOLERANCE = 1e-18
MAX_STEPS = 60
MAX_PRODUCTS = 500
# Forcing terms of inexact Newton, as in the logistic engine. Far from the minimum the squared
# residual need only shrink by the factor `_FORCING`. Near it, quadratic convergence leaves about
# `_QUADRATIC` times the squared relative decrease, and a more accurate direction would be wasted.
_FORCING = 0.09
_QUADRATIC = 10.0
# The preconditioner is kept after a step of smaller relative decrease.
_STALE = 0.1


# The products are small, and with several threads their last bits would depend on the number.
@threadpool_limits.wrap(limits=1, user_api="blas")  # type: ignore[untyped-decorator]
def minimise(objective: FieldObjective, start: Floats) -> Floats:
    parameters = start
    value, gradient = objective.value_and_gradient(parameters)
    decrement = np.inf
    for _ in range(MAX_STEPS):
        if not gradient.any():
            return parameters
        if decrement > _STALE * max(value, 1.0):
            precondition = objective.preconditioner()
        direction = _newton_direction(objective, precondition, value, gradient)
        decrement = -float(gradient @ direction)
        parameters, value, gradient, length = _step(
            objective, parameters, value, direction, decrement
        )
        if decrement <= TOLERANCE * max(value, 1.0) or length == 0:
            return parameters
    warnings.warn(
        f"the likelihood of the field did not converge in {MAX_STEPS} Newton steps: scale the "
        "features (for example with sklearn's StandardScaler) or lower C",
        ConvergenceWarning,
        stacklevel=3,
    )
    return parameters


def _newton_direction(
    objective: FieldObjective, precondition: BlockInverse, value: float, gradient: Floats
) -> Floats:
    """Solve the Newton system by preconditioned conjugate gradients, to the forcing tolerance."""
    direction, residual = np.zeros_like(gradient), -gradient
    solved = precondition(residual)
    along, rho = solved, float(residual @ solved)
    scale = max(value, 1.0)
    arriving = _QUADRATIC * rho / scale
    needed = 0.5 * TOLERANCE * scale / rho if rho > 0 else 1.0
    enough = min(_FORCING, max(arriving, needed)) * rho
    # An inexact solution is a descent direction too, so running out of products is not a failure.
    for _ in range(MAX_PRODUCTS):
        product = objective.hessian_product(along)
        curvature = float(along @ product)
        if not curvature > 0:
            break
        direction += rho / curvature * along
        residual -= rho / curvature * product
        solved = precondition(residual)
        before, rho = rho, float(residual @ solved)
        if not rho > enough:
            break
        along = solved + rho / before * along
    return direction


def _step(
    objective: FieldObjective, start: Floats, value: float, direction: Floats, decrement: float
) -> tuple[Floats, float, Floats, float]:
    """Backtrack along the direction until the value decreases; length zero if it never does."""
    rounding = 1e-13 * max(abs(value), 1.0)
    length = 1.0
    while length > 1e-10:
        parameters = start + length * direction
        new_value, gradient = objective.value_and_gradient(parameters)
        if new_value <= value - 1e-4 * length * decrement + rounding:
            return parameters, new_value, gradient, length
        length /= 2
    value, gradient = objective.value_and_gradient(start)
    return start, value, gradient, 0.0


def fit_field(
    X: Any,
    labels: Labels,
    edges: Mask,
    start: LinearConditionals,
    sample_weight: Floats | None,
    *,
    exact: bool,
) -> LinearConditionals:
    """Fit a field, starting from conditionals whose couplings are not tied."""
    # A constant label has no finite optimum, so it keeps the smoothed intercept of the start.
    varies = np.flatnonzero(labels.min(axis=0) != labels.max(axis=0))
    inner = edges[np.ix_(varies, varies)]
    # The weights of features that no row has are zero, at the start and at the optimum.
    features, used = without_empty_columns(X)
    data = FieldData(
        features,
        labels[:, varies].astype(np.float64),
        np.ones(len(labels)) if sample_weight is None else sample_weight,
        np.argwhere(np.triu(inner, 1)),
        start.C,
        start.label_penalty,
    )
    weights, intercept = start.weights.copy(), start.intercept.copy()
    coupling = np.zeros_like(start.coupling)
    # Without couplings the start is the optimum of both likelihoods.
    if len(data.edges):
        fitted = np.ix_(varies, used)
        i, j = varies[data.edges].T
        mean = (start.coupling[i, j] + start.coupling[j, i]) / 2
        parameters = data.pack(weights[fitted], intercept[varies], mean)
        objective = ExactLikelihood(data) if exact else PseudoLikelihood(data)
        parameters = minimise(objective, parameters)
        weights[fitted], intercept[varies], values = data.unpack(parameters)
        coupling[np.ix_(varies, varies)] = data.matrix(values)
    return LinearConditionals(weights, intercept, coupling, start.C, start.label_penalty)


def strongest_pairs(
    scores: Floats, labels: Labels, sample_weight: Floats | None, allowed: Mask, k: int
) -> Mask:
    """Return the ``k`` allowed pairs of largest score test, (L, L) bool.

    Rao's score test at independent labels is the squared slope of the pseudo-likelihood in the
    coupling of a pair, divided by the variance of that slope. It needs no fit of any pair.
    """
    probability: Floats = expit(scores)
    Y = labels.astype(np.float64)
    weight = np.ones(len(Y)) if sample_weight is None else sample_weight
    slope = (weight[:, None] * (Y - probability)).T @ Y
    spread = (weight[:, None] * probability * (1 - probability)).T @ Y
    total = spread + spread.T
    test = (slope + slope.T) ** 2 / np.where(total > 0, total, np.inf)
    candidates = np.argwhere(np.triu(allowed, 1))
    order = np.argsort(-test[tuple(candidates.T)], kind="stable")[:k]
    chosen = np.zeros_like(allowed)
    i, j = candidates[order].T
    chosen[i, j] = chosen[j, i] = True
    return chosen


# "auto" maximises the exact likelihood up to this many labels, by enumeration of 1024 vectors.
AUTO_EXACT = 10
# "auto" couples all pairs up to this many labels, and this many pairs per label beyond.
AUTO_ALL_PAIRS = 30
AUTO_PAIRS_PER_LABEL = 4


@dataclass(eq=False, repr=False, kw_only=True)
class PairwiseCRF(MultiLabelClassifier):
    """P(y|x) ∝ exp(Σ_j y_j (w_j·x + b_j) + Σ_{i<j} V_ij y_i y_j): labels coupled in pairs (MLCRF).

    Couplings have no direction, and the labels need no order. The pseudo-likelihood
    Π_j P(y_j | x, other labels) is a set of logistic regressions with tied couplings: V_ij is the
    same in the regressions of i and of j. Newton's method finds the optimum of the
    pseudo-likelihood or, for few labels, of the exact likelihood. Both problems are convex.
    ``PairwiseCRF.preset("published")`` couples all pairs by pseudo-likelihood, whatever the number
    of labels, with one penalty for all parameters.

    Parameters
    ----------
    C : float or "cv", default="cv"
        Inverse strength of the features' L2 penalty, shared by all labels; "cv" chooses it by
        cross-validated pseudo-likelihood.
    label_penalty : float or "cv", default="cv"
        Penalty of the couplings relative to the features'.
    likelihood : {"auto", "pseudo", "exact"}, default="auto"
        The objective. "exact" enumerates all label vectors for the partition function and takes at
        most 16 labels; per row it keeps the moments of up to three labels, 175 numbers for 10
        labels and 696 for 16. "auto" is exact up to 10 labels.
    edges : (L, L) array of bool, optional
        Symmetric mask of the pairs of labels that may be coupled; by default all pairs.
    max_edges : int, "auto" or None, default="auto"
        Maximum number of coupled pairs. A score test chooses the pairs of strongest dependence
        given the features. "auto" is unlimited up to 30 labels and 4 pairs per label beyond; None
        is unlimited.
    inference : see `ClassifierChain`
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    field_ : LinearConditionals
        Weights, intercepts and symmetric couplings.
    edges_ : (L, L) bool array
        The pairs of labels that are coupled.
    C_, label_penalty_ : see `ClassifierChain`

    Examples
    --------
    >>> from labelweave import PairwiseCRF, load
    >>> data = load("emotions")
    >>> model = PairwiseCRF(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> model.predict_joint(data.X[400:402])
    FieldJoint(n_rows=2, n_labels=6)
    """

    C: float | str = "cv"
    label_penalty: float | str = "cv"
    likelihood: str = "auto"
    edges: ArrayLike | None = None
    max_edges: int | str | None = "auto"
    inference: str | Inference = "auto"

    presets: ClassVar[Presets] = published(likelihood="pseudo", max_edges=None, label_penalty=1.0)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        exact = self._is_exact()
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        shared: dict[str, Any] = {
            "sample_weight": sample_weight,
            "seed": self._seed(),
            "n_threads": self._n_threads(),
        }
        self.edges_ = self._allowed()
        limit = self._limit()
        if self.edges_.sum() // 2 > limit:
            alone = fit_conditionals(X, labels, C=C, **shared)
            scores = alone.scores(X, n_threads=self._n_threads())
            self.edges_ = strongest_pairs(scores, labels, sample_weight, self.edges_, limit)
        start = fit_conditionals(X, labels, self.edges_, C=C, label_penalty=label_penalty, **shared)
        self.field_ = fit_field(X, labels, self.edges_, start, sample_weight, exact=exact)
        self.C_, self.label_penalty_ = self.field_.C, self.field_.label_penalty
        self._tell(
            f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}, "
            f"{self.edges_.sum() // 2} pairs, {'exact' if exact else 'pseudo'}-likelihood"
        )

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        scores = self.field_.scores(X, n_threads=self._n_threads())
        return FieldJoint(scores, self.field_.coupling, **rows)

    def _is_exact(self) -> bool:
        check_choice(self.likelihood, "likelihood", ("auto", "pseudo", "exact"))
        if self.likelihood == "exact" and self.n_labels_ > MAX_ENUMERATED:
            raise ValueError(
                f"likelihood='exact' enumerates all label vectors and takes at most "
                f"{MAX_ENUMERATED} labels; y has {self.n_labels_}: use 'pseudo'"
            )
        return self.likelihood == "exact" or (
            self.likelihood == "auto" and self.n_labels_ <= AUTO_EXACT
        )

    def _allowed(self) -> Mask:
        """Return `edges` as a mask of pairs of labels, (L, L)."""
        n_labels = self.n_labels_
        if self.edges is None:
            return ~np.eye(n_labels, dtype=np.bool_)
        mask = np.asarray(self.edges)
        if mask.shape != (n_labels, n_labels) or not np.isin(mask, (0, 1)).all():
            raise ValueError(
                f"edges must be a {n_labels} by {n_labels} matrix of 0/1, one row and one column "
                f"per label; its shape is {mask.shape}"
            )
        mask = mask.astype(np.bool_)
        if (mask != mask.T).any() or mask.diagonal().any():
            raise ValueError(
                "edges must be symmetric with an empty diagonal: a coupling has no direction, and "
                "no label is coupled with itself; give (edges | edges.T) & ~np.eye(L, dtype=bool)"
            )
        return mask

    def _limit(self) -> int:
        if self.max_edges is None or (
            self.max_edges == "auto" and self.n_labels_ <= AUTO_ALL_PAIRS
        ):
            return self.n_labels_**2
        if self.max_edges == "auto":
            return AUTO_PAIRS_PER_LABEL * self.n_labels_
        return check_whole_number(self.max_edges, "max_edges", 0, otherwise="None, 'auto'")
