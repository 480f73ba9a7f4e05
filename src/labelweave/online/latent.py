"""Labels as thresholds of Gaussian variables that have a bias in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_expit, log_ndtr, ndtr, ndtri_exp

from labelweave._common.arrays import Floats
from labelweave.online.calibration import PROBIT_SLOPE, CalibrationMap

_TINY, _EPSILON = np.finfo(np.float64).tiny, np.finfo(np.float64).epsneg


class Latent(NamedTuple):
    """Label c of a row applies where z_c exceeds √(1 − ρ_c²) ξ_c + ρ_c ζ, all standard normal.

    ζ is the bias that labels share, ξ_c what is a label's own. Arrays are (n, L).

    Parameters
    ----------
    z : array
        How many standard deviations scores lie above the bias.
    loading : array
        ρ, from 0 (labels do not depend on each other) to 1.

    Examples
    --------
    >>> latent = Latent.of(np.array([[3.0]]), np.array([[7.0]]), bias_mean=1.0, bias_variance=9.0)
    >>> latent.z, latent.loading
    (array([[0.5]]), array([[0.75]]))
    """

    z: Floats
    loading: Floats

    @classmethod
    def of(cls, mean: Floats, variance: Floats, bias_mean: Floats, bias_variance: Floats) -> Latent:
        """Return the thresholds for scores and biases of these moments."""
        spread = np.sqrt(variance + bias_variance)
        return cls((mean - bias_mean) / spread, np.sqrt(bias_variance) / spread)

    def calibrated(self, by: CalibrationMap) -> Latent:
        """Return thresholds with the probabilities of the map.

        What the bias adds to a score is flattened as the score is.
        """
        log_odds = by.log_odds(self.z)
        z = -np.sign(log_odds) * ndtri_exp(log_expit(-np.abs(log_odds)))
        return Latent(z, self.loading * np.minimum(by.slope / PROBIT_SLOPE, 1.0))

    def probabilities(self) -> Floats:
        """Return the probability of every label; rounding makes none certain."""
        return np.clip(ndtr(self.z), _TINY, 1.0 - _EPSILON)

    def log_odds(self) -> Floats:
        """Return the log-odds of every label, which rank rows where probabilities are rounded."""
        return np.asarray(log_ndtr(self.z) - log_ndtr(-self.z))
