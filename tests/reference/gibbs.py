"""Gibbs sampling of a linear chain from its definition: one row, whole vectors compared."""

import math

import numpy as np

from tests.reference.chain import log_prob
from tests.reference.philox import uniform


def states(scores, coupling, order, known, start, seed, row, sweeps, first_draw=0):
    """Return every state visited after the start: one for each label of each sweep."""
    y, visited = np.array(start), []
    for sweep in range(first_draw, first_draw + sweeps):
        for label in order:
            if known[label] < 0:
                value = []
                for y[label] in (0, 1):
                    value.append(log_prob(scores, coupling, order, y))
                u = uniform(seed, row, sweep, int(label))
                y[label] = math.log(u) - math.log1p(-u) < value[1] - value[0]
            visited.append(y.copy())
    return np.array(visited, dtype=np.int8).reshape(-1, len(order))
