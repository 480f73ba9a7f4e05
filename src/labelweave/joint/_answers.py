"""How questions are answered for a form that has no formula of its own.

Rows with few unknown labels are enumerated, all others sampled or searched. Both happen in blocks
of rows, so memory stays bounded, and row by row, so an answer does not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats, Indices, Mask
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks
from labelweave.joint.estimate import (
    DEFAULT_SAMPLES,
    Estimate,
    Quantity,
    mean_from_draws,
    normalised_weights,
    probability_from_draws,
)
from labelweave.joint.mode import Ranked

if TYPE_CHECKING:
    from labelweave.joint.base import JointDistribution

# Quantities of which every draw fills a matrix.
PAIRED = ("pairwise", "cardinality_by_label")


def estimate(
    joint: JointDistribution, quantity: Quantity, samples: int | None, seed: int
) -> Estimate:
    """Return a quantity: exact where the form can, unless a number of draws is asked for."""
    if samples is not None:
        return from_draws(joint, quantity, samples, seed)
    exact = joint._is_exact(quantity)
    if exact.all():
        return Estimate.of_exact(_computed(joint, quantity))
    if not exact.any():
        return from_draws(joint, quantity, DEFAULT_SAMPLES, seed)
    computed = _computed(joint[exact], quantity)
    drawn = from_draws(joint[~exact], quantity, DEFAULT_SAMPLES, seed)
    value = np.empty((joint.n_rows, *computed.shape[1:]))
    error = np.zeros_like(value)
    value[exact], value[~exact], error[~exact] = computed, drawn.value, drawn.standard_error
    return Estimate(value, error, exact)


def _computed(joint: JointDistribution, quantity: Quantity) -> Floats:
    """Return the exact quantity; a label that is known has no rounding error in its marginal."""
    value = joint._exact(quantity)
    if quantity != "marginals":
        return value
    known = joint.known
    return np.where(known >= 0, known, value)


def by_enumeration(joint: JointDistribution, quantity: Quantity) -> Floats:
    """Return the exact quantity of every row from its table."""
    n_labels = joint.n_labels
    shapes: dict[Quantity, tuple[int, ...]] = {
        "marginals": (n_labels,),
        "pairwise": (n_labels, n_labels),
        "cardinality": (n_labels + 1,),
        "cardinality_by_label": (n_labels, n_labels + 1),
        "entropy": (),
    }
    out = np.empty((joint.n_rows, *shapes[quantity]))
    for rows, enumeration in joint._enumerate():
        out[rows] = enumeration.quantity(quantity)
    return out


def from_draws(joint: JointDistribution, quantity: Quantity, samples: int, seed: int) -> Estimate:
    """Return the quantity estimated from ``samples`` draws a row."""
    values, errors = [], []
    # A conditional probability takes eight times the room of the label it stands for.
    cells = samples * joint.n_labels * (9 if quantity == "marginals" else 1)
    cells += joint.n_labels**2 if quantity in PAIRED else 0
    # A batch without rows still needs the shape of the answer: one empty block.
    for block in row_blocks(joint.n_rows, cells) or [slice(0, 0)]:
        value, error = _from_draws(joint[block], quantity, samples, seed)
        values.append(value)
        errors.append(error)
    exact = np.zeros(joint.n_rows, dtype=np.bool_)
    return Estimate(np.concatenate(values), np.concatenate(errors), exact)


def _from_draws(
    joint: JointDistribution, quantity: Quantity, samples: int, seed: int
) -> tuple[Floats, Floats]:
    if quantity == "marginals":
        return joint._marginals_from_draws(samples, seed)
    labels, log_weight = joint._weighted_sample(samples, seed)
    weight = normalised_weights(log_weight)
    if quantity == "entropy":
        value, error = mean_from_draws(-joint._log_prob_of_draws(labels), weight)
        return value, np.hypot(error, joint._normaliser_error())
    return probability_from_draws(quantity, labels, weight)


def ranked(joint: JointDistribution, k: int) -> Ranked:
    """Return the k best vectors: from tables where they are small enough, else by search."""
    labels = np.empty((joint.n_rows, k, joint.n_labels), dtype=np.int8)
    log_prob = np.empty((joint.n_rows, k))
    upper_bound = np.empty(joint.n_rows)
    few = (joint.known < 0).sum(axis=1) <= MAX_ENUMERATED
    for rows, part in _ranked_parts(joint, few, k):
        labels[rows] = part.labels
        log_prob[rows] = part.log_prob
        upper_bound[rows] = part.upper_bound
    return Ranked(labels, log_prob, upper_bound)


def _ranked_parts(joint: JointDistribution, few: Mask, k: int) -> Iterator[tuple[Indices, Ranked]]:
    enumerable, long = np.flatnonzero(few), np.flatnonzero(~few)
    for rows, enumeration in joint[enumerable]._enumerate():
        yield enumerable[rows], enumeration.top(k)
    # A search holds some multiple of the vectors it returns, and at least some hundred a row.
    for block in row_blocks(len(long), 4 * (k + 64) * joint.n_labels):
        yield long[block], joint[long[block]]._top_by_search(k)
