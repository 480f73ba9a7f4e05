"""One 0/1 label whose log-odds are given: its log-probability and its entropy."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Labels


def bernoulli_log_prob(labels: Labels, log_odds: Floats) -> Floats:
    """Log-probability of 0/1 ``labels`` whose log-odds are given."""
    return np.asarray(-np.logaddexp(0.0, np.where(labels == 1, -log_odds, log_odds)))


def bernoulli_entropy(log_odds: Floats) -> Floats:
    """Entropy of 0/1 labels; the smaller of p and 1 − p is e^-|z| / (1 + e^-|z|)."""
    size = np.abs(log_odds)
    finite = np.where(np.isinf(size), 0.0, size)
    return np.asarray(np.logaddexp(0.0, -size) + finite * expit(-size))
