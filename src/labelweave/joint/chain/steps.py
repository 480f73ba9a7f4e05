"""Steps along a chain in NumPy, for conditionals that only Python can evaluate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.bernoulli import bernoulli_log_prob
from labelweave.joint.mode import Ranked

# (label, rows, prefix) -> log-odds of the label in these rows after these earlier labels.
LogOdds: TypeAlias = Callable[[int, Indices, Labels], Floats]


def grid_log_odds(log_odds: LogOdds, label: int, labels: Labels, before: Indices) -> Floats:
    """Log-odds (n, k) of ``label`` for k vectors per row, which see only the labels ``before``."""
    n, k, n_labels = labels.shape
    prefix = np.zeros((n * k, n_labels), dtype=np.int8)
    prefix[:, before] = labels.reshape(n * k, n_labels)[:, before]
    return log_odds(label, np.repeat(np.arange(n), k), prefix).reshape(n, k)


def walk(
    log_odds: LogOdds, order: Indices, labels: Labels, choose: Callable[[int, Floats], Labels]
) -> tuple[Floats, Floats]:
    """Replace every -1 of (n, k, L) ``labels`` in place by ``choose(label, log-odds)``.

    Returns the log-probability of the given and of the chosen labels, each (n, k).
    """
    given_total = np.zeros(labels.shape[:2])
    chosen_total = np.zeros(labels.shape[:2])
    for position, label in enumerate(order):
        z = grid_log_odds(log_odds, int(label), labels, order[:position])
        given = labels[:, :, label] >= 0
        labels[:, :, label] = np.where(given, labels[:, :, label], choose(int(label), z))
        contribution = bernoulli_log_prob(labels[:, :, label], z)
        given_total += np.where(given, contribution, 0.0)
        chosen_total += np.where(given, 0.0, contribution)
    return given_total, chosen_total


def expand(
    log_odds: LogOdds, label: int, before: Indices, known: Labels, labels: Labels, log_prob: Floats
) -> tuple[Labels, Floats]:
    """Both continuations of every prefix: first all with label 0, then all with label 1.

    ``known`` (n,) makes the continuation that contradicts it impossible.
    """
    z = grid_log_odds(log_odds, label, labels, before)
    longer, totals = [], []
    for value in (0, 1):
        continued = labels.copy()
        continued[:, :, label] = value
        total = log_prob + bernoulli_log_prob(continued[:, :, label], z)
        total[(known >= 0) & (known != value)] = -np.inf
        longer.append(continued)
        totals.append(total)
    return np.concatenate(longer, axis=1), np.concatenate(totals, axis=1)


def beam_search(log_odds: LogOdds, order: Indices, known: Labels, k: int, width: int) -> Ranked:
    """Return the k best vectors of a beam search that keeps ``width`` prefixes at every label.

    A vector can only be missed through a prefix that was dropped, and is at most as probable as
    that prefix: the best dropped prefix bounds everything that is not listed.
    """
    n, n_labels = known.shape
    labels = np.zeros((n, 1, n_labels), dtype=np.int8)
    log_prob = np.zeros((n, 1))
    dropped = np.full(n, -np.inf)
    for position, label in enumerate(order):
        labels, log_prob = expand(
            log_odds, int(label), order[:position], known[:, label], labels, log_prob
        )
        keep = k if position == len(order) - 1 else width
        ranking = np.argsort(-log_prob, axis=1, kind="stable")
        log_prob = np.take_along_axis(log_prob, ranking, axis=1)
        if log_prob.shape[1] > keep:
            dropped = np.maximum(dropped, log_prob[:, keep])
        log_prob = log_prob[:, :keep]
        labels = np.take_along_axis(labels, ranking[:, :keep, None], axis=1)
    labels[np.isneginf(log_prob)] = -1
    return Ranked(labels, log_prob, np.maximum(dropped, log_prob[:, -1]))


def beam(log_odds: LogOdds, order: Indices, known: Labels, width: int) -> tuple[Labels, Floats]:
    """Return the best vector of a beam search, and what no vector it missed exceeds."""
    found = beam_search(log_odds, order, known, width, width)
    return found.labels[:, 0], found.upper_bound
