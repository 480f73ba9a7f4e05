"""The weights of a tree's edges: the gain of each label from each other label as its parent.

Some rows fit P(y_i | x) and P(y_i | x, y_j) for all pairs of labels, and the other rows weigh each
edge by their gain in log-likelihood, Σ_n w_n log P(y_i | x_n, y_j) / P(y_i | x_n). The fits into
some labels are a block, which this process or the workers of an engine weigh.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.checks import check_whole_number
from labelweave._common.matrices import (
    as_features,
    canonical_csr,
    native_matrix,
    without_empty_columns,
)
from labelweave._common.progress import steps
from labelweave._core import native
from labelweave.logistic.problem import LogisticProblems, as_labels, as_weights
from labelweave.logistic.solver import Solutions, solve_problems
from labelweave.logistic.spreading import block_name, current_workers, n_entries

# The bound on the error of a weight neglects terms beyond second order, so it has to be a little
# below the promised tolerance.
_CAUTION = 0.9
# The Hessian of a fit is factorised again after this many iterations. Factorising costs about as
# much as fifty of them.
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
    """Labels, the points from which their fits start, and their candidate parents, (T, L)."""

    targets: Positions
    start: Floats
    candidates: Mask

    def take(self, positions: Positions) -> EdgeBlock:
        return EdgeBlock(**{name: own[positions] for name, own in vars(self).items()})


class EdgesFound(NamedTuple):
    """Weights of labels alone (T,) and given each candidate (T, L); failures of each label."""

    alone: Floats
    pair: Floats
    n_failed: NDArray[np.int32]


def weigh_blocks(data: EdgeData, block: EdgeBlock, tolerance: float, n_threads: int) -> EdgesFound:
    """Weigh edges here, or in blocks on the workers that `spread_over` names.

    The error of a weight is below the share `tolerance` of it.
    """
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


def weigh_block(*given: Any) -> EdgesFound:
    """Weigh the edges into the labels of a block, given the fields of `EdgeData` one by one.

    They are followed by the block, the tolerance and the number of threads. An engine sends a large
    array only once if it is a separate argument.
    """
    *fields, block, tolerance, n_threads = given
    data = EdgeData(*fields)
    n_labels, targets = len(data.C), block.targets
    start = np.zeros((n_labels, block.start.shape[1]))
    chosen, candidates = np.zeros(n_labels, np.uint8), np.zeros((n_labels, n_labels), np.uint8)
    start[targets], candidates[targets], chosen[targets] = block.start, block.candidates, 1
    alone, pair = np.empty(n_labels), np.empty((n_labels, n_labels))
    n_failed = np.zeros(n_labels, dtype=np.int32)
    native.weigh_edges(
        **data._replace(
            train_x=native_matrix(data.train_x), held_x=native_matrix(data.held_x)
        )._asdict(),
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


# Fits without a parent may be rough, as the other fits start from them and refine them.
_START_TOLERANCE = 1e-4
_LEAST_CURVATURE = 1e-290


class Rows(NamedTuple):
    """A subset of the rows: features, labels (L, n) and positive weights."""

    X: Any
    labels: Labels
    weight: Floats

    def constant(self) -> Mask:
        """Return the mask of labels that take only one value in these rows."""
        n_positive = self.labels.sum(axis=1, dtype=np.int64)
        constant: Mask = (n_positive == 0) | (n_positive == self.labels.shape[1])
        return constant


@dataclass
class Split:
    """Training rows, held-out rows, and the labels' fits without a parent."""

    inside: Rows
    outside: Rows
    C: Floats
    label_penalty: Floats
    alone: Solutions = field(init=False)

    @property
    def n_labels(self) -> int:
        return len(self.C)

    def fit_alone(self, n_threads: int) -> None:
        """Fit every label without a parent, accurately enough to start from."""
        weight = self.inside.weight
        problems = LogisticProblems(
            X=self.inside.X,
            targets=np.ascontiguousarray(self.inside.labels.T),
            target_of=np.arange(self.n_labels, dtype=np.int32),
            C=self.C[:, None],
            weights=None if np.all(weight == 1.0) else weight[:, None],
            total_weight=weight,
        )
        self.alone = solve_problems(problems, tol=_START_TOLERANCE, n_threads=n_threads)

    def score_tests(self) -> Floats:
        """Return the score test of each parent for each label, (L, L).

        The test is twice the decrease of the loss by a Newton step in the parent's coefficient and
        the intercept. The features' part of the step would cost as much as a fit and is left out.
        """
        labels, weight = self.inside.labels.astype(np.float64), self.inside.weight[:, None]
        z = self.inside.X @ self.alone.coef.T + self.alone.intercept
        p = 0.5 * (1.0 + np.tanh(0.5 * z))
        residual, curvature = weight * (p - labels.T), weight * p * (1.0 - p)
        slope, bend = labels @ residual, labels @ curvature
        total = np.maximum(curvature.sum(axis=0), _LEAST_CURVATURE)
        rest = bend - bend**2 / total + self.label_penalty / self.C
        tests: Floats = slope**2 / np.maximum(rest, _LEAST_CURVATURE)
        return tests

    def weigh(self, allowed: Mask, tolerance: float, n_threads: int) -> tuple[Floats, Floats, int]:
        """Return edge weights (L, L), weights without a parent (L,) and how many are inaccurate."""
        constant = self.inside.constant()
        alone = self._constant_weights()
        pair = np.empty((self.n_labels, self.n_labels))  # target by parent
        fit = allowed.T & ~constant[:, None] & ~constant
        targets, n_failed = np.flatnonzero(~constant), 0
        if len(self.outside.weight) and len(targets):
            found = self._weigh(targets, fit, tolerance, n_threads)
            alone[targets], pair[targets] = found.alone, found.pair
            n_failed = int(found.n_failed.sum())
        else:
            fit[:] = False
        # A constant parent adds nothing to a fit, and nothing improves the fit of a constant label.
        weights = np.where(fit, pair, alone[:, None]).T
        return np.ascontiguousarray(weights), alone, n_failed

    def _weigh(self, targets: Positions, fit: Mask, tolerance: float, n_threads: int) -> EdgesFound:
        data = EdgeData(*self.inside, *self.outside, self.C, self.label_penalty)
        start = np.column_stack([self.alone.coef[targets], self.alone.intercept[targets]])
        return weigh_blocks(data, EdgeBlock(targets, start, fit[targets]), tolerance, n_threads)

    def _constant_weights(self) -> Floats:
        """Return the held-out weights of conditionals with an intercept only."""
        b, labels, weight = self.alone.intercept, self.outside.labels, self.outside.weight
        positive = labels.astype(np.float64) @ weight
        negative = (1.0 - labels) @ weight
        weights: Floats = -(positive * np.logaddexp(0.0, -b) + negative * np.logaddexp(0.0, b))
        return weights


