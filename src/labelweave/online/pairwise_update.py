"""Update a posterior with rows whose labels are compared with each other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.online.csr import CsrArrays
from labelweave.online.pairwise import propagate

if TYPE_CHECKING:
    from labelweave.online.posterior import Posterior


# As in the kernels: noise has at least this variance, and a row leaves at least this share of the
# variance of a weight.
_SMALLEST_NOISE, _SMALLEST_FACTOR = 1e-12, 2.0**-23


def check_labels(likelihood: str, labels: Labels) -> None:
    """Refuse rows that a multi-class model cannot have."""
    if likelihood == "multiclass" and ((labels == 1).sum(axis=1) != 1).any():
        raise ValueError(
            "Y must have exactly one label in every row for likelihood='multiclass'; "
            "likelihood='pairwise' takes any number"
        )


def update_pairwise(
    posterior: Posterior,
    rows: CsrArrays,
    labels: Labels,
    predicted: Indices,
    z: Floats,
) -> None:
    """Learn from the rows in turn; the constant feature comes first in each.

    The standardised scores of the rows in `predicted`, before they are learned from, go to `z`.
    """
    indptr, indices, values = rows
    place = dict(zip(predicted.tolist(), z, strict=True))
    for number, (row, (begin, end)) in enumerate(zip(labels, pairwise(indptr), strict=True)):
        features = np.append(0, indices[begin:end] + 1)
        x = np.append(posterior.label_offset, values[begin:end])
        mean, variance = posterior.feature_moments(features)
        score, spread = x @ mean, x**2 @ variance
        if number in place:
            place[number][:] = posterior.latent_of(score, spread).z
        posterior.count(row)
        noise = max(posterior.settings.noise**2, _SMALLEST_NOISE)
        update = propagate(
            score,
            spread + noise,
            row,
            _margins(posterior, row),
            posterior.settings.flip_probability,
        )
        mean += variance * x[:, None] * update.gradient
        factor = 1.0 - variance * x[:, None] ** 2 * update.curvature
        posterior.set_features(features, mean, variance * np.maximum(factor, _SMALLEST_FACTOR))


def _margins(posterior: Posterior, labels: Labels) -> Floats:
    margins = np.full(len(labels), posterior.settings.margin, dtype=np.float64)
    if posterior.settings.skew_margin:
        given = labels == 1
        margins[given] *= posterior.skew(given)
    return margins
