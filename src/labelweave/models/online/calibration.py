"""From scores to calibrated probabilities, by prequential predictions.

The moments of a row's scores give Gaussian variables of its labels with a bias in common
(`Latent`), whose thresholds are the standardised scores z. A margin, noise-free predictions and
correlated features make them overconfident, and wider margins for rare labels raise their scores.
The stream itself shows by how much: a row is predicted before it is learned from. One logistic map
per label, P(y = 1) = σ(slope · z + offset), is fitted to these predictions and the true labels
(Platt scaling); labels with few examples borrow strength from all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtr, ndtri_exp

from labelweave._common.arrays import Floats, Indices, Labels

# Scores are counted in bins, evenly spaced in arcsinh(z): fine where labels are decided, and
# reaching to |z| = 27.
_WIDTH, _REACH = 0.125, 32
_CENTRES = np.sinh(np.arange(-_REACH, _REACH + 1) * _WIDTH)
N_BINS = len(_CENTRES)
# The map common to all labels before there are any predictions: σ(1.7 z) is Φ(z) within 0.01.
PROBIT_SLOPE = 1.7
_COMMON_SPREAD = np.array([1.0, 10.0])
# Standard deviations among labels: of a slope relative to the common one, and of an offset.
_SPREAD = np.array([0.3, 1.0])
# A label's scores rank its rows: no slope is smaller than this share of the common one.
_SMALLEST_SLOPE = 0.05
# All rows up to this number are predicted before they are learned from, and as many again whenever
# the number of rows has doubled.
_PREDICTED = 512
# Counts are forgotten as weights are, but no faster: how overconfident a learner is changes more
# slowly than what it has learned, and predicting every row would be slow.
_FASTEST = 1 / 4096
# Largest number of Newton steps, and a step so small, relative to the prior, that it is the last.
_MOST_STEPS, _CLOSE = 50, 1e-8
# Number of labels that are fitted together, to bound memory.
_TOGETHER = 4096
_TINY, _EPSILON = np.finfo(np.float64).tiny, np.finfo(np.float64).epsneg


class CalibrationMap(NamedTuple):
    """Slope and offset of the log-odds of every label, (L,) each."""

    slope: Floats
    offset: Floats

    def log_odds(self, z: Floats) -> Floats:
        """Return the log-odds of every label, (n, L)."""
        return self.slope * z + self.offset


class Calibration:
    """How often each label applied, by its standardised score."""

    def __init__(self) -> None:
        #: Rows without and with each label, by bin, (L, 2, bins); forgetting makes them fractions.
        self.counts = np.zeros((0, 2, N_BINS))

    def grow(self, n_labels: int) -> None:
        added = n_labels - len(self.counts)
        self.counts = np.concatenate([self.counts, np.zeros((added, *self.counts.shape[1:]))])

    def add(self, z: Floats, labels: Labels, retained: Floats | None = None) -> None:
        """Count (n, L) scores and labels in turn; row i leaves `retained[i]` of the counts."""
        bins = np.rint(np.arcsinh(z) * (1 / _WIDTH)).clip(-_REACH, _REACH).astype(np.int64)
        cells = N_BINS * (2 * np.arange(z.shape[1]) + labels) + bins + _REACH
        known, counts = labels >= 0, self.counts.reshape(-1)
        if retained is None:
            counts += np.bincount(cells[known], minlength=counts.size)
            return
        for share, row_cells, row_known in zip(retained, cells, known, strict=True):
            counts *= share
            counts[row_cells[row_known]] += 1.0

    def fit(self) -> CalibrationMap:
        start = np.array([PROBIT_SLOPE, 0.0])
        common = _fitted(self.counts.sum(axis=0)[None], _CENTRES, start, _COMMON_SPREAD)[0]
        slope = max(common[0], _SMALLEST_SLOPE)
        start = np.array([1.0, common[1]])
        parts = [
            _fitted(self.counts[first : first + _TOGETHER], slope * _CENTRES, start, _SPREAD)
            for first in range(0, len(self.counts), _TOGETHER)
        ]
        relative, offset = np.concatenate([*parts, np.empty((0, 2))]).T
        return CalibrationMap(slope * np.maximum(relative, _SMALLEST_SLOPE), offset)


class PrequentialRows(NamedTuple):
    """Numbers of rows that are predicted before they are learned from.

    Each row leaves the share `retained` of all earlier counts; None if nothing is forgotten.
    """

    rows: Indices
    retained: Floats | None

    def before(self, row: int) -> PrequentialRows:
        n = np.searchsorted(self.rows, row)
        return PrequentialRows(self.rows[:n], None if self.retained is None else self.retained[:n])


def prequential_rows(first: int, last: int, forgetting: float) -> PrequentialRows:
    """Return the rows among [first, last) that are predicted before they are learned from."""
    rows, rate = np.arange(first, last), min(forgetting, _FASTEST)
    counted = np.minimum(rows, 1.0 / rate if rate else np.inf)
    _, octave = np.frexp(np.maximum(counted / _PREDICTED, 0.5))
    stride = 1 << np.maximum(octave - 1, 0)
    chosen = rows % stride == 0
    return PrequentialRows(rows[chosen], (1.0 - rate) ** stride[chosen] if rate else None)


def _fitted(counts: Floats, z: Floats, start: Floats, spread: Floats) -> Floats:
    """Return slope and offset of each label, (L, 2), by Newton's method, with prior N(start, ·)."""
    columns = np.stack([z, np.ones_like(z)], axis=1)
    products = (columns[:, :, None] * columns[:, None, :]).reshape(-1, 4)
    precision = 1 / spread**2
    rows, true = counts.sum(axis=1), counts[:, 1]

    def loss(at: Floats) -> Floats:
        log_odds = at @ columns.T
        fit = rows * np.logaddexp(0.0, log_odds) - true * log_odds
        return np.asarray(fit.sum(axis=1) + 0.5 * ((at - start) ** 2 @ precision))

    found = np.tile(start, (len(counts), 1))
    before = loss(found)
    for _ in range(_MOST_STEPS):
        p = expit(found @ columns.T)
        gradient = (rows * p - true) @ columns + precision * (found - start)
        curvature = ((rows * p * (1 - p)) @ products).reshape(-1, 2, 2) + np.diag(precision)
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        after = loss(found - step)
        while (uphill := after > before).any() and (np.abs(step) > _CLOSE * spread).any():
            step[uphill] *= 0.5
            after = loss(found - step)
        found, before = found - step, after
        if (np.abs(step) <= _CLOSE * spread).all():
            break
    return found


