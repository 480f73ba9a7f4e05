"""Joint distributions of training rows, by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.engine import processes
from labelweave.decision.probabilities import Scores, joined
from labelweave.evaluation.calibration.temperature import SAMPLES
from labelweave.evaluation.joint_estimators import fold_estimator, joint_of
from labelweave.joint import JointDistribution
from labelweave.models.base_classifier import with_weight

__all__ = ["HeldOutJoints", "held_out_joints"]


@dataclass(frozen=True)
class HeldOutJoints:
    """What models make of rows that they have not seen, fold by fold, and the truth.

    Attributes
    ----------
    joints : list of JointDistribution
        Those of each fold.
    labels : (n, L) array of 0/1
        Of the rows of all folds, one fold after the other.
    weight : (n,) array
    rows : (n,) array of int, optional
        Which training rows these are: a splitter may hold out a row in several folds.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.array([[2.0], [np.inf]]))
    >>> held_out = HeldOutJoints([joint], np.array([[1], [0]], dtype=np.int8), np.ones(2))
    >>> round(held_out.log_likelihood(2.0), 4), held_out.log_loss(2.0)
    (-0.3133, inf)
    """

    joints: list[JointDistribution]
    labels: Labels
    weight: Floats
    rows: Positions | None = None

    def _places(self) -> Iterator[slice]:
        ends = np.cumsum([joint.n_rows for joint in self.joints])
        for joint, end in zip(self.joints, ends.tolist(), strict=True):
            yield slice(end - joint.n_rows, end)

    def folds(self) -> Iterator[tuple[slice, Indices]]:
        """Iterate over the places of each fold, and those of other rows, if there are several."""
        rows = np.arange(len(self.labels)) if self.rows is None else self.rows
        for place in self._places() if len(self.joints) > 1 else ():
            yield place, np.flatnonzero(~np.isin(rows, rows[place]))

    def gathered(self, function: Callable[[JointDistribution], Scores]) -> Scores:
        """Return a function of the joint distributions for the rows of all folds."""
        return joined([function(joint) for joint in self.joints])

    def _log_prob(self, temperature: float, samples: int = 1024) -> Floats:
        return np.concatenate(
            [
                joint.tempered(temperature, samples=samples).log_prob(self.labels[place])
                for joint, place in zip(self.joints, self._places(), strict=True)
            ]
        )

    def log_likelihood(self, temperature: float) -> float:
        """Return that of the vectors that are possible: for the others no temperature matters."""
        log_prob = self._log_prob(temperature, SAMPLES)
        return float(self.weight @ np.where(np.isfinite(log_prob), log_prob, 0.0))

    def n_impossible(self) -> int:
        """Return the number of rows whose labels have probability zero."""
        return int(np.isneginf(self._log_prob(1.0)).sum())

    def log_loss(self, temperature: float) -> float:
        """Return the mean of −log P(y|x)."""
        # 0.0 − x, so that the loss of a perfect joint is 0 and not −0.
        return 0.0 - float(np.average(self._log_prob(temperature), weights=self.weight))


def held_out_joints(
    model: Any,
    X: Any,
    labels: Labels,
    weight: Floats | None,
    folds: list[tuple[Mask, Positions]],
    *,
    n_jobs: int | None = None,
    named: Callable[[Labels], Any] = lambda labels: labels,
) -> HeldOutJoints:
    """Return what copies of a model, fitted to other rows, make of the rows of each fold.

    Parameters
    ----------
    model : estimator of P(y|x), or pipeline
        Fitted to all rows: its copies have the penalties that were chosen there. A
        ``FrozenEstimator``, which has seen none of them, is not fitted again.
    X : (n, D) array or CSR matrix
    labels : (n, L) array of 0/1
    weight : (n,) array or None
    folds : list of (mask, rows)
        Which rows a copy is fitted to, and which are held out.
    n_jobs : int, optional
        Number of folds fitted at a time.
    named : callable, optional
        Turns labels into what the model is fitted to.
    """
    if isinstance(model, FrozenEstimator):
        models = [model for _ in folds]
    else:
        estimator = fold_estimator(model)
        models = processes(n_jobs)(
            delayed(_fitted)(
                estimator, X[train], named(labels[train]), None if weight is None else weight[train]
            )
            for train in (np.flatnonzero(inside) for inside, _ in folds)
        )
    joints = [joint_of(fitted, X[rows]) for fitted, (_, rows) in zip(models, folds, strict=True)]
    rows = np.concatenate([rows for _, rows in folds])
    return HeldOutJoints(
        joints, labels[rows], np.ones(len(rows)) if weight is None else weight[rows], rows
    )


def _fitted(estimator: Any, X: Any, y: Any, weight: Floats | None) -> Any:
    return clone(estimator).fit(X, y, **with_weight(estimator, weight))
