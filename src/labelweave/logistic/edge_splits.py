"""One split of the data into rows that fit the conditionals and rows that weigh the edges."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.features import as_features, canonical_csr, without_empty_columns
from labelweave.logistic.edge_blocks import EdgeBlock, EdgeData, EdgesFound, weigh_blocks
from labelweave.logistic.problem import LogisticProblems, as_labels, as_weights
from labelweave.logistic.solver import Solutions, solve_problems

# Fits without a parent may be rough: the other fits start from them and finish them on the way.
_START_TOLERANCE = 1e-4
_LEAST_CURVATURE = 1e-290


@dataclass(frozen=True)
class Rows:
    """A subset of the rows: features, labels (L, n) and positive weights."""

    X: Any
    labels: Labels
    weight: Floats

    def constant(self) -> Mask:
        """Return which labels take only one value in these rows."""
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
        """Number of labels L."""
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
        """Return the score test of each parent for each label, (L, L): a cheap second-order gain.

        Twice the decrease of the loss by a Newton step in the parent's coefficient and the
        intercept. The features' part of the step is left out: it would cost as much as a fit.
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
        data = EdgeData(
            train_x=self.inside.X,
            train_labels=self.inside.labels,
            train_weights=self.inside.weight,
            held_x=self.outside.X,
            held_labels=self.outside.labels,
            held_weights=self.outside.weight,
            C=self.C,
            label_penalty=self.label_penalty,
        )
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
    held_out: ArrayLike,
    sample_weight: ArrayLike | None,
) -> list[Split]:
    """Check the arguments of `edge_weights` and split the rows of positive weight."""
    features, labels = as_features(X), as_labels(Y)
    n, n_labels = labels.shape
    if features.ndim != 2 or features.shape[0] != n:
        raise ValueError(f"X must have {n} rows, like Y; its shape is {features.shape}")
    weight = as_weights(sample_weight)
    total = np.ones(n) if weight is None else weight
    if total.shape != (n,) or not np.all(np.isfinite(total)) or np.any(total < 0):
        raise ValueError(f"sample_weight must hold {n} finite, non-negative numbers")
    outside = np.atleast_2d(np.asarray(held_out))
    if outside.dtype != bool or outside.ndim != 2 or outside.shape[1] != n or not len(outside):
        raise ValueError(
            f"held_out must be boolean, of shape ({n},) or (splits, {n}); "
            f"got {outside.dtype} of shape {np.shape(held_out)}"
        )
    C = _per_label(C, n_labels, "C", positive=True)
    label_penalty = _per_label(label_penalty, n_labels, "label_penalty", positive=False)

    def rows(chosen: Mask) -> Rows:
        kept = chosen & (total > 0)
        return Rows(features[kept], np.ascontiguousarray(labels[kept].T), total[kept])

    return [
        Split(*_with_common_features(rows(~held), rows(held)), C, label_penalty) for held in outside
    ]


def _with_common_features(inside: Rows, outside: Rows) -> tuple[Rows, Rows]:
    """Leave out the features that no training row has: their coefficients are zero."""
    X, used = without_empty_columns(inside.X)
    if X is inside.X:
        return inside, outside
    return replace(inside, X=X), replace(outside, X=canonical_csr(outside.X[:, used]))


def _per_label(value: ArrayLike, n_labels: int, name: str, *, positive: bool) -> Floats:
    given = np.asarray(value, dtype=np.float64)
    if given.shape not in ((), (n_labels,)):
        raise ValueError(f"{name} must be a number or one number per label ({n_labels})")
    if not np.all(np.isfinite(given)) or np.any(given < 0) or (positive and np.any(given == 0)):
        kind = "positive" if positive else "non-negative"
        raise ValueError(f"{name} must be finite and {kind}; got {value!r}")
    return np.ascontiguousarray(np.broadcast_to(given, (n_labels,)))
