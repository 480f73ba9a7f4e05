"""BOMC in float64 NumPy, written from the equations: one row at a time, nothing clever."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from labelweave.models.online.settings import ProbitModel


@dataclass
class Reference:
    """The posterior and its update; `ask` rows as dense vectors."""

    n_features: int
    n_labels: int
    model: ProbitModel
    n_rows: int = 0
    # Of the weights, the constant feature's first.
    all_mean: np.ndarray = field(init=False)
    all_variance: np.ndarray = field(init=False)

    def __post_init__(self):
        self.settings = self.model.settings
        shape = (1 + self.n_features, self.n_labels)
        n_biases = 1 if self.model.coupled else self.n_labels
        self.all_mean = np.zeros(shape)
        self.all_variance = np.full(shape, self.settings.prior_variance)
        self.bias = np.zeros(n_biases)
        self.bias_variance = np.full(n_biases, self.settings.bias_variance)
        self.positives, self.observed = np.zeros(self.n_labels), np.zeros(self.n_labels)

    @property
    def mean(self):
        return self.all_mean[1:]

    @property
    def variance(self):
        return self.all_variance[1:]

    def _with_constant(self, X):
        constant = self.settings.label_offset if self.model.coupled else 0.0
        return np.insert(X, 0, constant, axis=-1)

    def update(self, x, y):
        x = self._with_constant(x)
        self._forget()
        known, sign = y >= 0, np.where(y == 1, 1.0, -1.0)
        self.positives += y == 1
        self.observed += known
        margin = np.full(self.n_labels, self.settings.margin)
        if self.settings.skew_margin:
            margin[y == 1] *= np.log(np.e + self._absent()[y == 1])
        m, v = x @ self.all_mean, x**2 @ self.all_variance + self.settings.noise**2
        if self.model.coupled:
            pull, certainty = self._agree(m, v, sign, margin, known)
        else:
            shift, kept = self._truncate(sign * (m - self.bias), margin, v + self.bias_variance)
            total = v + self.bias_variance
            pull = np.where(known, sign * shift / np.sqrt(total), 0.0)
            certainty = np.where(known, (1 - kept) / total, 0.0)
            self.bias = self.bias - self.bias_variance * pull
            self.bias_variance = self.bias_variance * (1 - self.bias_variance * certainty)
        self.all_mean += self.all_variance * x[:, None] * pull
        self.all_variance -= self.all_variance**2 * x[:, None] ** 2 * certainty
        self.n_rows += 1

    def _absent(self):
        """Return the number of rows without a label for each row with it, known or counted."""
        if self.settings.label_ratios is not None:
            return 1 / np.array(self.settings.label_ratios[: self.n_labels])
        return (self.observed - self.positives) / np.maximum(self.positives, 1)

    def _forget(self):
        keep = 1 - self.model.forgetting
        for name, prior in (
            ("all_variance", self.settings.prior_variance),
            ("bias_variance", self.settings.bias_variance),
        ):
            evidence = 1 / getattr(self, name) - 1 / prior
            setattr(self, name, 1 / (1 / prior + keep * evidence))

    def _agree(self, m, v, sign, margin, known):
        """EP over the bias: all messages from the bias of the round before."""
        prior = 1 / self.bias_variance[0], self.bias[0] / self.bias_variance[0]
        precision, weighted = np.zeros(len(m)), np.zeros(len(m))
        total = prior
        for _ in range(10):
            cavity = np.maximum(total[0] - precision, prior[0])
            b_variance = 1 / cavity
            b = (total[1] - weighted) * b_variance
            shift, kept = self._truncate(sign * (m - b), margin, v + b_variance)
            pull = np.where(known, sign * shift / np.sqrt(v + b_variance), 0.0)
            shrink = np.where(known, 1 - kept, 0.0)
            told = np.maximum(shrink, 0.0)
            precision = told / (v + b_variance * (1 - told))
            weighted = precision * b - pull * (1 + b_variance * precision)
            last, total = total, (prior[0] + precision.sum(), prior[1] + weighted.sum())
            moved = abs(total[1] / total[0] - last[1] / last[0])
            if abs(total[0] - last[0]) <= 1e-3 * total[0] and moved <= 1e-3 / np.sqrt(total[0]):
                break
        self.bias = np.array([total[1] / total[0]])
        self.bias_variance = np.array([1 / total[0]])
        return pull, shrink / (v + b_variance)

    def _truncate(self, d, margin, variance):
        """Mean shift and remaining share of the variance, in units of the standard deviation."""
        flip = self.model.flip_probability
        t, u = ((side * d - margin) / np.sqrt(variance) for side in (1, -1))
        log_z = np.logaddexp(np.log1p(-flip) + log_ndtr(t), _log(flip) + log_ndtr(u))
        right = np.exp(np.log1p(-flip) + norm.logpdf(t) - log_z)
        wrong = np.exp(_log(flip) + norm.logpdf(u) - log_z)
        shift = right - wrong
        return shift, 1 - shift**2 - (t * right + u * wrong)

    def probabilities(self, X):
        X = self._with_constant(X)
        scale = np.sqrt(self.bias_variance + X**2 @ self.all_variance)
        return ndtr((X @ self.all_mean - self.bias) / scale)


def _log(p):
    return np.log(p) if p > 0 else -np.inf
