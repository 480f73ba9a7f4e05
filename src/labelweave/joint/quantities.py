"""Estimates: marginals, pairs, cardinality and entropy of a form, exact or from weighted draws.

A form without a formula of its own is enumerated in rows with few unknown labels and sampled in all
others. Both happen in blocks of rows, so memory stays bounded, and row by row, so the value of a
row does not depend on the batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import expit, logit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._core import native
from labelweave.joint.enumeration import row_blocks, tables

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointDistribution

Quantity: TypeAlias = Literal[
    "marginals", "pairwise", "cardinality", "cardinality_by_label", "entropy"
]
QUANTITIES: tuple[Quantity, ...] = get_args(Quantity)

# Draws per row when a form cannot be exact: standard errors of probabilities stay below 0.016.
DEFAULT_SAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A quantity of every row, and how far it may be from the truth.

    Attributes
    ----------
    value, standard_error : (n, ...) array
        The error is zero where the value is exact.
    exact : (n,) bool array
        Whether the row was computed and not sampled.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.array([[0.0, 2.0]]))
    >>> joint.estimate("marginals").exact
    array([ True])
    >>> sampled = joint.estimate("marginals", samples=400, random_state=0)
    >>> bool((abs(sampled.value - joint.marginals()) < 4 * sampled.standard_error).all())
    True
    """

    value: Floats
    standard_error: Floats
    exact: Mask

    def __getitem__(self, rows: Indices | Mask) -> Estimate:
        """Return the estimates of some rows."""
        return Estimate(self.value[rows], self.standard_error[rows], self.exact[rows])

    @staticmethod
    def of_exact(value: Floats) -> Estimate:
        """Return an estimate without error."""
        # Not zeros_like, which writes every zero: large estimates would take twice the memory.
        return Estimate(value, np.zeros(value.shape), np.ones(len(value), dtype=np.bool_))


def normalised_weights(log_weight: Floats) -> Floats:
    """Weights that sum to one in every row of ``log_weight`` (n, k)."""
    peak = log_weight.max(axis=1, keepdims=True)
    possible = np.isfinite(peak)
    # A row in which every draw is impossible has no information: all draws weigh the same.
    weight = np.where(possible, np.exp(log_weight - np.where(possible, peak, 0.0)), 1.0)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)


def moment(
    quantity: Quantity, labels: Labels, weight: Floats, n_sizes: int | None = None
) -> Floats:
    """Sum over draws of the weight times the quantity's 0/1 statistic; ``labels`` is (n, k, L).

    Only the cardinalities below ``n_sizes`` are returned, L + 1 by default; no draw may have more.
    """
    if quantity == "marginals":
        return np.asarray(np.einsum("nk,nkl->nl", weight, labels))
    if quantity == "pairwise":
        y = labels.astype(np.float64)
        return np.asarray((y * weight[:, :, None]).transpose(0, 2, 1) @ y)
    n, _, n_labels = labels.shape
    n_sizes = n_labels + 1 if n_sizes is None else n_sizes
    cell = (np.arange(n)[:, None], labels.sum(axis=2, dtype=np.int64))
    if quantity == "cardinality":
        out = np.zeros((n, n_sizes))
        np.add.at(out, cell, weight)
        return out
    by_size = np.zeros((n, n_sizes, n_labels))
    np.add.at(by_size, cell, weight[:, :, None] * labels)
    return np.ascontiguousarray(by_size.transpose(0, 2, 1))


def error_at_least(least: Floats | float, error: Floats) -> Floats:
    """Return the standard errors (n, ...) of probabilities, none below ``least``: (n,) or as many.

    It is the probability that one draw stands for, such as one over their effective number: an
    event that was never drawn may still have about that probability.
    """
    floor = np.asarray(least)
    wide = floor.reshape(floor.shape + (1,) * (error.ndim - floor.ndim))
    return np.asarray(np.maximum(error, wide))


def probability_from_draws(
    quantity: Quantity, labels: Labels, weight: Floats
) -> tuple[Floats, Floats]:
    """Weighted mean of a 0/1 statistic and its standard error.

    The error of a self-normalised mean μ is √Σ w²(f − μ)²; for f in {0, 1} the square expands to
    Σ w²f (1 − 2μ) + μ² Σ w². It is at least one over the effective number of draws.
    """
    # Weights that sum to one may do so only up to rounding.
    mean = np.minimum(moment(quantity, labels, weight), 1.0)
    squared_weight = (weight**2).sum(axis=1).reshape((-1,) + (1,) * (mean.ndim - 1))
    variance = moment(quantity, labels, weight**2) * (1 - 2 * mean) + mean**2 * squared_weight
    error = np.sqrt(np.maximum(variance, 0.0))
    return mean, error_at_least((weight**2).sum(axis=1), error)


