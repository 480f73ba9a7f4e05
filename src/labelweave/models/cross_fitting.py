"""Cross-fitting: each row is judged by a fit to the other folds.

`cross_fit` makes the fits, and `CrossFit.gather` brings their parts into the order of the rows.
Estimators around other estimators build on it, and share the checks of the inner estimator.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from labelweave._common.arrays import Floats, Labels, Positions
from labelweave._common.engine import processes
from labelweave._common.folds import Fold, deal
from labelweave._common.pipelines import fit_arguments, inside
from labelweave._common.progress import stage
from labelweave._common.row_keys import row_keys
from labelweave.decision.probabilities import Probabilities, Scores, joined, like
from labelweave.decision.rules import ThresholdRule
from labelweave.decision.tuned import LabelledScores
from labelweave.joint import JointDistribution
from labelweave.models.predictions import predict_joint

if TYPE_CHECKING:
    from labelweave.models.base import MultiLabelClassifier

#: Folds by which an estimator holds out rows to tune its decision on.
N_FOLDS = 5


def _unnamed(labels: Labels) -> Labels:
    return labels


@dataclass(frozen=True)
class TrainingData:
    """Rows, labels and weights; `named` gives labels the names that the user's y has."""

    X: Any
    labels: Labels
    weight: Floats | None
    named: Callable[[Labels], Any] = _unnamed

    def taken(self, rows: Positions) -> TrainingData:
        weight = None if self.weight is None else self.weight[rows]
        return TrainingData(self.X[rows], self.labels[rows], weight, self.named)

    def fitted(self, estimator: Any, rows: Positions | None = None) -> Any:
        """Return a clone of an estimator, fitted to some of the rows or to all."""
        part = self if rows is None else self.taken(rows)
        arguments = fit_arguments(estimator, part.weight)
        return clone(estimator).fit(part.X, self.named(part.labels), **arguments)


@dataclass(frozen=True)
class CrossFit:
    """One part for each fold: the model that has not seen its rows, or a score of these rows."""

    parts: list[Any]
    folds: list[Fold]

    @property
    def rows(self) -> Positions:
        """The held-out rows, one fold after the other."""
        return np.concatenate([fold.held_out for fold in self.folds])

    def numbers(self, n_rows: int) -> Positions:
        """Return the number of each row's fold, where each row is in one."""
        number = np.zeros(n_rows, dtype=np.intp)
        for k, fold in enumerate(self.folds):
            number[fold.held_out] = k
        return number

    def scored(self, score: Callable[[Any, Positions], Any]) -> CrossFit:
        """Return the scores that the parts give to their held-out rows."""
        pairs = zip(self.parts, self.folds, strict=True)
        return CrossFit([score(part, fold.held_out) for part, fold in pairs], self.folds)

    def map(self, function: Callable[[Any], Any]) -> CrossFit:
        return CrossFit([function(part) for part in self.parts], self.folds)

    def gather(self, n_rows: int) -> Scores:
        """Return the values of all rows, (n, ...), from parts that have them for their rows.

        A row that is held out several times gets the mean, a row that never is gets NaN.
        """
        scores = joined(self.parts)
        values = scores.log_odds if isinstance(scores, Probabilities) else scores
        total = np.zeros((n_rows, *values.shape[1:]))
        times = np.bincount(self.rows, minlength=n_rows)
        np.add.at(total, self.rows, values)
        total[times > 1] /= times[times > 1].reshape(-1, *[1] * (values.ndim - 1))
        total[times == 0] = np.nan
        return like(scores, total)


def cross_fit(
    fit: Callable[[Positions], Any],
    folds: Sequence[Fold],
    score: Callable[[Any, Positions], Any] | None = None,
    *,
    n_jobs: int | None = 1,
    name: str = "holding rows out",
) -> CrossFit:
    """Fit a model to the training rows of each fold, and score the held-out rows in the same call.

    The parts are the models if there is no `score`. `name` is the stage that progress bars show.
    """
    calls = [delayed(_fit_and_score)(fit, score, fold) for fold in folds]
    return CrossFit(run_fits(calls, n_jobs, name), list(folds))


def _fit_and_score(
    fit: Callable[[Positions], Any], score: Callable[[Any, Positions], Any] | None, fold: Fold
) -> Any:
    model = fit(fold.train)
    return model if score is None else score(model, fold.held_out)


