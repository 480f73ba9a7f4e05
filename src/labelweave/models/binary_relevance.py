"""Binary relevance: an independent classifier per label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.presets import Presets, published
from labelweave.decision import Decision
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.logistic.conditionals import LabelGraph, fit_conditionals
from labelweave.logistic.problem import check_class_weight
from labelweave.models.base import MultiLabelClassifier, RowOptions
from labelweave.models.conditionals import (
    LinearMembers,
    additive_conditionals,
    as_seen_by,
    classifier_log_odds,
    fit_estimators,
    with_class_weight,
)


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
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of threads (of processes, if `estimator` is given); -1 uses all cores. Results depend
        neither on it nor on which rows are predicted together (with an `estimator`, up to the
        rounding of its own arithmetic).
    random_state : int, RandomState or None, default=None
        Seeds the folds of ``C="cv"`` and every unset `random_state` of `estimator`. None means 0:
        results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalty.

    Attributes
    ----------
    conditionals_ : LinearConditionals
        Weights and intercepts; only without `estimator`.
    estimators_ : list
        The fitted classifiers, one per label; only with `estimator`.
    C_ : float
        The penalty used; only without `estimator`.

    Examples
    --------
    >>> from labelweave.data.load import load_emotions
    >>> from labelweave import BinaryRelevance
    >>> data = load_emotions()
    >>> model = BinaryRelevance(C=0.01).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    presets: ClassVar[Presets] = published(C="cv")

    def __init__(
        self,
        *,
        estimator: Any = None,
        C: float | str = "cv",
        class_weight: Mapping[int, float] | str | None = None,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.class_weight = class_weight
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        if self.estimator is not None:
            estimator = with_class_weight(self.estimator, self.class_weight)
            graph = LabelGraph.empty(self.n_labels_)
            self.estimators_ = fit_estimators(
                estimator, X, labels, graph, sample_weight, self._seed(), self.n_jobs
            )
            return
        self.conditionals_ = fit_conditionals(
            X,
            labels,
            C=self._penalty("C"),
            sample_weight=sample_weight,
            class_weight=check_class_weight(self.class_weight),
            seed=self._seed(),
            n_threads=self._n_threads(),
        )
        self.C_ = self.conditionals_.C
        self._tell(f"C = {self.C_:.4g}")

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        if hasattr(self, "estimators_"):
            scores = np.column_stack([classifier_log_odds(e, X) for e in self.estimators_])
        else:
            scores = self.conditionals_.scores(X, n_threads=self._n_threads())
        return IndependentJoint(
            scores,
            **rows,
        )

    def _linear_members(self, X: Any) -> LinearMembers | None:
        estimators = getattr(self, "estimators_", [])
        if not estimators:
            return LinearMembers.alone(X, self.conditionals_)
        graph = LabelGraph.empty(self.n_labels_)
        conditionals = additive_conditionals(estimators, graph, X.shape[1])
        seen = as_seen_by(estimators, X)
        return None if conditionals is None else LinearMembers.alone(seen, conditionals)
