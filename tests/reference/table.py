"""Every question to a joint distribution, answered from its definition.

A distribution is a list, one entry a row, of dictionaries from label vectors to probabilities.
"""

import itertools
import math

import numpy as np


def from_log_prob(log_prob, n_rows, n_labels):
    """Distributions of ``log_prob(row, y)``, checked to sum to one."""
    rows = []
    for row in range(n_rows):
        table = {
            y: math.exp(log_prob(row, np.array(y)))
            for y in itertools.product((0, 1), repeat=n_labels)
        }
        assert math.isclose(sum(table.values()), 1.0, abs_tol=1e-9)
        rows.append(table)
    return rows


def condition(rows, known):
    """Bayes' rule; ``known`` is (n, L) with -1 for unknown."""
    posterior = []
    for table, given in zip(rows, known, strict=True):
        kept = {
            y: p
            for y, p in table.items()
            if all(g < 0 or g == v for g, v in zip(given, y, strict=True))
        }
        total = sum(kept.values())
        posterior.append({y: kept.get(y, 0.0) / total for y in table})
    return posterior


def evidence_prob(rows, known):
    return [
        sum(
            p
            for y, p in table.items()
            if all(g < 0 or g == v for g, v in zip(given, y, strict=True))
        )
        for table, given in zip(rows, known, strict=True)
    ]


def marginals(rows):
    return [sum(p * np.array(y) for y, p in table.items()) for table in rows]


def marginal_log_odds(rows):
    def log_prob(table, label, value):
        total = math.fsum(p for y, p in table.items() if y[label] == value)
        return math.log(total) if total > 0 else -math.inf

    labels = range(len(next(iter(rows[0])))) if rows else ()
    return [[log_prob(t, j, 1) - log_prob(t, j, 0) for j in labels] for t in rows]


def pairwise(rows):
    return [sum(p * np.outer(y, y) for y, p in table.items()) for table in rows]


def cardinality(rows):
    out = []
    for table in rows:
        counts = np.zeros(len(next(iter(table))) + 1)
        for y, p in table.items():
            counts[sum(y)] += p
        out.append(counts)
    return out


def cardinality_by_label(rows):
    out = []
    for table in rows:
        L = len(next(iter(table)))
        counts = np.zeros((L, L + 1))
        for y, p in table.items():
            counts[:, sum(y)] += p * np.array(y)
        out.append(counts)
    return out


def entropy(rows):
    return [-sum(p * math.log(p) for p in table.values() if p > 0) for table in rows]
