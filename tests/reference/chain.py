"""The chain kernels in plain Python: one row, one label at a time, from the chain rule."""

import itertools

import numpy as np

from tests.reference.philox import uniform


def log_sigmoid(z):
    return -np.logaddexp(0.0, -z)


def label_log_prob(y, z):
    return log_sigmoid(z) if y else log_sigmoid(-z)


def score(scores, coupling, label, y, before):
    """Log-odds of ``label`` given the values in ``y`` of the labels ``before``."""
    return scores[label] + sum(coupling[label, k] * y[k] for k in before)


def log_prob(scores, coupling, order, y):
    return sum(
        label_log_prob(y[label], score(scores, coupling, label, y, order[:position]))
        for position, label in enumerate(order)
    )


def greedy(scores, coupling, order, given):
    y = np.array(given)
    for position, label in enumerate(order):
        if y[label] < 0:
            y[label] = score(scores, coupling, label, y, order[:position]) > 0
    return y


def vectors(known):
    """All label vectors that agree with ``known``."""
    options = [(0, 1) if value < 0 else (int(value),) for value in known]
    return [np.array(y) for y in itertools.product(*options)]


def mode(scores, coupling, order, known):
    """Return the best log-probability of a vector that agrees with ``known``."""
    return max(log_prob(scores, coupling, order, y) for y in vectors(known))


def table(scores, coupling, order, known, free):
    """Log-probability by column: bit t is label free[t]; -inf where ``known`` is contradicted."""
    out = np.full(2 ** len(free), -np.inf)
    for y in vectors(known):
        column = sum(int(y[label]) << t for t, label in enumerate(free))
        out[column] = log_prob(scores, coupling, order, y)
    return out


def sample(scores, coupling, order, given, seed, row, draw):
    """Return a completed vector and the log-weight of the given labels."""
    y, weight = np.array(given), 0.0
    for position, label in enumerate(order):
        z = score(scores, coupling, label, y, order[:position])
        if y[label] >= 0:
            weight += label_log_prob(y[label], z)
        else:
            y[label] = uniform(seed, row, draw, int(label)) < np.exp(log_sigmoid(z))
    return y, weight
