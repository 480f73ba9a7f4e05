"""Labels that are compared with each other instead of with a bias: figures 1 and 2 of the paper.

Every relevant label's noisy score f_r has to exceed that of every irrelevant one, f_k, by a margin:
one factor per pair, with a message to each of its two labels, by expectation propagation. If
exactly one label is relevant, that is the paper's multi-class model, with O(L) factors; in general
there are up to O(L²). It is plain NumPy, one row at a time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._core import native
from labelweave.models.online.rows import CsrArrays

if TYPE_CHECKING:
    from labelweave.models.online.state import OnlineState

_MOST_SWEEPS = 50
# Sweeps over the factors end when no mean moves by more than this share of its standard deviation
# and no precision by more than this share of itself.
_CLOSE = 1e-6
# The least of its precision that a cavity keeps, whatever wrongly recorded labels take away.
_LEAST_PRECISION = 1e-3
# As in the kernels: noise has at least this variance, and a row leaves at least this share of the
# variance of a weight.
_SMALLEST_NOISE, _SMALLEST_FACTOR = 1e-12, 2.0**-23


class MomentUpdate(NamedTuple):
    """∂ log Z / ∂ mean and −∂² log Z / ∂ mean² of a row's evidence Z, (L,) each.

    Posterior moments follow: a mean rises by variance · gradient, a variance falls by variance² ·
    curvature.
    """

    gradient: Floats
    curvature: Floats


def propagate(
    mean: Floats, variance: Floats, labels: Labels, margin: Floats, flip: float = 0.0
) -> MomentUpdate:
    """Return how a row changes the moments of its scores."""
    relevant, irrelevant = np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)
    prior = np.stack([1 / variance, mean / variance])
    # Messages in natural parameters (precision, precision · mean), from each factor to both labels.
    to_relevant = np.zeros((2, len(relevant), len(irrelevant)))
    to_irrelevant = np.zeros_like(to_relevant)
    posterior = prior.copy()
    for _ in range(_MOST_SWEEPS):
        before = posterior.copy()
        for number, r in enumerate(relevant):
            messages = _factor_messages(
                _cavity(posterior[:, [r]], to_relevant[:, number], prior[:, [r]]),
                _cavity(posterior[:, irrelevant], to_irrelevant[:, number], prior[:, irrelevant]),
                margin[r],
                flip,
            )
            to_relevant[:, number], to_irrelevant[:, number] = messages
            posterior[:, r] = prior[:, r] + to_relevant[:, number].sum(axis=1)
            posterior[:, irrelevant] = prior[:, irrelevant] + to_irrelevant.sum(axis=1)
        if _converged(before, posterior):
            break
    after = 1 / posterior[0]
    return MomentUpdate((posterior[1] * after - mean) / variance, (variance - after) / variance**2)


def _cavity(posterior: Floats, message: Floats, prior: Floats) -> Floats:
    """Mean and variance of scores without the messages of some factors, (2, factors)."""
    precision = np.maximum(posterior[0] - message[0], _LEAST_PRECISION * prior[0])
    return np.stack([(posterior[1] - message[1]) / precision, 1 / precision])


def _factor_messages(
    relevant: Floats, irrelevant: Floats, margin: float, flip: float
) -> tuple[Floats, Floats]:
    """Return the messages of the factors f_r − f_k > margin, given the cavities of both labels."""
    spread = np.sqrt(relevant[1] + irrelevant[1])
    d = np.ascontiguousarray((relevant[0] - irrelevant[0]) / spread)
    # The truncated normal variable has mean d + shift and variance `kept`.
    shift, kept = np.empty_like(d), np.empty_like(d)
    native.truncation_moments(d, margin / spread, flip, shift, kept)
    gradient, curvature = shift / spread, np.maximum(1.0 - kept, 0.0) / spread**2
    return _message(relevant, gradient, curvature), _message(irrelevant, -gradient, curvature)


def _message(cavity: Floats, gradient: Floats, curvature: Floats) -> Floats:
    """Divide the posterior of one label by its cavity, in natural parameters."""
    mean, variance = cavity
    precision = curvature / (1 - variance * curvature)
    return np.stack([precision, precision * mean + gradient * (1 + variance * precision)])


def _converged(before: Floats, after: Floats) -> bool:
    moved = np.abs(after[1] / after[0] - before[1] / before[0]) * np.sqrt(after[0])
    changed = np.abs(after[0] - before[0]) / after[0]
    return bool((moved <= _CLOSE).all() and (changed <= _CLOSE).all())


def check_single_labels(likelihood: str, labels: Labels) -> None:
    """Refuse rows that a multi-class model cannot have."""
    if likelihood == "multiclass" and ((labels == 1).sum(axis=1) != 1).any():
        raise ValueError(
            "Y must have exactly one label in every row for likelihood='multiclass'; "
            "likelihood='pairwise' takes any number"
        )


def update_pairwise(
    state: OnlineState,
    rows: CsrArrays,
    labels: Labels,
    predicted: Indices,
    z: Floats,
) -> None:
    """Learn from the rows in turn; write the scores of the rows in `predicted` to z beforehand."""
    indptr, indices, values = rows
    place = dict(zip(predicted.tolist(), z, strict=True))
    for number, (row, (begin, end)) in enumerate(zip(labels, pairwise(indptr), strict=True)):
        # The constant feature comes first.
        features = np.append(0, indices[begin:end] + 1)
        x = np.append(state.model.label_offset, values[begin:end])
        mean, variance = state.feature_moments(features)
        score, spread = x @ mean, x**2 @ variance
        if number in place:
            place[number][:] = state.latent_of(score, spread).z
        state.count(row)
        noise = max(state.settings.noise**2, _SMALLEST_NOISE)
        update = propagate(
            score,
            spread + noise,
            row,
            _margins(state, row),
            state.model.flip_probability,
        )
        mean += variance * x[:, None] * update.gradient
        factor = 1.0 - variance * x[:, None] ** 2 * update.curvature
        state.set_features(features, mean, variance * np.maximum(factor, _SMALLEST_FACTOR))


def _margins(state: OnlineState, labels: Labels) -> Floats:
    margins = np.full(len(labels), state.settings.margin, dtype=np.float64)
    if state.settings.skew_margin:
        given = labels == 1
        margins[given] *= state.skew(given)
    return margins
