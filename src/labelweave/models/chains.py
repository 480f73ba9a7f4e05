"""Classifier chains: P(y|x) = Π_j P(y_j | x, labels before j), by the chain rule.

The order of the labels may be given, drawn or learned; a learned order is the best of ten
candidates by cross-validated log-likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices, Labels, Positions
from labelweave._common.checks import check_label, is_one_of
from labelweave._common.presets import Presets, published
from labelweave.inference.strategy import Inference
from labelweave.joint import ChainJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import LabelGraph
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.logistic.problem import check_class_weight
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import (
    LabelConditionals,
    LinearMembers,
    TrainingRows,
    with_class_weight,
)

# Number of orders that ``order="auto"`` compares.
_N_CANDIDATES = 10


@dataclass(frozen=True, eq=False)
class ChainOrder:
    """The order of a chain, from first to last label."""

    order: Indices

    def graph(self) -> LabelGraph:
        """Return which labels come before each label."""
        return LabelGraph.chain(self.order)

    def joint(self, conditionals: LabelConditionals, X: Any, rows: RowOptions) -> JointDistribution:
        if conditionals.linear is not None:
            scores = conditionals.scores(X, rows["n_threads"])
            return ChainJoint(scores, conditionals.linear.coupling, self.order, **rows)

        log_odds, shape = partial(conditionals.log_odds, X), (X.shape[0], len(self.order))
        return ChainJoint.of_functions(log_odds, *shape, order=self.order, **rows)


@dataclass(frozen=True)
class ChainLearner:
    """Provides the orders of chains: a given one, "random" ones, or learned ones ("auto")."""

    rows: TrainingRows
    order: Indices | str

    def learn(
        self, penalties: PenaltyChoice, row_weight: Floats | None, index: int, tolerance: float
    ) -> ChainOrder:
        del tolerance
        if not isinstance(self.order, str):
            return ChainOrder(self.order)
        if self.order == "random":
            random = np.random.default_rng([self.rows.seed, index])
            return ChainOrder(random.permutation(self.rows.n_labels).astype(np.int64))
        return best_order(self.rows.weighted(row_weight), penalties)

    def restricted(self, rows: Positions) -> ChainLearner:
        return replace(self, rows=self.rows.restricted(rows))

    def for_comparison(self) -> ChainLearner:
        """Return the learner itself: there is nothing cheaper."""
        return self


def resolve_order(order: Any, n_labels: int, names: tuple[str, ...] | None, seed: int) -> Indices:
    """Return the order as label positions, from first to last."""
    if order is None:
        return np.arange(n_labels, dtype=np.int64)
    if isinstance(order, str):
        if order != "random":
            raise ValueError(
                f"order must be None, 'random', 'auto' or a list of labels; got {order!r}"
            )
        return np.random.default_rng(seed).permutation(n_labels).astype(np.int64)
    given = np.asarray(order, dtype=object).ravel()
    positions = [check_label(label, "order", n_labels, names) for label in given]
    if sorted(positions) != list(range(n_labels)):
        raise ValueError(
            f"order must name each of the {n_labels} labels once, from first to last; got {order!r}"
        )
    return np.array(positions, dtype=np.int64)


def candidate_orders(labels: Labels, seed: int, n_orders: int = _N_CANDIDATES) -> list[Indices]:
    """Return candidate orders: of y's columns, by falling and rising frequency, and random ones."""
    n_labels = labels.shape[1]
    frequency = labels.sum(axis=0, dtype=np.int64)
    random = np.random.default_rng(seed)
    orders = [
        np.arange(n_labels),
        np.argsort(-frequency, kind="stable"),
        np.argsort(frequency, kind="stable"),
        *(random.permutation(n_labels) for _ in range(n_orders - 3)),
    ]
    distinct = {order.tobytes(): order.astype(np.int64) for order in orders}
    return list(distinct.values())


def best_order(rows: TrainingRows, penalties: PenaltyChoice) -> ChainOrder:
    """Return the candidate order of best cross-validated log-likelihood."""
    orders = candidate_orders(rows.labels, rows.seed)
    losses = rows.losses([LabelGraph.chain(order) for order in orders], penalties)
    return ChainOrder(orders[int(losses.argmin())])