def as_splits(
    X: Any,
    Y: ArrayLike,
    C: ArrayLike,
    label_penalty: ArrayLike,
    held_out: Mask,
    sample_weight: ArrayLike | None,
) -> list[Split]:
    """Split the rows of positive weight."""
    features, labels = as_features(X), as_labels(Y)
    n, n_labels = labels.shape
    weight = as_weights(sample_weight)
    total = np.ones(n) if weight is None else weight
    own_C, own_penalty = (
        np.ascontiguousarray(np.broadcast_to(np.asarray(given, dtype=np.float64), (n_labels,)))
        for given in (C, label_penalty)
    )

    def rows(chosen: Mask) -> Rows:
        kept = chosen & (total > 0)
        return Rows(features[kept], np.ascontiguousarray(labels[kept].T), total[kept])

    return [
        Split(*_with_common_features(rows(~held), rows(held)), own_C, own_penalty)
        for held in np.atleast_2d(held_out)
    ]


def _with_common_features(inside: Rows, outside: Rows) -> tuple[Rows, Rows]:
    """Leave out the features that no training row has: their coefficients are zero."""
    X, used = without_empty_columns(inside.X)
    if X is inside.X:
        return inside, outside
    return inside._replace(X=X), outside._replace(X=canonical_csr(outside.X[:, used]))


