"""Binary relevance: an independent classifier per label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.presets import Presets, published
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import LabelGraph
from labelweave.logistic.problem import check_class_weight
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import (
    LabelConditionals,
    LinearMembers,
    TrainingRows,
    classifier_log_odds,
    with_class_weight,
)


@dataclass(eq=False, repr=False, kw_only=True)
class BinaryRelevance(MultiLabelClassifier):
    """One independent classifier per label: P(y|x) = Π_j P(y_j|x).

    ``BinaryRelevance.preset("published")`` is the same: the papers' method has no other settings.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba``, cloned and fitted once per label. By default a logistic
        regression, fitted for all labels at once by the library's own engine.
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty, shared by all labels; "cv" chooses it by
        cross-validated log-likelihood. Ignored if `estimator` is given.
    class_weight : dict {0: float, 1: float} or "balanced", optional
        Weights of the classes 0 and 1 of each label; "balanced" gives both the same total weight,
        label by label. Rare labels are then predicted more often, and probabilities are no
        longer calibrated. Penalties are chosen without these weights, by the likelihood of the
        labels as they are. An `estimator` receives it as its own `class_weight`.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    conditionals_ : LinearConditionals or None
        Weights and intercepts; None if `estimator` is not linear.
    estimators_ : list
        The fitted classifiers, one per label; only with `estimator`.
    C_ : float
        The penalty used; only without `estimator`.

    Examples
    --------
    >>> from labelweave import BinaryRelevance, load
    >>> data = load("emotions")
    >>> model = BinaryRelevance(C=0.01).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    estimator: Any = field(default=None, kw_only=False)
    C: float | str = "cv"
    class_weight: Mapping[int, float] | str | None = None

    presets: ClassVar[Presets] = published(C="cv")

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        rows = TrainingRows(X, labels, sample_weight, self._seed(), self._n_threads())
        graph = LabelGraph.empty(self.n_labels_)
        if self.estimator is not None:
            estimator = with_class_weight(self.estimator, self.class_weight)
            found = LabelConditionals.of_classifiers(estimator, rows, graph, self.n_jobs)
            self.estimators_, self.conditionals_ = found.estimators, found.linear
            return
        class_weight = check_class_weight(self.class_weight)
        penalties = rows.penalties(graph, self._penalty("C"), "cv")
        self.conditionals_ = rows.fitted([graph], penalties, class_weight=class_weight)[0]
        self.C_ = penalties.C
        self._tell(f"C = {self.C_:.4g}")

    def _conditionals(self) -> LabelConditionals:
        graph = LabelGraph.empty(self.n_labels_)
        return LabelConditionals(graph, self.conditionals_, getattr(self, "estimators_", ()))

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        if hasattr(self, "estimators_"):
            scores = np.column_stack([classifier_log_odds(e, X) for e in self.estimators_])
        else:
            scores = self._conditionals().scores(X, self._n_threads())
        return IndependentJoint(scores, **rows)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        return self._conditionals().members(X)
