"""Conditionals of any kind: linear ones, classifiers with additive log-odds, any classifier.

Any scikit-learn classifier as the conditional of a label.

Classifiers with additive log-odds, as linear conditionals.

Logistic regression and naive Bayes for binary features and counts have log-odds ``w·x + b``; those
of Gaussian naive Bayes are linear in the features and their squares. A label of 0/1 equals its
square, so labels enter all of them linearly: a chain of such classifiers is a linear chain, which
the compiled kernels search.

What models of linear conditionals have in common, whatever their structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.utils import check_random_state

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.engine import processes
from labelweave._common.pipelines import fit_arguments
from labelweave.joint.enumeration import row_blocks
from labelweave.logistic.conditionals import LabelGraph, LinearConditionals

# Largest loss of a single row when edges are weighed: a probability of about 1e-6.
_LARGEST_LOSS = 14.0


class ConstantConditional:
    """The conditional of a label with a single class in training: its smoothed frequency.

    Parameters
    ----------
    log_odds : float
    """

    def __init__(self, log_odds: float) -> None:
        self.log_odds = log_odds


def fit_estimators(
    estimator: Any,
    X: Any,
    labels: Labels,
    graph: LabelGraph,
    sample_weight: Floats | None,
    random_state: Any,
    n_jobs: int | None,
) -> list[Any]:
    """Fit a clone of `estimator` for each label j on [X, labels of its parents]."""
    check_base_classifier(estimator, sample_weight)
    random = check_random_state(random_state)
    seeds = random.randint(2**31 - 1, size=labels.shape[1])
    return list(
        processes(n_jobs)(
            delayed(_fit_one)(
                estimator, with_labels(X, labels, parent), labels[:, j], sample_weight, s
            )
            for j, (parent, s) in enumerate(zip(graph.parents, seeds, strict=True))
        )
    )


def check_base_classifier(estimator: Any, sample_weight: Floats | None) -> None:
    """Refuse an `estimator` that cannot be the conditional of a label."""
    if isinstance(estimator, type):
        raise ValueError(
            f"estimator must be a classifier, not a class: write {estimator.__name__}()"
        )
    is_estimator = hasattr(estimator, "__sklearn_tags__")
    if not is_estimator or not is_classifier(estimator) or not hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"estimator must be a scikit-learn classifier with predict_proba; got {estimator!r}. "
            "Wrap it, e.g. in sklearn.calibration.CalibratedClassifierCV, if it has none"
        )
    fit_arguments(estimator, sample_weight)  # an error if there are weights that it does not take


def with_class_weight(estimator: Any, class_weight: Any) -> Any:
    """Return the base classifier with `class_weight` set as its own parameter."""
    if class_weight is None:
        return estimator
    if "class_weight" not in estimator.get_params(deep=False):
        raise ValueError(
            f"class_weight was given, but estimator {estimator!r} has no such "
            "parameter: weight the classes in the way that estimator offers"
        )
    return clone(estimator).set_params(class_weight=class_weight)


def _fit_one(estimator: Any, X: Any, target: Labels, weight: Floats | None, seed: int) -> Any:
    mass = np.ones(len(target)) if weight is None else weight
    positive, negative = mass[target == 1].sum(), mass[target == 0].sum()
    if positive == 0 or negative == 0:
        return ConstantConditional(float(np.log((positive + 1) / (negative + 1))))
    arguments = fit_arguments(estimator, weight)
    return seeded_clone(estimator, seed).fit(X, target.astype(np.int64), **arguments)


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Return a clone of `estimator` with every unset `random_state` set to `seed`."""
    cloned = clone(estimator)
    seeded = {k: int(seed) for k, v in cloned.get_params().items() if _is_open_seed(k, v)}
    return cloned.set_params(**seeded)


def _is_open_seed(name: str, value: Any) -> bool:
    return name.rpartition("__")[2] == "random_state" and value is None


