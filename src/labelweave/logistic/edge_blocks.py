"""Edges into some labels as the kernel takes them, weighed here or on the workers of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.features import native_matrix
from labelweave._core import native
from labelweave.logistic.spreading import block_name, current_workers, n_entries

# Terms beyond second order are neglected in the bound on the error of a weight: it has to be a
# little below what is promised.
_CAUTION = 0.9
# Iterations of one fit before its Hessian is factorised again, which costs about as much as fifty.
_MAX_ITERATIONS = 100


class EdgeData(NamedTuple):
    """The rows that fit (`train`) and those that weigh (`held`); labels are (L, n)."""

    train_x: Any
    train_labels: Labels
    train_weights: Floats
    held_x: Any
    held_labels: Labels
    held_weights: Floats
    C: Floats
    label_penalty: Floats


@dataclass(frozen=True)
class EdgeBlock:
    """The labels to weigh the edges into: where their fits start, and their candidates, (T, L)."""

    targets: Positions
    start: Floats
    candidates: Mask

    def take(self, positions: Positions) -> EdgeBlock:
        """Return some of the labels."""
        return EdgeBlock(**{name: own[positions] for name, own in vars(self).items()})


class EdgesFound(NamedTuple):
    """Weights of labels alone (T,) and given each candidate (T, L); failures of each label."""

    alone: Floats
    pair: Floats
    n_failed: NDArray[np.int32]


def weigh_blocks(data: EdgeData, block: EdgeBlock, tolerance: float, n_threads: int) -> EdgesFound:
    """Weigh edges here, or in blocks on the workers that `spread_over` names."""
    workers = current_workers()
    if workers is not None:
        # Frequent labels take longest.
        n_positive = data.train_labels[block.targets].sum(axis=1, dtype=np.int64)
        n_fits = block.candidates.sum() / len(block.targets)
        work = n_fits * (n_entries(data.train_x) + len(data.train_weights))
        parts = workers.deal(np.argsort(-n_positive, kind="stable"), work)
        if len(parts) > 1:
            calls = [
                (block_name(own.targets), (own, tolerance, 1))
                for own in (block.take(part) for part in parts)
            ]
            found = workers.run(weigh_block, data, calls)
            places = np.argsort(np.concatenate(parts))
            return EdgesFound(*(np.concatenate(of)[places] for of in zip(*found, strict=True)))
    return weigh_block(*data, block, tolerance, n_threads)


def weigh_block(
    train_x: Any,
    train_labels: Labels,
    train_weights: Floats,
    held_x: Any,
    held_labels: Labels,
    held_weights: Floats,
    C: Floats,
    label_penalty: Floats,
    block: EdgeBlock,
    tolerance: float,
    n_threads: int,
) -> EdgesFound:
    """Weigh the edges into the labels of a block, to this share of each weight."""
    n_labels, targets = len(C), block.targets
    start = np.zeros((n_labels, block.start.shape[1]))
    chosen, candidates = np.zeros(n_labels, np.uint8), np.zeros((n_labels, n_labels), np.uint8)
    start[targets], candidates[targets], chosen[targets] = block.start, block.candidates, 1
    alone, pair = np.empty(n_labels), np.empty((n_labels, n_labels))
    n_failed = np.zeros(n_labels, dtype=np.int32)
    native.weigh_edges(
        train_x=native_matrix(train_x),
        held_x=native_matrix(held_x),
        train_labels=train_labels,
        held_labels=held_labels,
        train_weights=train_weights,
        held_weights=held_weights,
        C=C,
        label_penalty=label_penalty,
        start=start,
        targets=chosen,
        candidates=candidates,
        tolerance=_CAUTION * tolerance,
        max_iterations=_MAX_ITERATIONS,
        n_threads=n_threads,
        alone=alone,
        pair=pair,
        n_failed=n_failed,
    )
    return EdgesFound(alone[targets], pair[targets], n_failed[targets])
