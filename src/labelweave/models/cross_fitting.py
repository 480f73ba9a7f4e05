"""Held-out scores of an estimator: what it makes of training rows that it has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from labelweave._common.arrays import Floats, Labels
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds
from labelweave.decision.probabilities import Scores, joined
from labelweave.decision.rules import ThresholdRule
from labelweave.decision.tuned import LabelledScores

if TYPE_CHECKING:
    from labelweave.models.base import MultiLabelClassifier

#: Folds by which an estimator holds out rows to tune its decision on.
N_FOLDS = 5


def cross_fitted_scores(
    model: MultiLabelClassifier,
    rule: ThresholdRule,
    X: Any,
    labels: Labels,
    weight: Floats | None,
    *,
    seed: int,
    named: Callable[[Labels], Any] = lambda labels: labels,
) -> LabelledScores | None:
    """Return what `rule` sees of each row if the model is fitted to the other folds.

    Rows are dealt into `N_FOLDS` folds by their content: their order does not matter, and equal
    rows share a fold. None if all rows are equal, so that none can be held out.
    """
    total = np.ones(len(labels)) if weight is None else weight
    fold, n_folds = assign_folds(X, total, N_FOLDS, seed)
    if n_folds < 2:
        return None
    scores: list[Scores] = []
    with stage("holding rows out", n_folds) as advance:
        for k in range(n_folds):
            rest, here = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            weights = {} if weight is None else {"sample_weight": weight[rest]}
            fitted = clone(model).fit(X[rest], named(labels[rest]), **weights)
            scores.append(_scores(fitted, rule, X[here]))
            advance()
    place = np.argsort(np.argsort(fold, kind="stable"), kind="stable")
    return LabelledScores(joined(scores)[place], labels, total)


def _scores(model: MultiLabelClassifier, rule: ThresholdRule, X: Any) -> Scores:
    if "joint" in rule.needs:
        return rule.scored(model.predict_joint(X)).scores
    return model.scored(X).scores