def classifier_edge_weights(
    estimator: Any,
    X: Any,
    labels: Labels,
    held_out: Mask,
    candidates: Mask,
    sample_weight: Floats | None,
    random_state: Any,
    n_jobs: int | None,
) -> tuple[Floats, Floats]:
    """Return the held-out log-likelihood of each label given each candidate parent, and given none.

    The weights are defined as in `labelweave.logistic.edges.edge_weights`, but by fits of
    `estimator`: ``pair[j, i]`` for parent j of label i, and ``alone[i]``.
    """
    check_base_classifier(estimator, sample_weight)
    n_labels = labels.shape[1]
    parents = [
        (target, parent)
        for target in range(n_labels)
        for parent in (-1, *np.flatnonzero(candidates[:, target]))
    ]
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_labels)
    found = processes(n_jobs)(
        delayed(_edge_weight)(
            estimator, X, labels, target, parent, held_out, sample_weight, seeds[target]
        )
        for target, parent in parents
    )
    weights = dict(zip(parents, found, strict=True))
    alone = np.array([weights[target, -1] for target in range(n_labels)])
    pair = np.tile(alone, (n_labels, 1))
    for (target, parent), weight in weights.items():
        if parent >= 0:
            pair[parent, target] = weight
    return pair, alone


def _edge_weight(
    estimator: Any,
    X: Any,
    labels: Labels,
    target: int,
    parent: int,
    held_out: Mask,
    sample_weight: Floats | None,
    seed: int,
) -> float:
    columns = np.array([parent] if parent >= 0 else [], dtype=np.int64)
    extended = with_labels(X, labels, columns)
    total = 0.0
    for outside in held_out:
        weight = None if sample_weight is None else sample_weight[~outside]
        fitted = _fit_one(estimator, extended[~outside], labels[~outside, target], weight, seed)
        log_odds = classifier_log_odds(fitted, extended[outside])
        sign = 2.0 * labels[outside, target] - 1.0
        # A classifier that is certain and wrong has a large loss, but not an infinite one.
        loss = np.minimum(np.logaddexp(0.0, -sign * log_odds), _LARGEST_LOSS)
        total -= float(loss.sum() if sample_weight is None else loss @ sample_weight[outside])
    return total


def chain_log_odds(
    estimator: Any,
    X: Any,
    rows: Indices,
    prefix: Labels,
    parents: Indices,
) -> Floats:
    """Return the log-odds of the next label after `prefix`, one for each of `rows`.

    An enumeration repeats every row many times, so the repeated features are built block by block.
    """
    out = np.empty(len(rows))
    for block in row_blocks(len(rows), X.shape[1] + len(parents)):
        extended = with_labels(X[rows[block]], prefix[block], parents)
        out[block] = classifier_log_odds(estimator, extended)
    return out


def classifier_log_odds(estimator: Any, X: Any) -> Floats:
    """Return the log-odds of the positive class; infinite if the classifier is certain."""
    if isinstance(estimator, ConstantConditional):
        return np.full(X.shape[0], estimator.log_odds)
    probability = estimator.predict_proba(X)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probability[:, 1]) - np.log(probability[:, 0]))


def with_labels(X: Any, labels: NDArray[Any], columns: Indices) -> Any:
    """Append the given label columns to X."""
    if len(columns) == 0:
        return X
    chosen = labels[:, columns].astype(np.float64)
    if isinstance(X, np.ndarray):
        return np.hstack([X, chosen])
    return sp.hstack([X, sp.csr_array(chosen)], format="csr")


def additive_log_odds(estimator: Any, centre: Floats | None = None) -> tuple[Floats, float] | None:
    """Return weights and intercept of a fitted classifier's log-odds; None if they are not linear.

    The weights belong to the features as `as_seen_by` transforms them, followed by the labels.
    `centre` is what it subtracts from the features before they are squared.
    """
    # A subclass may override predict_proba: only these very classes are known to be additive.
    kind = type(estimator)
    if kind is ConstantConditional:
        return np.zeros(0), estimator.log_odds
    if kind is LogisticRegression:
        return estimator.coef_[0], float(np.ravel(estimator.intercept_)[0])
    if kind is MultinomialNB:
        absent, present = estimator.feature_log_prob_
        return present - absent, _prior_log_odds(estimator)
    if kind is BernoulliNB and estimator.binarize in (None, 0.0):
        present = estimator.feature_log_prob_
        absent = np.log(-np.expm1(present))
        weights = (present - absent)[1] - (present - absent)[0]
        return weights, _prior_log_odds(estimator) + float((absent[1] - absent[0]).sum())
    if kind is GaussianNB and centre is not None:
        return _gaussian_log_odds(estimator, centre)
    return None


