"""Quantities from the states of a Markov chain, with errors that know they are correlated."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave.joint import Estimate, JointDistribution
from labelweave.joint.estimate import Quantity, mean_from_draws, probability_from_draws


def estimate_from_chain(
    joint: JointDistribution, samples: Labels, quantity: Quantity, walks: int
) -> Estimate:
    """Return the mean over ``samples`` (n, k, L): ``walks`` of equal length, one after the other.

    Each walk is cut into stretches of about √length states; the spread of their means gives the
    error. That of a probability is never stated below one over the number of states: an event that
    was never visited may still have about that probability.
    """
    n, k, _ = samples.shape
    length = k // walks
    n_stretches = max(2, int(np.sqrt(length)))
    means, sizes = [], []
    for walk in range(walks):
        bounds = walk * length + np.linspace(0, length, n_stretches + 1).astype(np.int64)
        for first, last in pairwise(bounds):
            means.append(_mean(joint, samples[:, first:last], quantity))
            sizes.append(last - first)
    weight = np.asarray(sizes) / k
    value = np.einsum("s,s...->...", weight, np.stack(means))
    count = len(means)
    spread = np.einsum("s,s...->...", weight, (np.stack(means) - value) ** 2) / (count - 1)
    error = np.sqrt(spread)
    if quantity == "entropy":
        error = np.hypot(error, joint.log_prob_error())
    else:
        error = np.maximum(error, 1 / k)
    return Estimate(value, error, np.zeros(n, dtype=np.bool_))


def _mean(joint: JointDistribution, samples: Labels, quantity: Quantity) -> Floats:
    weight = np.full(samples.shape[:2], 1 / samples.shape[1])
    if quantity == "entropy":
        return mean_from_draws(-joint.log_prob_of_draws(samples), weight)[0]
    return probability_from_draws(quantity, samples, weight)[0]