def run_fits(calls: Iterable[Any], n_jobs: int | None, name: str) -> list[Any]:
    """Run joblib's delayed calls, `n_jobs` at a time, as steps of a stage."""
    calls = list(calls)
    try:
        parallel = processes(n_jobs, return_as="generator")
    except ValueError:  # joblib's multiprocessing returns all results at once
        parallel = processes(n_jobs)
    results = []
    with stage(name, len(calls)) as advance:
        for result in parallel(calls):
            results.append(result)
            advance()
    return results


def cross_fitted_scores(
    model: MultiLabelClassifier,
    rule: ThresholdRule,
    X: Any,
    labels: Labels,
    weight: Floats | None,
    *,
    seed: int,
    named: Callable[[Labels], Any] = _unnamed,
) -> LabelledScores | None:
    """Return the scores by which `rule` decides about each row, from fits to the other folds.

    None if all rows are equal, so that none can be held out.
    """
    folds = deal(N_FOLDS, X, labels, weight, seed)
    if not folds:
        return None
    fit = partial(TrainingData(X, labels, weight, named).fitted, model)
    held_out = cross_fit(fit, folds, lambda fitted, rows: _scores(fitted, rule, X[rows]))
    total = np.ones(len(labels)) if weight is None else weight
    return LabelledScores(held_out.gather(len(labels)), labels, total)


def _scores(model: MultiLabelClassifier, rule: ThresholdRule, X: Any) -> Scores:
    if "joint" in rule.needs:
        return rule.scored(model.predict_joint(X)).scores
    return model.scored(X).scores


def check_wrapped(estimator: Any, *, refused: tuple[type, ...] = ()) -> Any:
    """Return the estimator inside another one; ValueError if it does not learn P(y|x)."""
    inner = None if isinstance(estimator, type) else inside(estimator).model
    if not hasattr(inner, "predict_joint"):
        raise ValueError(
            "estimator must be an estimator of P(y|x), such as ClassifierChain(), or a "
            f"pipeline that ends in one; got {estimator!r}. JointClassifierCV makes one of any "
            "classifier (on the command line: weave)"
        )
    if isinstance(inner, refused):
        raise ValueError(
            f"estimator is calibrated already, as {type(inner).__name__}: calibrate "
            "the estimator inside it instead. To have sets of label vectors from calibrated "
            "probabilities, write ConformalClassifier(CalibratedJointCV())"
        )
    if getattr(estimator, "refit", True) is False:
        raise ValueError(
            f"estimator is a search that keeps no model: set refit=True in {estimator!r}"
        )
    return estimator


def check_frozen(model: FrozenEstimator, owner: MultiLabelClassifier) -> None:
    """Refuse a frozen model whose features and labels are not those that its owner is fitted to."""
    n_labels, inner = owner.n_labels_, inside(model).model
    if inner.n_labels_ != n_labels:
        raise ValueError(f"y has {n_labels} labels, but estimator was fitted to {inner.n_labels_}")
    ours, its = owner.label_encoding, inner.label_encoding
    if None not in (ours.names, its.names) and ours.names != its.names:
        raise ValueError(
            f"y has the labels {list(ours.names or ())}, but estimator was fitted to "
            f"{list(its.names or ())}: give them in that order, as in y[estimator.label_names_in_]"
        )
    if ours.single and its.single and not np.array_equal(ours.classes, its.classes):
        raise ValueError(
            f"y has the classes {ours.classes.tolist()}, but estimator was fitted to "
            f"{its.classes.tolist()}: rows of both are needed"
        )
    _check_features(model, owner)


def _check_features(model: FrozenEstimator, owner: MultiLabelClassifier) -> None:
    its = getattr(model, "feature_names_in_", None)
    if its is None:
        return
    ours = getattr(owner, "feature_names_in_", None)
    if len(its) != owner.n_features_in_ or (ours is not None and list(ours) != list(its)):
        raise ValueError(
            f"X must have the {len(its)} features that estimator was fitted to, in their order, "
            "as in X[estimator.feature_names_in_]"
        )
    if ours is None:
        warnings.warn(
            "X has no feature names, but estimator was fitted with them: its columns are taken to "
            "be in the same order",
            UserWarning,
            stacklevel=2,
        )


def joint_of(model: Any, X: Any) -> JointDistribution:
    """Return P(y|x) of a model or pipeline; random draws are keyed by the features as given."""
    named, names = X, getattr(model, "feature_names_in_", None)
    # A frozen model may have been fitted with names, which validated rows have lost.
    if names is not None and isinstance(model, FrozenEstimator) and isinstance(X, np.ndarray):
        import pandas as pd

        named = pd.DataFrame(X, columns=names)
    joint: Any = predict_joint(model, named)
    return joint.with_row_ids(row_keys(X))  # type: ignore[no-any-return]