def _gaussian_log_odds(estimator: GaussianNB, centre: Floats) -> tuple[Floats, float]:
    """Return Σ_d log N(x_d; μ₁, v₁) - log N(x_d; μ₀, v₀) as a polynomial.

    Features are expanded around their centre, labels by their two values.
    """
    origin = np.zeros(estimator.theta_.shape[1])
    origin[: len(centre)] = centre
    means, variances = estimator.theta_ - origin, estimator.var_
    square = 0.5 * (1 / variances[0] - 1 / variances[1])
    slope = means[1] / variances[1] - means[0] / variances[0]
    heights = -0.5 * (means**2 / variances + np.log(variances))
    intercept = np.log(estimator.class_prior_[1] / estimator.class_prior_[0])
    intercept += (heights[1] - heights[0]).sum()
    of_labels = (square + slope)[len(centre) :]
    weights = np.concatenate([slope[: len(centre)], square[: len(centre)], of_labels])
    return weights, float(intercept)


def _centre(estimators: list[Any], n_features: int) -> Floats | None:
    """Return the mean of the class means: squares of features centred there lose no digits."""
    means = [e.theta_[:, :n_features] for e in estimators if type(e) is GaussianNB]
    return np.concatenate(means).mean(axis=0) if means else None


def _prior_log_odds(estimator: Any) -> float:
    return float(estimator.class_log_prior_[1] - estimator.class_log_prior_[0])


def additive_conditionals(
    estimators: list[Any], graph: LabelGraph, n_features: int
) -> LinearConditionals | None:
    """Return the conditionals of fitted classifiers; None unless all have additive log-odds."""
    n_labels = len(estimators)
    centre = _centre(estimators, n_features)
    n_seen = n_features if centre is None else 2 * n_features
    weights, intercept = np.zeros((n_labels, n_seen)), np.zeros(n_labels)
    coupling = np.zeros((n_labels, n_labels))
    for label, estimator in enumerate(estimators):
        with np.errstate(divide="ignore", invalid="ignore"):  # zero variance: not finite
            terms = additive_log_odds(estimator, centre)
        if terms is None or not np.isfinite([*terms[0], terms[1]]).all():
            return None
        if len(terms[0]):
            weights[label] = terms[0][:n_seen]
            coupling[label, graph.parents[label]] = terms[0][n_seen:]
        intercept[label] = terms[1]
    return LinearConditionals(weights, intercept, coupling, C=np.nan, label_penalty=np.nan)


def as_seen_by(estimators: list[Any], X: Any) -> Any:
    """Return X as the classifiers see it.

    Bernoulli naive Bayes sees which features are positive, Gaussian naive Bayes the features and
    their squares.
    """
    centre = _centre(estimators, X.shape[1])
    if centre is not None:
        around = X - centre
        return np.hstack([around, around**2])
    if not any(type(e) is BernoulliNB and e.binarize is not None for e in estimators):
        return X
    if isinstance(X, np.ndarray):
        return (X > 0).astype(np.float64)
    seen = X.copy()
    seen.data = (seen.data > 0).astype(np.float64)
    return seen


@dataclass(frozen=True)
class LinearMembers:
    """P(y|x) = Σ_k λ_k(x) Π_j P_k(y_j | x, parents of j) with linear log-odds, for n rows.

    Attributes
    ----------
    features : (n, S) array or CSR
        What the conditionals see of the rows: their D features, or several functions of each.
    conditionals : sequence of K LinearConditionals
    log_weights : (n, K) array
        log λ_k(x).
    """

    features: Any
    conditionals: Sequence[LinearConditionals]
    log_weights: Floats

    @classmethod
    def alone(cls, features: Any, conditionals: LinearConditionals) -> LinearMembers:
        """Return the mixture of a single member."""
        return cls(features, (conditionals,), np.zeros((features.shape[0], 1)))

    def log_odds(self, labels: Labels | Floats) -> Floats:
        """Return every label's log-odds in every member given the others, (K, n, L)."""
        given = np.ascontiguousarray(labels, dtype=np.float64)
        return np.stack([member.scores(self.features, given) for member in self.conditionals])
