"""Conditionals P(y_j | x, parents of j) of any kind, and the rows that they are fitted to.

A structure (the order of a chain, a forest) says which label depends on which, and
`LabelConditionals` holds what was fitted to it. There are three kinds of conditionals:

- logistic regressions of the library's own engine, fitted for all labels at once;
- scikit-learn's classifiers with additive log-odds. Logistic regression and naive Bayes for binary
  features and counts have log-odds ``w·x + b``; those of Gaussian naive Bayes are linear in the
  features and their squares. A label of 0/1 equals its square, so labels enter all of them
  linearly: a chain of such classifiers is a linear chain, which the compiled kernels search;
- any other classifier, which is evaluated for every row and every vector of parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.utils import check_random_state

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.engine import processes
from labelweave._common.pipelines import fit_arguments
from labelweave.joint.distribution import JointDistribution, RowOptions
from labelweave.joint.enumeration import row_blocks
from labelweave.logistic.conditionals import (
    LabelGraph,
    LinearConditionals,
    fit_structures,
    structure_losses,
    structure_penalties,
)
from labelweave.logistic.penalties import PenaltyChoice

# Largest loss of a single row when edges are weighed: a probability of about 1e-6.
_LARGEST_LOSS = 14.0


@dataclass(frozen=True)
class TrainingRows:
    """The rows that structures and conditionals are fitted to, and how folds are dealt."""

    X: Any
    labels: Labels
    sample_weight: Floats | None = None
    seed: int = 0
    n_threads: int = 1

    @property
    def n_labels(self) -> int:
        return int(self.labels.shape[1])

    @cached_property
    def weight(self) -> Floats:
        """Weight of every row, (n,)."""
        return np.ones(len(self.labels)) if self.sample_weight is None else self.sample_weight

    def restricted(self, rows: Positions) -> Self:
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, X=self.X[rows], labels=self.labels[rows], sample_weight=weight)

    def weighted(self, row_weight: Floats | None) -> Self:
        """Return the rows with their weights multiplied by `row_weight`."""
        if row_weight is None:
            return self
        weight = row_weight if self.sample_weight is None else self.sample_weight * row_weight
        return replace(self, sample_weight=weight)

    def penalties(
        self, graph: LabelGraph, C: float | str, label_penalty: float | str
    ) -> PenaltyChoice:
        """Choose the penalties given as "cv" for linear conditionals."""
        return structure_penalties(
            self.X, self.labels, graph, C=C, label_penalty=label_penalty, **self._options()
        )

    def losses(self, graphs: Sequence[LabelGraph], penalties: PenaltyChoice) -> Floats:
        """Return the cross-validated loss of linear conditionals on each graph."""
        return structure_losses(self.X, self.labels, graphs, **self._options(penalties))

    def fitted(
        self, graphs: Sequence[LabelGraph], penalties: PenaltyChoice, **weights: Any
    ) -> list[LinearConditionals]:
        """Fit linear conditionals on each graph, all at once.

        `weights` are the `class_weight` and the `bootstrap_counts` of `fit_structures`.
        """
        options = self._options(penalties)
        return fit_structures(self.X, self.labels, graphs, **options, **weights)

    def _options(self, penalties: PenaltyChoice | None = None) -> dict[str, Any]:
        chosen = {}
        if penalties is not None:
            chosen = {"C": penalties.C, "label_penalty": penalties.label_penalty}
        own = {"sample_weight": self.sample_weight, "seed": self.seed}
        return {**chosen, **own, "n_threads": self.n_threads}


@dataclass(frozen=True)
class LinearMembers:
    """P(y|x) = Σ_k λ_k(x) Π_j P_k(y_j | x, parents of j) with linear log-odds, for n rows.

    The features, (n, S), are those that the conditionals see: D features, or functions of them.
    """

    features: Any
    conditionals: Sequence[LinearConditionals]
    log_weights: Floats  # log λ_k(x), (n, K)

    @classmethod
    def alone(cls, features: Any, conditionals: LinearConditionals) -> LinearMembers:
        return cls(features, (conditionals,), np.zeros((features.shape[0], 1)))

    def log_odds(self, labels: Labels | Floats) -> Floats:
        """Return every label's log-odds in every member given the others, (K, n, L)."""
        given = np.ascontiguousarray(labels, dtype=np.float64)
        return np.stack([member.scores(self.features, given) for member in self.conditionals])


