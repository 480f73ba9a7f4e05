"""Label powerset and RAkEL in plain scikit-learn, classes named by their bits."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.base import clone


def names(Y):
    return np.array(["".join(map(str, row)) for row in Y])


def vector_probabilities(base, X, Y, X_new):
    """P(vector | x) by the vector's bits; for vectors seen in training."""
    if len(set(names(Y))) == 1:
        return {names(Y)[0]: np.ones(len(X_new))}
    model = clone(base).fit(X, names(Y))
    return dict(zip(model.classes_.tolist(), model.predict_proba(X_new).T, strict=True))


def log_prob(base, X, Y, X_new, Y_new):
    """Log-probability of each label vector, those at large included."""
    n = len(Y)
    listed = vector_probabilities(base, X, Y, X_new)
    rate = (Y.sum(axis=0) + 1) / (n + 2)
    at_large = np.where(Y_new == 1, rate, 1 - rate).prod(axis=1)
    seen = [listed[bits][i] if bits in listed else 0.0 for i, bits in enumerate(names(Y_new))]
    return np.log((1 - 1 / (n + 2)) * np.array(seen) + at_large / (n + 2))


def marginals(base, X, Y, X_new):
    """Marginal probabilities of all labels, by adding up all label vectors."""
    total = np.zeros((len(X_new), Y.shape[1]))
    for bits in product((0, 1), repeat=Y.shape[1]):
        vector = np.tile(bits, (len(X_new), 1))
        total += vector * np.exp(log_prob(base, X, Y, X_new, vector))[:, None]
    return total


def votes(base, X, Y, X_new, labelsets):
    """For each label, votes for it and votes in all, one per labelset that has it."""
    given, cast = np.zeros((len(X_new), Y.shape[1])), np.zeros(Y.shape[1])
    for labelset in labelsets:
        listed = vector_probabilities(base, X, Y[:, labelset], X_new)
        best = np.array(list(listed))[np.argmax(list(listed.values()), axis=0)]
        given[:, labelset] += np.array([list(map(int, bits)) for bits in best])
        cast[labelset] += 1
    return given, cast
