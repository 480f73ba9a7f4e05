"""Searches that every form has: by enumeration, label by label, and for the k best vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Indices
from labelweave.joint.capabilities import ListsVectors
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks, tables
from labelweave.joint.results import Mode, Ranked, certified

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointDistribution


def require_few_labels(joint: JointDistribution, max_labels: int) -> None:
    """Refuse to look at all vectors of a row with more than ``max_labels`` unknown labels."""
    unknown = int(joint.n_unknown.max(initial=0))
    if unknown > max_labels:
        raise ValueError(
            f"exact search for the mode would look at 2^{unknown} label vectors and is limited "
            f"to {max_labels} unknown labels: use inference=Greedy() or Auto(), or a larger "
            "limit with inference=Exhaustive(max_labels=...)"
        )


def enumerated_mode(joint: JointDistribution, max_labels: int) -> Mode:
    """Return the mode by looking at all vectors of at most ``max_labels`` unknown labels."""
    require_few_labels(joint, max_labels)
    labels = np.empty((joint.n_rows, joint.n_labels), dtype=np.int8)
    log_prob = np.empty(joint.n_rows)
    for rows, enumeration in tables(joint):
        labels[rows], log_prob[rows] = enumeration.best()
    return Mode(labels, log_prob, log_prob.copy())


def greedy_by_evidence(joint: JointDistribution) -> Mode:
    """Return, label by label, the likelier value given the values chosen before."""
    chosen = joint.known.copy()
    for label in range(joint.n_labels):
        open_rows = chosen[:, label] < 0
        score = []
        for value in (0, 1):
            chosen[open_rows, label] = value
            score.append(joint._evidence_log_prob(chosen).value)
        chosen[open_rows, label] = (score[1] > score[0])[open_rows]
    exact = np.ones(joint.n_rows, dtype=np.bool_)
    return certified(chosen, joint._log_prob(chosen), np.zeros(joint.n_rows), exact)


def top(joint: JointDistribution, k: int) -> Ranked:
    """Return the k best vectors: from tables where they are small enough, else by search."""
    labels = np.empty((joint.n_rows, k, joint.n_labels), dtype=np.int8)
    log_prob = np.empty((joint.n_rows, k))
    upper_bound = np.empty(joint.n_rows)
    for rows, part in _top_of_parts(joint, k):
        labels[rows] = part.labels
        log_prob[rows] = part.log_prob
        upper_bound[rows] = part.upper_bound
    return Ranked(labels, log_prob, upper_bound)


def _top_of_parts(joint: JointDistribution, k: int) -> Iterator[tuple[Indices, Ranked]]:
    few = joint.n_unknown <= MAX_ENUMERATED
    enumerable, long = np.flatnonzero(few), np.flatnonzero(~few)
    for rows, enumeration in tables(joint[enumerable]):
        yield enumerable[rows], enumeration.top(k)
    # A search holds some multiple of the vectors it returns, and at least some hundred per row.
    for block in row_blocks(len(long), 4 * (k + 64) * joint.n_labels):
        part = joint[long[block]]
        if not isinstance(part, ListsVectors):
            raise NotImplementedError(
                f"top needs the vectors of rows with more than {MAX_ENUMERATED} unknown labels "
                f"listed by a search, and {type(joint).__name__} has none: give it the method "
                "list_vectors (labelweave.joint.capabilities.ListsVectors)"
            )
        yield long[block], part.list_vectors(k)