@dataclass(frozen=True)
class LabelConditionals:
    """Fitted conditionals P(y_j | x, parents of j) of all labels."""

    graph: LabelGraph
    linear: LinearConditionals | None  # None if some classifier has other log-odds
    estimators: Sequence[Any] = ()  # one per label, unless the conditionals are the engine's own

    @classmethod
    def of_classifiers(
        cls, estimator: Any, rows: TrainingRows, graph: LabelGraph, n_jobs: int | None
    ) -> Self:
        """Fit a clone of `estimator` for each label on [X, labels of its parents]."""
        check_base_classifier(estimator, rows.sample_weight)
        X, labels, weight = rows.X, rows.labels, rows.sample_weight
        seeds = check_random_state(rows.seed).randint(2**31 - 1, size=rows.n_labels)
        fits = (
            delayed(_fit_one)(estimator, with_labels(X, labels, parents), labels[:, j], weight, s)
            for j, (parents, s) in enumerate(zip(graph.parents, seeds, strict=True))
        )
        fitted = list(processes(n_jobs)(fits))
        return cls(graph, additive_conditionals(fitted, graph, X.shape[1]), fitted)

    def scores(self, X: Any, n_threads: int) -> Floats:
        """Return the linear log-odds of each label given that no other label is present, (n, L)."""
        assert self.linear is not None
        return self.linear.scores(as_seen_by(self.estimators, X), n_threads=n_threads)

    def log_odds(self, X: Any, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of a label by its classifier, one for each of `rows`."""
        estimator, parents = self.estimators[label], self.graph.parents[label]
        out = np.empty(len(rows))
        # An enumeration repeats every row many times, so features are repeated block by block.
        for block in row_blocks(len(rows), X.shape[1] + len(parents)):
            extended = with_labels(X[rows[block]], prefix[block], parents)
            out[block] = classifier_log_odds(estimator, extended)
        return out

    def given_parent(self, X: Any, n_threads: int) -> Floats:
        """Return each label's log-odds with its only parent absent and present, (n, L, 2)."""
        if self.linear is not None:
            scores = self.scores(X, n_threads)
            # A label is coupled to its parent only, so the sum is that one coefficient.
            return np.stack([scores, scores + self.linear.coupling.sum(axis=1)], axis=2)
        logits = np.empty((X.shape[0], len(self.estimators), 2))
        for label, estimator in enumerate(self.estimators):
            columns = np.zeros(len(self.graph.parents[label]), dtype=np.int64)
            for value in (0, 1):
                extended = with_labels(X, np.full((X.shape[0], 1), value), columns)
                logits[:, label, value] = classifier_log_odds(estimator, extended)
        return logits

    def members(self, X: Any) -> LinearMembers | None:
        """Return the linear conditionals of rows; None if some are not linear."""
        if self.linear is None:
            return None
        return LinearMembers.alone(as_seen_by(self.estimators, X), self.linear)


class LabelStructure(Protocol):
    """Which label depends on which: the order of a chain, or a forest."""

    def graph(self) -> LabelGraph:
        """Return which labels each label depends on."""

    def joint(self, conditionals: LabelConditionals, X: Any, rows: RowOptions) -> JointDistribution:
        """Return P(y|x) of the rows of X."""


class StructureLearner(Protocol):
    """Learns structures, one for each component of a mixture."""

    @property
    def rows(self) -> TrainingRows:
        """The rows that structures are learned from."""

    def learn(
        self, penalties: PenaltyChoice, row_weight: Floats | None, index: int, tolerance: float
    ) -> LabelStructure:
        """Return the structure of component `index` for rows weighted by `row_weight`.

        `tolerance` bounds the errors of the candidates' weights, as a share of the weights.
        """

    def restricted(self, rows: Positions) -> Self:
        """Return the learner for a subset of the rows."""

    def for_comparison(self) -> Self:
        """Return a cheaper learner, for components that are only compared."""


@dataclass(frozen=True)
class ConstantConditional:
    """The conditional of a label with a single class in training: its smoothed frequency."""

    log_odds: float


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
    unset = [name for name, value in cloned.get_params().items() if value is None]
    seeds = [name for name in unset if name.rpartition("__")[2] == "random_state"]
    return cloned.set_params(**dict.fromkeys(seeds, int(seed)))


def classifier_edge_weights(
    estimator: Any, rows: TrainingRows, held_out: Mask, candidates: Mask, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Return the weights of edges, ``pair[parent, child]``, and of roots, by fits of `estimator`.

    They are defined as in `labelweave.logistic.edges.edge_weights`.
    """
    check_base_classifier(estimator, rows.sample_weight)
    n_labels = rows.n_labels
    parents = [
        (target, parent)
        for target in range(n_labels)
        for parent in (-1, *np.flatnonzero(candidates[:, target]))
    ]
    seeds = check_random_state(rows.seed).randint(2**31 - 1, size=n_labels)
    found = processes(n_jobs)(
        delayed(_edge_weight)(estimator, rows, target, parent, held_out, seeds[target])
        for target, parent in parents
    )
    weights = np.empty((n_labels + 1, n_labels))  # the last row is that of roots
    for (target, parent), weight in zip(parents, found, strict=True):
        weights[parent, target] = weight
    return np.where(candidates, weights[:-1], weights[-1]), weights[-1]


def _edge_weight(
    estimator: Any, rows: TrainingRows, target: int, parent: int, held_out: Mask, seed: int
) -> float:
    columns = np.array([parent] if parent >= 0 else [], dtype=np.int64)
    labels, sample_weight = rows.labels, rows.sample_weight
    extended = with_labels(rows.X, labels, columns)
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

    The weights belong to the features as `as_seen_by` transforms them around `centre`, followed by
    the labels.
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
    """Return Σ_d log N(x_d; μ₁, v₁) - log N(x_d; μ₀, v₀) as a polynomial around the centre."""
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


def _centre(estimators: Sequence[Any], n_features: int) -> Floats | None:
    """Return the mean of the class means: squares of features centred there lose no digits."""
    means = [e.theta_[:, :n_features] for e in estimators if type(e) is GaussianNB]
    return np.concatenate(means).mean(axis=0) if means else None


def _prior_log_odds(estimator: Any) -> float:
    return float(estimator.class_log_prior_[1] - estimator.class_log_prior_[0])


def additive_conditionals(
    estimators: Sequence[Any], graph: LabelGraph, n_features: int
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


def as_seen_by(estimators: Sequence[Any], X: Any) -> Any:
    """Return the functions of X in which the log-odds are linear.

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


def linear_joints(
    structures: Sequence[LabelStructure],
    fitted: Sequence[LinearConditionals],
    X: Any,
    rows: RowOptions,
) -> list[JointDistribution]:
    """Return the joint distribution of each structure with its linear conditionals."""
    return [
        structure.joint(LabelConditionals(structure.graph(), linear), X, rows)
        for structure, linear in zip(structures, fitted, strict=True)
    ]
