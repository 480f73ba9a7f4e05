"""What mixtures of trees and of chains share: growth, EM, and the joint of the components."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave._common.row_keys import row_keys
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.mixtures.component_selection import (
    Growth,
    GrowthPlan,
    GrowthStep,
    Learner,
    grow_judged,
)

#: Components that ``n_components="auto"`` goes up to.
MAX_COMPONENTS = 12
#: How much every row counts in every component, whoever explains it.
PRIOR_WEIGHT = 0.01
#: Parts of the rows that are held out to judge sizes, at most.
N_SPLITS = 3
#: Few rows judge badly: growth ends with so many sizes in a row that are worse than the best.
PATIENCE = 2


class StructuredMixture(MultiLabelClassifier):
    """P(y|x) = Σ_k λ_k(x) P_k(y|x), by expectation maximisation.

    A subclass says where components come from (`_learner`), how penalties are chosen (`_penalties`)
    and what joint distribution a component has (`_member`).

    Examples
    --------
    >>> from labelweave.models import TreeMixture
    >>> issubclass(TreeMixture, StructuredMixture)
    True
    """

    n_components: int | str
    max_components: int
    gate: str
    weighting: str
    prior_weight: float
    n_splits: int
    patience: int

    @abstractmethod
    def _learner(self, X: Any, labels: Labels, sample_weight: Floats | None) -> Learner:
        """Return what finds components."""

    @abstractmethod
    def _penalties(self, learner: Any) -> PenaltyChoice:
        """Choose the penalties, for a single component that is fitted to all rows."""

    @abstractmethod
    def _member(
        self, conditionals: LinearConditionals, component: Any, X: Any, shared: dict[str, Any]
    ) -> JointDistribution:
        """Return the joint distribution of one component."""

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        size, plan = self._size(), self._plan()
        learner = self._learner(X, labels, sample_weight)
        penalties = self._penalties(learner)
        growth: Growth[Any] = Growth(learner, penalties, plan)
        self.history_: list[GrowthStep] = []
        if size is None:
            grown, self.history_ = grow_judged(growth, self.max_components)
        else:
            grown = growth.grow(size)
        self.C_, self.label_penalty_ = penalties.C, penalties.label_penalty
        self.components_ = grown.components
        self.conditionals_ = grown.mixture.conditionals(penalties)
        self.gate_ = grown.mixture.gate
        self.objectives_ = grown.objectives
        self.n_components_ = grown.mixture.n_components
        self._tell(
            f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}, "
            f"{self.n_components_} components"
        )

    def _plan(self) -> GrowthPlan:
        return GrowthPlan(
            linear_gate=check_choice(self.gate, "gate", ("linear", "constant")) == "linear",
            equal=check_choice(self.weighting, "weighting", ("share", "equal")) == "equal",
            prior_weight=check_number(self.prior_weight, "prior_weight", minimum=0),
            n_splits=self._count("n_splits"),
            patience=self._count("patience"),
        )

    def _size(self) -> int | None:
        """Return the number of components asked for; None if it has to be found."""
        self._count("max_components")
        if isinstance(self.n_components, str) and self.n_components == "auto":
            return None
        return check_whole_number(self.n_components, "n_components", otherwise="'auto'")

    def _joint(self, X: Any) -> JointDistribution:
        shared: dict[str, Any] = {
            "label_names": self._names(),
            "row_ids": row_keys(X),
            "n_threads": self._n_threads(),
        }
        members = [
            self._member(conditionals, component, X, shared)
            for conditionals, component in zip(self.conditionals_, self.components_, strict=True)
        ]
        if len(members) == 1:
            return members[0]
        weights = np.exp(self.gate_.log_weights(X, self._n_threads()))
        return MixtureJoint(weights, members, **shared)
