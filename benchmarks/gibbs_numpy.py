"""The sampler's two algorithms in NumPy, vectorised over instances: what ours is raced against.

They use the same random numbers and so visit the same states. The chain order is 0 … L−1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._core import native
from labelweave.joint import ChainJoint


def algorithm_1(
    joint: ChainJoint, X: Floats, coef: Floats, intercept: Floats, start: Labels, sweeps: int
) -> Labels:
    """Ask all later conditionals, features and labels, for both values of a label."""
    weights = np.hstack([coef, joint.conditionals.coupling])
    inputs = np.hstack([X, start])
    y = inputs[:, X.shape[1] :]
    for sweep in range(sweeps):
        logit = _logits(joint, sweep)
        for j in range(joint.n_labels):
            log_prob = []
            for y[:, j] in (0.0, 1.0):
                z = inputs @ weights[j:].T + intercept[j:]
                log_prob.append((y[:, j:] * z - softplus(z)).sum(axis=1))
            y[:, j] = logit[:, j] < log_prob[1] - log_prob[0]
    return y.astype(np.int8)


def algorithm_2(
    joint: ChainJoint, start: Labels, sweeps: int, softplus: Callable[[Floats], Floats]
) -> Labels:
    """Keep the scores; when a label flips, add or take away its column of the coupling."""
    y = start.astype(np.float64)
    z = joint.conditionals.scores + y @ joint.conditionals.coupling.T
    effects = np.ascontiguousarray(joint.conditionals.coupling.T)
    for sweep in range(sweeps):
        logit = _logits(joint, sweep)
        for j in range(joint.n_labels):
            effect = effects[j, j + 1 :]
            at_zero = z[:, j + 1 :] - y[:, j, None] * effect
            change = softplus(at_zero) - softplus(at_zero + effect)
            log_odds = z[:, j] + y[:, j + 1 :] @ effect + change.sum(axis=1)
            positive = (logit[:, j] < log_odds).astype(np.float64)
            flips = np.flatnonzero(positive != y[:, j])
            z[flips, j + 1 :] += (positive - y[:, j])[flips, None] * effect
            y[:, j] = positive
    return y.astype(np.int8)


def _logits(joint: ChainJoint, sweep: int) -> Floats:
    u = np.empty((joint.n_rows, joint.n_labels))
    native.fill_uniform(0, joint.row_ids, sweep, u, 1)
    return np.log(u) - np.log1p(-u)


def plain_softplus(z: Floats) -> Floats:
    """log(1 + e^z) as one would write it."""
    return np.logaddexp(0.0, z)


def softplus(z: Floats) -> Floats:
    """log(1 + e^z) in the fastest of NumPy's stable ways."""
    return np.maximum(z, 0.0) + np.log1p(np.exp(-np.abs(z)))