class Latent(NamedTuple):
    """Label c of a row applies where z_c exceeds √(1 − ρ_c²) ξ_c + ρ_c ζ.

    The variables are standard normal: ζ is the bias that the labels share, ξ_c is the label's own.
    `z` says how many standard deviations a score lies above the bias, `loading` is ρ, from 0
    (labels do not depend on each other) to 1; both are (n, L).
    """

    z: Floats
    loading: Floats

    @classmethod
    def of(cls, mean: Floats, variance: Floats, bias_mean: Floats, bias_variance: Floats) -> Latent:
        """Return the thresholds for scores and biases of these moments."""
        spread = np.sqrt(variance + bias_variance)
        return cls((mean - bias_mean) / spread, np.sqrt(bias_variance) / spread)

    def calibrated(self, by: CalibrationMap) -> Latent:
        """Return thresholds with the probabilities of the map, which also flattens loadings."""
        log_odds = by.log_odds(self.z)
        z = -np.sign(log_odds) * ndtri_exp(log_expit(-np.abs(log_odds)))
        return Latent(z, self.loading * np.minimum(by.slope / PROBIT_SLOPE, 1.0))

    def probabilities(self) -> Floats:
        """Return the probability of every label; rounding makes none certain."""
        return np.clip(ndtr(self.z), _TINY, 1.0 - _EPSILON)

    def log_odds(self) -> Floats:
        """Return the log-odds of every label, which rank rows where probabilities are rounded."""
        return np.asarray(log_ndtr(self.z) - log_ndtr(-self.z))


def categorical_log_odds(log_odds: Floats) -> Floats:
    """Return the log-odds of each label given that exactly one of independent labels applies."""
    before, after = np.full((2, *log_odds.shape), -np.inf)
    before[:, 1:] = np.logaddexp.accumulate(log_odds, axis=1)[:, :-1]
    after[:, :-1] = np.logaddexp.accumulate(log_odds[:, ::-1], axis=1)[:, -2::-1]
    return np.asarray(log_odds - np.logaddexp(before, after))
