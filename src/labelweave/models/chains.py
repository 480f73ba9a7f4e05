"""ClassifierChain; orders and how they are learned.

Classifier chains: P(y|x) = Π_j P(y_j | x, labels before j), by the chain rule.

`classifier_chain` is the estimator and `chain_ensemble` the average of many; `order` resolves and
chooses the order of the labels. Users import from `labelweave.models`.

The order of a chain's labels.

Classifier chains: each label given the features and the labels before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_label
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import row_keys
from labelweave.decision import Decision
from labelweave.inference.strategy import Inference
from labelweave.joint import ChainJoint, JointDistribution
from labelweave.joint.function_chain import GeneralChain
from labelweave.logistic.conditionals import LabelGraph, fit_conditionals, structure_losses
from labelweave.logistic.problem import check_class_weight
from labelweave.models.base import MultiLabelClassifier, RowOptions
from labelweave.models.conditionals import (
    LinearMembers,
    additive_conditionals,
    as_seen_by,
    chain_log_odds,
    fit_estimators,
    with_class_weight,
)

#: Number of orders that ``order="auto"`` compares.
N_CANDIDATES = 10


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


def candidate_orders(labels: Labels, seed: int, n_orders: int = N_CANDIDATES) -> list[Indices]:
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


def best_order(
    X: Any,
    labels: Labels,
    penalties: dict[str, Any],
    shared: dict[str, Any],
) -> tuple[Indices, dict[str, Any]]:
    """Return the order of best cross-validated log-likelihood, and the penalties used.

    Penalties are chosen once, for the order of y's columns: they hardly depend on the order.
    """
    orders = candidate_orders(labels, shared["seed"])
    graphs = [LabelGraph.chain(order) for order in orders]
    first = fit_conditionals(X, labels, graphs[0], **penalties, **shared)
    chosen: dict[str, Any] = {"C": first.C, "label_penalty": first.label_penalty}
    losses = structure_losses(X, labels, graphs, **chosen, **shared)
    return orders[int(losses.argmin())], chosen


class ClassifierChain(MultiLabelClassifier):
    """A probabilistic classifier chain: P(y|x) = Π_j P(y_j | x, labels before j).

    With ``inference=Greedy()`` this is the classifier chain (CC), with exact inference the
    probabilistic classifier chain (PCC). ``ClassifierChain.preset("published")`` has one penalty
    for features and labels, as a chain of ordinary logistic regressions has.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba``, cloned and fitted once per label on the features and
        the earlier labels. By default a logistic regression, fitted for all labels at once by the
        library's own engine. ``LogisticRegression`` and naive Bayes (``BernoulliNB``,
        ``MultinomialNB``, ``GaussianNB``) have additive log-odds and predict as fast; other
        classifiers are evaluated for every prefix that the search visits.
    C : float or "cv", default="cv"
        Inverse strength of the features' L2 penalty, shared by all labels; "cv" chooses it by
        cross-validated log-likelihood. Ignored if `estimator` is given.
    label_penalty : float or "cv", default="cv"
        Penalty of the earlier labels' coefficients relative to the features'. A few 0/1 columns
        need a much weaker penalty than hundreds of features; 1 penalises both alike.
    order : None, "random", "auto", or sequence of int or str, default=None
        The labels from first to last, by position or name; None is the order of y's columns.
        "auto" takes, of ten candidates, the one with the best cross-validated log-likelihood
        under linear conditionals.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; see `labelweave.inference`.
    class_weight : dict {0: float, 1: float} or "balanced", optional
        Weights of the classes 0 and 1 of each label; "balanced" gives both the same total weight,
        label by label. Rare labels are then predicted more often, and probabilities are no
        longer calibrated. Penalties and the order "auto" are chosen without these weights, by the
        likelihood of the labels as they are. An `estimator` receives it as its own `class_weight`.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises: "subset" gives the most probable label vector, "hamming"
        each label by its marginal probability.
    n_jobs : int, optional
        Number of threads (of processes, if `estimator` is given); -1 uses all cores. Results depend
        neither on it nor on which rows are predicted together (with an `estimator`, up to the
        rounding of its own arithmetic).
    random_state : int, RandomState or None, default=None
        Seeds the random order, the folds of "cv" and every unset `random_state` of `estimator`.
        None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalties.

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
    >>> from labelweave.data.load import load_emotions
    >>> from labelweave import ClassifierChain
    >>> data = load_emotions()
    >>> model = ClassifierChain(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> joint = model.predict_joint(data.X[400:402])
    >>> joint.condition({0: 1}).mode().labels
    array([[1, 0, 1, 1, 0, 0],
           [1, 0, 0, 0, 0, 1]], dtype=int8)
    """

    presets: ClassVar[Presets] = published(label_penalty=1.0)

    def __init__(
        self,
        *,
        estimator: Any = None,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        order: str | ArrayLike | None = None,
        inference: str | Inference = "auto",
        class_weight: Mapping[int, float] | str | None = None,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.label_penalty = label_penalty
        self.order = order
        self.inference = inference
        self.class_weight = class_weight
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        # The order may take long to choose: parameters are checked before.
        if self.estimator is None:
            class_weight = check_class_weight(self.class_weight)
        else:
            estimator = with_class_weight(self.estimator, self.class_weight)
        penalties: dict[str, Any] = {
            "C": self._penalty("C"),
            "label_penalty": self._penalty("label_penalty"),
        }
        shared: dict[str, Any] = {
            "sample_weight": sample_weight,
            "seed": self._seed(),
            "n_threads": self._n_threads(),
        }
        if isinstance(self.order, str) and self.order == "auto":
            self.order_, penalties = best_order(X, labels, penalties, shared)
        else:
            self.order_ = resolve_order(self.order, self.n_labels_, self._names(), self._seed())
        graph = LabelGraph.chain(self.order_)
        if self.estimator is not None:
            self.estimators_ = fit_estimators(
                estimator, X, labels, graph, sample_weight, self._seed(), self.n_jobs
            )
            self.conditionals_ = additive_conditionals(self.estimators_, graph, X.shape[1])
            return
        self.conditionals_ = fit_conditionals(
            X,
            labels,
            graph,
            class_weight=class_weight,
            **penalties,
            **shared,
        )
        self.C_ = self.conditionals_.C
        self.label_penalty_ = self.conditionals_.label_penalty
        self._tell(f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}")

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "order_") and sorted(self.order_) != list(range(self.n_labels_)):
            raise ValueError(f"order_ does not name each of the labels 0 to {self.n_labels_ - 1}")

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        shared: dict[str, Any] = {
            "order": self.order_,
            "label_names": self._names(),
            "row_ids": row_keys(X),
            "n_threads": self._n_threads(),
        }
        if self.conditionals_ is not None:
            seen = as_seen_by(getattr(self, "estimators_", []), X)
            scores = self.conditionals_.scores(seen, n_threads=self._n_threads())
            return ChainJoint(scores, self.conditionals_.coupling, **shared)
        parents = LabelGraph.chain(self.order_).parents

        def log_odds(label: int, rows: Indices, prefix: Labels) -> Floats:
            return chain_log_odds(self.estimators_[label], X, rows, prefix, parents[label])

        return GeneralChain(log_odds, X.shape[0], self.n_labels_, **shared)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        if self.conditionals_ is None:
            return None
        seen = as_seen_by(getattr(self, "estimators_", []), X)
        return LinearMembers.alone(seen, self.conditionals_)