# With `screen="auto"`, all parents are fitted for up to `_MANY_LABELS` labels, and `_AUTO_SCREEN`
# parents per label beyond.
_MANY_LABELS, _AUTO_SCREEN = 64, 20
#: Accuracy of edge weights that a single tree is learned from, as a share of each weight.
EDGE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class EdgeWeights:
    """Held-out log-likelihood of every label given one other label, and given none.

    ``pair[j, i]`` is the sum over the held-out rows of ``w_n log P(y_i | x_n, y_j)``, and
    ``alone[i]`` the sum of ``w_n log P(y_i | x_n)``. If the pair was not fitted, ``pair[j, i]`` is
    ``alone[i]``.
    """

    pair: Floats
    alone: Floats
    fitted: Mask


def edge_weights(
    X: Any,
    Y: ArrayLike,
    *,
    C: ArrayLike,
    label_penalty: ArrayLike,
    held_out: Mask,
    sample_weight: ArrayLike | None = None,
    candidates: Mask | None = None,
    screen: int | str | None = None,
    tolerance: float = EDGE_TOLERANCE,
    n_threads: int = 1,
) -> EdgeWeights:
    """Fit P(y_i | x, y_j) for all pairs of labels and weigh them on held-out rows.

    `held_out` is of shape (n,) or (splits, n); C and `label_penalty` may be given for each label;
    ``candidates[j, i]`` says whether j may be the parent of i.
    """
    splits = as_splits(X, Y, C, label_penalty, held_out, sample_weight)
    n_labels = splits[0].n_labels
    allowed = ~np.eye(n_labels, dtype=np.bool_)
    if candidates is not None:
        allowed &= candidates
    for split in steps("labels without a parent", splits):
        split.fit_alone(n_threads)
    kept = _screen(screen, n_labels)
    if kept < n_labels - 1:
        allowed = _best(np.sum([split.score_tests() for split in splits], axis=0), allowed, kept)
    weighed = [
        split.weigh(allowed, tolerance, n_threads) for split in steps("weighing edges", splits)
    ]
    n_failed = sum(failed for *_, failed in weighed)
    if n_failed:
        warnings.warn(
            f"{n_failed} of {len(splits) * (int(allowed.sum()) + n_labels)} edge weights are less "
            "accurate than promised: scale the features (for example with sklearn's "
            "StandardScaler), lower C or raise label_penalty",
            ConvergenceWarning,
            stacklevel=2,
        )
    return EdgeWeights(
        pair=np.sum([pair for pair, *_ in weighed], axis=0),
        alone=np.sum([alone for _, alone, _ in weighed], axis=0),
        fitted=allowed,
    )


def _screen(screen: int | str | None, n_labels: int) -> int:
    """Return the maximum number of parents to fit per label."""
    if screen is None:
        return n_labels
    if screen == "auto":
        return n_labels if n_labels <= _MANY_LABELS else _AUTO_SCREEN
    return check_whole_number(screen, "screen", otherwise="None, 'auto'")


def _best(scores: Floats, allowed: Mask, n_kept: int) -> Mask:
    """Keep the allowed parents with the highest scores of each target; ties go to the first."""
    order = np.argsort(np.where(allowed, -scores, np.inf), axis=0, kind="stable")
    kept = np.zeros_like(allowed)
    np.put_along_axis(kept, order[:n_kept], True, axis=0)
    best: Mask = kept & allowed
    return best
