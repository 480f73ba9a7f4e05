"""The most probable vectors of a mixture, from the components' own lists.

Every component lists its vectors by decreasing probability. A vector that none of the lists has
shown has at most Σ_k weight_k P_k(last vector of list k): once the best vectors seen reach that
bound, they are the best of all (a threshold algorithm in the sense of Fagin). Trees are walked
vector by vector in compiled code; other forms give longer and longer lists. Components that list
every vector they allow leave only the best vectors of the others to look for (`listed_part`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.capabilities import tree_mixture_of
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.mixture.listed_part import ListedPart, listed_part
from labelweave.joint.mode import Ranked

if TYPE_CHECKING:
    from labelweave.joint.mixture.evidence import ConditionedMixture

# The first lists of components that are not trees, and how much longer each next one is.
FIRST_LENGTH, GROWTH = 16, 4
# Bounds and log-probabilities are the same sums in another order: what differs by less is equal.
ROUNDING = 1e-12


def merge(joint: ConditionedMixture, k: int, depth: int) -> tuple[Ranked, Indices]:
    """Return the best ``k`` vectors of each row, and how many were taken from all lists.

    At most ``depth`` vectors are taken from the list of each component.
    """
    trees = tree_mixture_of(joint)
    if trees is not None:
        return trees.top(k, depth, joint.n_threads)
    part = listed_part(joint)
    if part is not None:
        return _merge_listed_part(joint, part, k, depth)
    return _merge_growing_lists(joint, k, depth)


def _merge_listed_part(
    joint: ConditionedMixture, part: ListedPart, k: int, depth: int
) -> tuple[Ranked, Indices]:
    """Return the best of the listed vectors and of the ``k`` best of all other components."""
    rest = part.best_of_rest(k)
    log_rest = np.maximum(rest.log_prob[:, 0], rest.upper_bound)
    places, left_out = part.contenders(k, max(k, depth), log_rest)
    unseen = np.maximum(rest.upper_bound, left_out)
    labels, log_prob = np.empty_like(rest.labels), np.empty_like(rest.log_prob)
    bound = np.empty(joint.n_rows)
    for block in row_blocks(joint.n_rows, (places.shape[1] + k) * joint.n_labels):
        at = places[block]
        listed = np.where(at[:, :, None] >= 0, part.vectors[at], np.int8(-1))
        both = np.concatenate([listed, rest.labels[block]], axis=1)
        found = _best(joint[block], k, both, unseen[block])
        labels[block], log_prob[block] = found.labels, found.log_prob
        bound[block] = found.upper_bound
    return Ranked(labels, log_prob, bound), (places >= 0).sum(axis=1) + k


def _merge_growing_lists(joint: ConditionedMixture, k: int, depth: int) -> tuple[Ranked, Indices]:
    labels = np.empty((joint.n_rows, k, joint.n_labels), dtype=np.int8)
    log_prob, bound = np.empty((joint.n_rows, k)), np.empty(joint.n_rows)
    listed = np.zeros(joint.n_rows, dtype=np.int64)
    length = min(max(k, FIRST_LENGTH), max(k, depth))
    rows = np.arange(joint.n_rows)
    while len(rows):
        for block in row_blocks(len(rows), len(joint.components) * length * joint.n_labels):
            at = rows[block]
            part = _merged(joint[at], k, length)
            labels[at], log_prob[at], bound[at] = part.labels, part.log_prob, part.upper_bound
            listed[at] += length * len(joint.components)
        rows = rows[bound[rows] > log_prob[rows, -1]]
        if length >= depth:
            break
        length = min(GROWTH * length, depth)
    return Ranked(labels, log_prob, bound), listed


def _merged(joint: ConditionedMixture, k: int, length: int) -> Ranked:
    """Return the best of the components' lists under the mixture, and the bound on all others."""
    lists = [component.top(length) for component in joint.components]
    labels = np.concatenate([ranked.labels for ranked in lists], axis=1)
    return _best(joint, k, labels, joint._mixed([ranked.upper_bound for ranked in lists]))


def _best(joint: ConditionedMixture, k: int, labels: Labels, unseen: Floats) -> Ranked:
    """Return the best ``k`` of (n, m, L) vectors; no other vector is above the bound ``unseen``."""
    log_prob = joint._log_prob_of_draws(np.maximum(labels, 0))
    log_prob[(labels < 0).any(axis=2) | _repeated(labels)] = -np.inf
    unseen = np.minimum(unseen, _rest(joint, log_prob))
    best = np.argsort(-log_prob, axis=1, kind="stable")[:, :k]
    log_prob = np.take_along_axis(log_prob, best, axis=1)
    labels = np.take_along_axis(labels, best[:, :, None], axis=1)
    labels[np.isneginf(log_prob)] = -1
    last = log_prob[:, -1]
    with np.errstate(invalid="ignore"):
        settled = unseen <= last + ROUNDING * (1 + np.abs(last))
    return Ranked(labels, log_prob, np.where(settled, last, np.maximum(unseen, last)))


def _rest(joint: ConditionedMixture, log_prob: Floats) -> Floats:
    """Return what probability is left for vectors not seen, where it is known exactly."""
    rest = np.maximum(1 - np.exp(log_prob).sum(axis=1), 0.0) + ROUNDING
    return np.where(joint.log_prob_error() == 0, np.log(rest), np.inf)


def _repeated(labels: Labels) -> Mask:
    """Which of the (n, m, L) vectors already stand earlier in their row."""
    n, m, _ = labels.shape
    bits = np.packbits(labels > 0, axis=2)
    row = np.broadcast_to(np.arange(n)[:, None], (n, m))[:, :, None]
    keys = np.concatenate([np.ascontiguousarray(row).view(np.uint8), bits], axis=2)
    keys = np.ascontiguousarray(keys.reshape(n * m, -1))
    _, first = np.unique(keys.view(f"V{keys.shape[1]}").ravel(), return_index=True)
    repeated = np.ones(n * m, dtype=np.bool_)
    repeated[first] = False
    return repeated.reshape(n, m)
