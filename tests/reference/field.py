"""Annealing of draws from a field, all draws at once in NumPy."""

import numpy as np

from labelweave._core import native


def uniforms(seed, row_ids, k, n_labels):
    out = np.empty((k, len(row_ids), n_labels))
    for draw in range(k):
        native.fill_uniform(seed, row_ids, draw, out[draw], 1)
    return out.transpose(1, 0, 2)


def energy(scores, coupling, y):
    """s·y + ½ yᵀVy."""
    return float(scores @ y + y @ coupling @ y / 2)


def anneal(scores, inside, outside, known, row_ids, seeds, labels):
    """Return the (n, k, L) labels moved step by step, and the (n, k) log-weights."""
    y = labels.astype(float)
    free = (known < 0)[:, None, :]
    log_weight = np.zeros(y.shape[:2])
    for step, seed in enumerate(seeds):
        active = np.where(free, y, 0.0)
        log_weight += np.einsum("nki,ij,nkj->nk", active, outside, active) / 2 / len(seeds)
        u = uniforms(int(seed), row_ids, y.shape[1], y.shape[2])
        coupling = inside + outside * (step + 1) / len(seeds)
        for label in range(y.shape[2]):
            active = np.where(free, y, 0.0)
            z = scores[:, None, label] + active @ coupling[label]
            drawn = u[:, :, label] < 1 / (1 + np.exp(-z))
            y[:, :, label] = np.where(free[:, :, label], drawn, y[:, :, label])
    return y.astype(np.int8), log_weight