@dataclass(eq=False, repr=False, kw_only=True)
class ClassifierChain(MultiLabelClassifier):
    """A probabilistic classifier chain: P(y|x) = Π_j P(y_j | x, labels before j).

    With ``inference=Greedy()`` this is the classifier chain (CC), with exact inference the
    probabilistic classifier chain (PCC). ``ClassifierChain.preset("published")`` has one penalty
    for features and labels, like a chain of ordinary logistic regressions.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba``, cloned and fitted once per label on the features and
        the earlier labels. By default a logistic regression, fitted for all labels at once by the
        library's own engine. ``LogisticRegression`` and naive Bayes (``BernoulliNB``,
        ``MultinomialNB``, ``GaussianNB``) have additive log-odds and predict as fast; other
        classifiers are evaluated for every prefix that the search visits.
    C, class_weight : see `BinaryRelevance`
        `C` penalises the weights of features; the search for an "auto" order ignores
        `class_weight`.
    label_penalty : float or "cv", default="cv"
        Penalty of the earlier labels' coefficients relative to the features'. A few 0/1 columns
        need a much weaker penalty than hundreds of features; 1 penalises both alike.
    order : None, "random", "auto", or sequence of int or str, default=None
        The labels from first to last, by position or name; None is the order of y's columns.
        "auto" takes, of ten candidates, the one with the best cross-validated log-likelihood
        under linear conditionals.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; see `labelweave.inference`.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    order_ : (L,) array of int
        The labels from first to last.
    conditionals_ : LinearConditionals or None
        Weights, intercepts and couplings between labels; None if `estimator` is not linear.
    estimators_ : list
        The fitted classifiers, one per label; only with `estimator`.
    C_, label_penalty_ : float
        The penalties used; only without `estimator`.

    Examples
    --------
    >>> from labelweave import ClassifierChain, load
    >>> data = load("emotions")
    >>> model = ClassifierChain(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> model.predict_joint(data.X[400:402]).condition({0: 1}).mode().labels
    array([[1, 0, 1, 1, 0, 0],
           [1, 0, 0, 0, 0, 1]], dtype=int8)
    """

    estimator: Any = field(default=None, kw_only=False)
    C: float | str = "cv"
    label_penalty: float | str = "cv"
    order: str | ArrayLike | None = None
    inference: str | Inference = "auto"
    class_weight: Mapping[int, float] | str | None = None

    presets: ClassVar[Presets] = published(label_penalty=1.0)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        # The order may take long to choose: parameters are checked before.
        if self.estimator is None:
            class_weight = check_class_weight(self.class_weight)
        else:
            estimator = with_class_weight(self.estimator, self.class_weight)
        rows = TrainingRows(X, labels, sample_weight, self._seed(), self._n_threads())
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        chosen = None
        if is_one_of(self.order, "auto"):
            # Penalties are chosen once, for the order of y's columns: they hardly depend on it.
            columns = LabelGraph.chain(np.arange(self.n_labels_))
            chosen = rows.penalties(columns, C, label_penalty)
            self.order_ = best_order(rows, chosen).order
        else:
            self.order_ = resolve_order(self.order, self.n_labels_, self._names(), rows.seed)
        graph = LabelGraph.chain(self.order_)
        if self.estimator is not None:
            found = LabelConditionals.of_classifiers(estimator, rows, graph, self.n_jobs)
            self.estimators_, self.conditionals_ = found.estimators, found.linear
            return
        chosen = chosen or rows.penalties(graph, C, label_penalty)
        self.conditionals_ = rows.fitted([graph], chosen, class_weight=class_weight)[0]
        self._keep_penalties(chosen)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "order_") and sorted(self.order_) != list(range(self.n_labels_)):
            raise ValueError(f"order_ does not name each of the labels 0 to {self.n_labels_ - 1}")

    def _conditionals(self) -> LabelConditionals:
        graph = LabelGraph.chain(self.order_)
        return LabelConditionals(graph, self.conditionals_, getattr(self, "estimators_", ()))

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return ChainOrder(self.order_).joint(self._conditionals(), X, rows)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        return self._conditionals().members(X)
