"""Gaussians in natural parameters, in which evidence adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats

# Evidence that contradicts itself (possible with wrongly recorded labels) takes no more than this
# share of the prior's precision away.
_LEAST_PRECISION = 1e-3


class Evidence(NamedTuple):
    """What has been learned beyond a prior N(0, v): the natural parameters minus the prior's.

    Parameters
    ----------
    precision : array
        1/σ² − 1/v.
    precision_mean : array
        μ/σ².
    """

    precision: NDArray[np.floating]
    precision_mean: NDArray[np.floating]

    @classmethod
    def of(
        cls,
        mean: NDArray[np.floating],
        variance: NDArray[np.floating],
        prior_variance: float,
        scale: float | NDArray[np.floating] = 1.0,
    ) -> Evidence:
        """Return the evidence in a Gaussian, for a weight whose feature is divided by `scale`."""
        precision = np.reciprocal(variance)
        precision_mean = mean * precision
        # Rounded as the precision is, so that a weight that learned nothing has none.
        precision -= np.reciprocal(precision.dtype.type(prior_variance))
        return cls(precision, precision_mean).scaled(scale)

    def scaled(self, scale: float | NDArray[np.floating]) -> Evidence:
        """Return the evidence for a weight whose feature is divided by `scale`, in place."""
        if np.any(scale != 1.0):
            self.precision[...] *= np.square(scale)
            self.precision_mean[...] *= scale
        return self

    @classmethod
    def sum(cls, evidence: Sequence[Evidence], common: Evidence) -> Evidence:
        """Return the evidence of several learners that all began with `common`, counted once."""
        return cls(
            added([each.precision for each in evidence], common.precision),
            added([each.precision_mean for each in evidence], common.precision_mean),
        )

    def __sub__(self, other: Evidence) -> Evidence:
        """Return what is left of the evidence without another."""
        return Evidence(
            self.precision - other.precision, self.precision_mean - other.precision_mean
        )

    def moments(self, prior_variance: float) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return mean and variance of prior and evidence together."""
        precision = np.maximum(
            1 / prior_variance + self.precision, _LEAST_PRECISION / prior_variance
        )
        variance = np.reciprocal(precision, out=precision)
        return self.precision_mean * variance, variance


def added(values: Sequence[NDArray[Any]], start: NDArray[Any]) -> Floats:
    """Add to `start` what each of the values has beyond it; the same bits in any order of them."""
    total = np.zeros(np.shape(start))
    for term in np.sort(np.stack(values) - start, axis=0):  # smallest first, whoever it is from
        total += term
    return np.asarray(start + total)
