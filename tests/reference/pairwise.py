"""Expectation propagation over pairs of scores, message by message; and the truth by summation."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.stats import norm


def propagate(mean, variance, labels, margin, rounds=60):
    """Means and variances of f after f_r > f_k + margin_r for every pair, one pair at a time.

    Follows Table 1 of the TrueSkill paper literally: messages to the difference, truncation there,
    messages back. Every message is a pair (mean, variance).
    """
    pairs = list(product(np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)))
    messages = {(pair, end): (0.0, np.inf) for pair in pairs for end in pair}

    def belief(label, but=None):
        parts = [(mean[label], variance[label])]
        parts += [messages[p, label] for p in pairs if label in p and p != but]
        precision = sum(1 / v for _, v in parts)
        return sum(m / v for m, v in parts) / precision, 1 / precision

    for _ in range(rounds):
        for pair in pairs:
            (m_r, v_r), (m_k, v_k) = (belief(label, but=pair) for label in pair)
            m_d, v_d = m_r - m_k, v_r + v_k
            low = (margin[pair[0]] - m_d) / np.sqrt(v_d)
            hazard = np.exp(norm.logpdf(low) - norm.logsf(low))
            m_cut, v_cut = m_d + np.sqrt(v_d) * hazard, v_d * (1 + low * hazard - hazard**2)
            precision = 1 / v_cut - 1 / v_d
            if precision <= 0:  # a bound so far away that it changes nothing
                messages[pair, pair[0]] = messages[pair, pair[1]] = (0.0, np.inf)
                continue
            m_t = (m_cut / v_cut - m_d / v_d) / precision
            messages[pair, pair[0]] = (m_t + m_k, 1 / precision + v_k)
            messages[pair, pair[1]] = (m_r - m_t, 1 / precision + v_r)
    return np.array([belief(label) for label in range(len(mean))]).T


def integrate(mean, variance, labels, margin, flip=0.0, points=121):
    """Moments of the true posterior of up to three scores, on a grid."""
    sd = np.sqrt(variance)
    axes = [m + s * np.linspace(-6, 6, points) for m, s in zip(mean, sd, strict=True)]
    f = np.meshgrid(*axes, indexing="ij")
    weight = np.ones_like(f[0])
    for grid, m, s in zip(f, mean, sd, strict=True):
        weight = weight * norm.pdf(grid, m, s)
    for r, k in product(np.flatnonzero(labels == 1), np.flatnonzero(labels == 0)):
        # A cell that the bound cuts counts for half: sums converge faster.
        right, wrong = (
            0.5 * (1 + np.sign(np.round(side * (f[r] - f[k]) - margin[r], 12))) for side in (1, -1)
        )
        weight = weight * ((1 - flip) * right + flip * wrong)
    weight /= weight.sum()
    first = np.array([(weight * grid).sum() for grid in f])
    second = np.array([(weight * grid**2).sum() for grid in f])
    return first, second - first**2
