"""Estimate; marginals, pairs, cardinality and entropy, exact or from weighted draws.

One 0/1 label whose log-odds are given: its log-probability and its entropy.

Marginals, pairs, cardinality and entropy of a form: exact where it can, else estimated.

A form without a formula of its own is enumerated in rows with few unknown labels and sampled in all
others. Both happen in blocks of rows, so memory stays bounded, and row by row, so the value of a
row does not depend on the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from labelweave._common.arrays import Floats, Labels
from labelweave.joint.enumeration import row_blocks, tables
from labelweave.joint.estimate import (
    DEFAULT_SAMPLES,
    Estimate,
    Quantity,
    expectation_from_draws,
    mean_from_draws,
    normalised_weights,
    probability_from_draws,
)

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointForm


def bernoulli_log_prob(labels: Labels, log_odds: Floats) -> Floats:
    """Log-probability of 0/1 ``labels`` whose log-odds are given."""
    return np.asarray(-np.logaddexp(0.0, np.where(labels == 1, -log_odds, log_odds)))


def bernoulli_entropy(log_odds: Floats) -> Floats:
    """Entropy of 0/1 labels; the smaller of p and 1 − p is e^-|z| / (1 + e^-|z|)."""
    size = np.abs(log_odds)
    finite = np.where(np.isinf(size), 0.0, size)
    return np.asarray(np.logaddexp(0.0, -size) + finite * expit(-size))


# Quantities of which every draw fills a matrix.
PAIRED = ("pairwise", "cardinality_by_label")


def estimate(joint: JointForm, quantity: Quantity, samples: int | None, seed: int) -> Estimate:
    """Return a quantity: exact where the form can, unless a number of draws is given."""
    if samples is not None:
        return from_draws(joint, quantity, samples, seed)
    return computed_or_drawn(joint, quantity, DEFAULT_SAMPLES, seed)


def computed_or_drawn(joint: JointForm, quantity: Quantity, samples: int, seed: int) -> Estimate:
    """Return a quantity: exact in rows where the form can, from draws in the others."""
    exact = joint._is_exact(quantity)
    if exact.all():
        return Estimate.of_exact(_computed(joint, quantity))
    if not exact.any():
        return from_draws(joint, quantity, samples, seed)
    computed = _computed(joint[exact], quantity)
    drawn = from_draws(joint[~exact], quantity, samples, seed)
    value = np.empty((joint.n_rows, *computed.shape[1:]))
    error = np.zeros_like(value)
    value[exact], value[~exact], error[~exact] = computed, drawn.value, drawn.standard_error
    return Estimate(value, error, exact)


def _computed(joint: JointForm, quantity: Quantity) -> Floats:
    """Return the exact quantity; a label that is known has no rounding error in its marginal."""
    value = joint._exact(quantity)
    if quantity != "marginals":
        return value
    known = joint.known
    return np.where(known >= 0, known, value)


def by_enumeration(joint: JointForm, quantity: Quantity) -> Floats:
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
    for rows, enumeration in tables(joint):
        out[rows] = enumeration.quantity(quantity)
    return out


def marginal_log_odds(joint: JointForm) -> Floats:
    """Return log-odds that are exact where the marginals are, and their logits elsewhere."""
    exact = joint._is_exact("marginals")
    out = np.empty((joint.n_rows, joint.n_labels))
    out[exact] = joint[exact]._marginal_log_odds()
    out[~exact] = logit(computed_or_drawn(joint[~exact], "marginals", DEFAULT_SAMPLES, 0).value)
    known = joint.known
    return np.where(known >= 0, np.where(known == 1, np.inf, -np.inf), out)


def log_odds_by_enumeration(joint: JointForm) -> Floats:
    """Return the log-odds of the labels of every row from its table."""
    out = np.empty((joint.n_rows, joint.n_labels))
    for rows, enumeration in tables(joint):
        out[rows] = enumeration.log_odds()
    return out


def from_draws(joint: JointForm, quantity: Quantity, samples: int, seed: int) -> Estimate:
    """Return the quantity estimated from ``samples`` draws per row."""
    values, errors = [], []
    cells = joint._cells_per_row(quantity, samples)
    # A batch without rows still needs the shape of the result: one empty block.
    for block in row_blocks(joint.n_rows, cells) or [slice(0, 0)]:
        value, error = joint[block]._from_draws(quantity, samples, seed)
        values.append(value)
        errors.append(error)
    exact = np.zeros(joint.n_rows, dtype=np.bool_)
    return Estimate(np.concatenate(values), np.concatenate(errors), exact)


def result_cells(quantity: Quantity, n_labels: int) -> int:
    """Return about how many numbers a quantity has per row."""
    return n_labels**2 if quantity in PAIRED else n_labels


def from_weighted_draws(
    joint: JointForm, quantity: Quantity, samples: int, seed: int
) -> tuple[Floats, Floats]:
    """Return the quantity and its standard error from weighted draws of the form.

    Marginals are Rao-Blackwellised: what is averaged is not the drawn label but its probability
    given other labels of the draw. That has the same mean and less variance, and no label's
    probability is 0 because no draw happened to have it.
    """
    labels, log_weight = joint._weighted_sample(samples, seed)
    weight = normalised_weights(log_weight)
    if quantity == "marginals":
        value, error = expectation_from_draws(joint._conditionals(labels), weight)
        return np.where(joint.known >= 0, joint.known, value), error
    if quantity == "entropy":
        value, error = mean_from_draws(-joint._log_prob_of_draws(labels), weight)
        return value, np.hypot(error, joint.log_prob_error())
    return probability_from_draws(quantity, labels, weight)
