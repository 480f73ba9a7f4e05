"""Trees of labels, one row and one label vector at a time, from their definition."""

import math

import numpy as np


def random_forest(rng, n, L, scale=2.0):
    """Log-odds (n, L, 2) and parents of a random forest whose labels stand in any order."""
    order = rng.permutation(L)
    parents = np.full(L, -1)
    for position in range(1, L):
        if rng.random() < 0.8:
            parents[order[position]] = order[rng.integers(position)]
    return rng.normal(scale=scale, size=(n, L, 2)), parents


def label_log_prob(y, z):
    """Log P(y | log-odds z), also for infinite z."""
    signed = z if y else -z
    if math.isinf(signed):
        return 0.0 if signed > 0 else -math.inf
    return min(signed, 0.0) - math.log1p(math.exp(-abs(signed)))


def log_prob(logits, parents, y):
    """Log P(y) of one row, ``logits`` (L, 2); a root reads the first log-odds."""
    return sum(
        label_log_prob(y[i], logits[i, y[parents[i]] if parents[i] >= 0 else 0])
        for i in range(len(y))
    )


def poisson_binomial(marginals):
    """Distribution of the number of successes of independent trials, (n, L) to (n, L + 1)."""
    n, L = marginals.shape
    out = np.zeros((n, L + 1))
    out[:, 0] = 1.0
    for label in range(L):
        p = marginals[:, label, None]
        out[:, 1:] = out[:, 1:] * (1 - p) + out[:, :-1] * p
        out[:, 0] *= 1 - p[:, 0]
    return out
