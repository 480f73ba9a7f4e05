"""Candidates, and what they make of rows that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.pipelines import last_step
from labelweave.decision import ThresholdRule
from labelweave.decision.probabilities import Scores, joined
from labelweave.evaluation.metrics.registry import Metric
from labelweave.evaluation.predictions import predict_joint, score_model
from labelweave.models.base_classifier import weight_parameter

__all__ = ["Trial"]

_NOTHING = np.empty(0)


@dataclass(frozen=True)
class Trial:
    """What became of a candidate.

    Attributes
    ----------
    name : str
    scores : tuple of float
        The score of each fold that was tried, the higher the better: of one fold only if the
        candidate was given up, so that its mean does not compare with others.
    seconds : float
    problem : str
        Why it was not tried on all folds; empty if it was.

    Examples
    --------
    >>> Trial("pcc", (-2.0, -2.5)).score
    -2.25
    """

    name: str
    scores: tuple[float, ...]
    seconds: float = 0.0
    problem: str = ""

    @property
    def score(self) -> float:
        """The mean score; -inf without scores, or if they are not numbers."""
        mean = float(np.mean(self.scores)) if self.scores else -np.inf
        return -np.inf if np.isnan(mean) else mean

    @property
    def standard_error(self) -> float:
        """The standard error of the mean score, over folds; NaN with fewer than two."""
        if len(self.scores) < 2 or not np.isfinite(self.scores).all():
            return float("nan")
        return float(np.std(self.scores, ddof=1) / np.sqrt(len(self.scores)))


class HeldOutFold(NamedTuple):
    """What a candidate that was fitted to all folds but one makes of that one.

    Attributes
    ----------
    score : float
        The higher the better.
    log_prob : (m,) array
        Log-probability of the labels of each row; empty where a metric is the score.
    evidence : (m, L) array or Probabilities
        What a rule sees of the rows that is to be tuned; empty if there is none.
    """

    score: float
    log_prob: Floats = _NOTHING
    evidence: Scores = _NOTHING


class TrainingData(NamedTuple):
    """Rows, labels and weights."""

    X: Any
    labels: Labels
    weight: Floats | None

    def taken(self, rows: Mask) -> TrainingData:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return TrainingData(self.X[rows], self.labels[rows], weight)


def judge_fold(
    estimator: Any,
    data: TrainingData,
    outside: Mask,
    metric: Metric | None,
    rule: ThresholdRule | None,
) -> HeldOutFold:
    """Fit a clone to the rows inside, and judge it by those outside.

    Parameters
    ----------
    estimator : estimator of P(y|x), or pipeline that ends in one
    data : TrainingData
    outside : (n,) array of bool
    metric : Metric or None
        What the score is; None for the mean log-likelihood of a row.
    rule : ThresholdRule or None
        A rule that is to be tuned on the rows outside.
    """
    inside, (X, truth, weight) = data.taken(~outside), data.taken(outside)
    if metric is not None:
        value = score_model(fitted(estimator, inside), X, truth, [metric])[0][metric.name]
        return HeldOutFold(value if metric.higher_is_better else -value)
    joint: Any = predict_joint(fitted(without_tuning(estimator), inside), X)
    log_prob = joint.log_prob(truth)
    log_prob = np.where(np.isnan(log_prob), -np.inf, log_prob)
    evidence = _NOTHING if rule is None else rule.evidence(joint).scores
    return HeldOutFold(float(np.average(log_prob, weights=weight)), log_prob, evidence)


def without_tuning(estimator: Any) -> Any:
    """Return a clone whose decision needs no held-out rows."""
    cloned = clone(estimator)
    last_step(cloned).set_params(decision="hamming")
    return cloned


def fitted(estimator: Any, data: TrainingData) -> Any:
    """Return a fitted clone; weights go to the steps of a pipeline that take them."""
    model = clone(estimator)
    X, labels, weight = data
    if weight is None:
        return model.fit(X, labels)
    if weight_parameter(model) is None:
        name = type(last_step(model)).__name__
        raise ValueError(f"sample_weight was given, but {name} does not support it")
    return model.fit(X, labels, **dict.fromkeys(_weight_parameters(model), weight))


def _weight_parameters(model: Any) -> list[str]:
    """Return the names under which `fit` hands weights to every step that takes them."""
    if isinstance(model, Pipeline):
        return [f"{name}__{own}" for name, step in model.steps for own in _weight_parameters(step)]
    takes_weights = hasattr(model, "fit") and has_fit_parameter(model, "sample_weight")
    return ["sample_weight"] if takes_weights else []


def by_row(parts: Sequence[Scores], held_out: Sequence[Mask]) -> Scores:
    """Return what folds say about their rows in the order of all rows."""
    rows = np.concatenate([np.flatnonzero(outside) for outside in held_out])
    return joined(parts)[np.argsort(rows)]