def expectation_from_draws(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of conditional probabilities (n, k, L) of draws, and its standard error.

    As in `probability_from_draws`, it is at least one over the effective number of draws.
    """
    mean = np.einsum("nk,nkl->nl", weight, values)
    variance = np.einsum("nk,nkl->nl", weight**2, (values - mean[:, None, :]) ** 2)
    error = error_at_least((weight**2).sum(axis=1), np.sqrt(variance))
    return np.minimum(mean, 1.0), error


def mean_of_replicates(values: Floats, log_weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of independent estimates (n, r, ...) of the same thing, and its standard error.

    There are few of them: the error is the standard deviation of Student's distribution with r - 1
    degrees of freedom. Sums go replicate by replicate: rows have the same bits in any batch.
    """
    n, r = log_weight.shape
    weight = normalised_weights(log_weight).T.reshape((r, n) + (1,) * (values.ndim - 2))
    mean, variance = np.zeros_like(values[:, 0]), np.zeros_like(values[:, 0])
    for i in range(r):
        mean += weight[i] * values[:, i]
    for i in range(r):
        variance += (weight[i] * (values[:, i] - mean)) ** 2
    return mean, np.sqrt(variance * r / max(r - 3, 1))


def mean_from_draws(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of ``values`` (n, k) and its standard error."""
    mean = (weight * values).sum(axis=1)
    variance = (weight**2 * (values - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(variance)


def log_mean(log_weight: Floats) -> tuple[Floats, Floats]:
    """Logarithm of the mean weight of each row and its standard error (delta method)."""
    k = log_weight.shape[1]
    weight = normalised_weights(log_weight)
    error = np.sqrt(np.maximum((weight**2).sum(axis=1) - 1 / k, 0.0) * k / (k - 1))
    return np.asarray(logsumexp(log_weight, axis=1) - np.log(k)), error


def resample(pool: Labels, weight: Floats, uniform: Floats) -> Labels:
    """Draws (n, k, L) from a weighted pool (n, m, L), one for each uniform number."""
    cumulative = np.cumsum(weight, axis=1)
    picks = np.stack(
        [np.searchsorted(row, u * row[-1]) for row, u in zip(cumulative, uniform, strict=True)]
    )
    return np.take_along_axis(pool, picks[:, :, None], axis=1)


def row_uniforms(row_ids: Indices, seed: int, k: int, n_labels: int, n_threads: int) -> Floats:
    """Return the (n, k, n_labels) uniform numbers of (seed, row id, draw, label)."""
    out = np.empty((k, len(row_ids), n_labels))
    for draw in range(k):
        native.fill_uniform(seed, row_ids, draw, out[draw], n_threads)
    return out.transpose(1, 0, 2)


def bernoulli_log_prob(labels: Labels, log_odds: Floats) -> Floats:
    """Log-probability of 0/1 ``labels`` whose log-odds are given."""
    return np.asarray(-np.logaddexp(0.0, np.where(labels == 1, -log_odds, log_odds)))


def bernoulli_entropy(log_odds: Floats) -> Floats:
    """Entropy of 0/1 labels; the smaller of p and 1 − p is e^-|z| / (1 + e^-|z|)."""
    size = np.abs(log_odds)
    finite = np.where(np.isinf(size), 0.0, size)
    return np.asarray(np.logaddexp(0.0, -size) + finite * expit(-size))


def estimate(
    joint: JointDistribution, quantity: Quantity, samples: int | None, seed: int
) -> Estimate:
    """Return a quantity: exact where the form can, unless a number of draws is given."""
    if samples is not None:
        return from_draws(joint, quantity, samples, seed)
    return computed_or_drawn(joint, quantity, DEFAULT_SAMPLES, seed)


def computed_or_drawn(
    joint: JointDistribution, quantity: Quantity, samples: int, seed: int
) -> Estimate:
    """Return a quantity: exact in rows where the form can, from draws in the others."""
    exact = joint._is_exact(quantity)
    if exact.all():
        return Estimate.of_exact(_computed(joint, quantity))
    if not exact.any():
        return from_draws(joint, quantity, samples, seed)
    value = np.empty(shape(joint, quantity))
    error = np.zeros_like(value)
    drawn = from_draws(joint[~exact], quantity, samples, seed)
    value[exact] = _computed(joint[exact], quantity)
    value[~exact], error[~exact] = drawn.value, drawn.standard_error
    return Estimate(value, error, exact)


def _computed(joint: JointDistribution, quantity: Quantity) -> Floats:
    """Return the exact quantity; a label that is known has no rounding error in its marginal."""
    value = joint._exact(quantity)
    if quantity != "marginals":
        return value
    known = joint.known
    return np.where(known >= 0, known, value)


def shape(joint: JointDistribution, quantity: Quantity) -> tuple[int, ...]:
    """Return the shape of a quantity of all rows."""
    n, n_labels = joint.n_rows, joint.n_labels
    shapes: dict[Quantity, tuple[int, ...]] = {
        "marginals": (n, n_labels),
        "pairwise": (n, n_labels, n_labels),
        "cardinality": (n, n_labels + 1),
        "cardinality_by_label": (n, n_labels, n_labels + 1),
        "entropy": (n,),
    }
    return shapes[quantity]


def by_enumeration(joint: JointDistribution, quantity: Quantity) -> Floats:
    """Return the exact quantity of every row from its table."""
    out = np.empty(shape(joint, quantity))
    for rows, enumeration in tables(joint):
        out[rows] = enumeration.quantity(quantity)
    return out


def marginal_log_odds(joint: JointDistribution) -> Floats:
    """Return log-odds that are exact where the marginals are, and their logits elsewhere."""
    exact = joint._is_exact("marginals")
    out = np.empty((joint.n_rows, joint.n_labels))
    out[exact] = joint[exact]._marginal_log_odds()
    out[~exact] = logit(computed_or_drawn(joint[~exact], "marginals", DEFAULT_SAMPLES, 0).value)
    known = joint.known
    return np.where(known >= 0, np.where(known == 1, np.inf, -np.inf), out)


def log_odds_by_enumeration(joint: JointDistribution) -> Floats:
    """Return the log-odds of the labels of every row from its table."""
    out = np.empty((joint.n_rows, joint.n_labels))
    for rows, enumeration in tables(joint):
        out[rows] = enumeration.log_odds()
    return out


def from_draws(joint: JointDistribution, quantity: Quantity, samples: int, seed: int) -> Estimate:
    """Return the quantity estimated from ``samples`` draws per row."""
    value = np.empty(shape(joint, quantity))
    error = np.empty_like(value)
    for block in row_blocks(joint.n_rows, joint._cells_per_row(quantity, samples)):
        value[block], error[block] = joint[block]._drawn(quantity, samples, seed)
    return Estimate(value, error, np.zeros(joint.n_rows, dtype=np.bool_))


def from_weighted_draws(
    joint: JointDistribution, quantity: Quantity, samples: int, seed: int
) -> tuple[Floats, Floats]:
    """Return the quantity and its standard error from weighted draws of the form.

    Marginals are Rao-Blackwellised: not the drawn label is averaged but its probability given other
    labels of the draw, which has the same mean and less variance.
    """
    labels, log_weight = joint._weighted_sample(samples, seed)
    weight = normalised_weights(log_weight)
    if quantity == "marginals":
        value, error = expectation_from_draws(joint._conditionals(labels), weight)
        return np.where(joint.known >= 0, joint.known, value), error
    if quantity == "entropy":
        value, error = mean_from_draws(-joint._log_prob(labels), weight)
        return value, np.hypot(error, joint.log_prob_error())
    return probability_from_draws(quantity, labels, weight)


def full_log_odds(joint: JointDistribution, labels: Labels, which: Indices) -> Floats:
    """Return the log-odds (n, k, w) of some labels, each given all other labels of the draws."""
    out = np.zeros((*labels.shape[:2], len(which)))
    present = joint._log_prob(labels)
    for i, label in enumerate(which):
        flipped = labels.copy()
        flipped[:, :, label] ^= 1
        other = joint._log_prob(flipped)
        # A draw that is impossible either way has no weight: any finite number will do.
        possible = np.isfinite(present) | np.isfinite(other)
        np.subtract(present, other, out=out[:, :, i], where=possible)
    return np.where(labels[:, :, which] == 1, out, -out)
