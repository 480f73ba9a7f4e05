"""What mixtures of trees and of chains share: EM, selection of their size, the joint mixture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave._common.row_keys import distinct_rows, row_keys
from labelweave.inference import Annealing
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.linear_members import LinearMembers
from labelweave.models.mixtures.component_selection import (
    SelectionStep,
    best_penalty,
    compare_sizes,
)
from labelweave.models.mixtures.mixture_learner import (
    ComponentLearner,
    MixtureLearner,
    MixtureSettings,
)

#: Largest number of components that ``n_components="auto"`` tries.
MAX_COMPONENTS = 12
#: Additional weight of every row in every component, whatever its responsibilities.
PRIOR_WEIGHT = 0.01
#: Maximum number of held-out parts by which sizes are compared.
N_SPLITS = 3
#: Few rows compare badly: selection stops after this many consecutive sizes worse than the best.
PATIENCE = 2
#: What mixtures of trees and of chains have in common as published.
PUBLISHED: Mapping[str, Any] = {
    "gate": "constant",
    "weighting": "equal",
    "prior_weight": 0.0,
    "n_splits": 1,
    "patience": 1,
    "C": "held-out",
    "label_penalty": 1.0,
    "inference": Annealing.preset("published"),
}


class StructuredMixture(MultiLabelClassifier):
    """P(y|x) = Σ_k λ_k(x) P_k(y|x), by expectation maximisation.

    A subclass says how the structures of components are learned (`_learner`), how penalties are
    chosen (`_penalties`) and which joint distribution a component has (`_member`).

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
    C: float | str

    @abstractmethod
    def _learner(self, X: Any, labels: Labels, sample_weight: Floats | None) -> ComponentLearner:
        """Return the learner of the components' structures."""

    @abstractmethod
    def _penalties(self, learner: Any) -> PenaltyChoice:
        """Choose the penalties, for a single component fitted to all rows."""

    @abstractmethod
    def _member(
        self, conditionals: LinearConditionals, component: Any, X: Any, shared: dict[str, Any]
    ) -> JointDistribution:
        """Return the joint distribution of one component."""

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        size, settings = self._size(), self._settings()
        # EM ends before it converges, after M-steps that are not exact: its result is the same for
        # rows repeated or weighted, in any order, because it always sees them in the same form.
        given = np.ones(len(labels)) if sample_weight is None else sample_weight
        rows, weight = distinct_rows(X, labels, given)
        distinct = None if np.all(weight == 1.0) else weight
        components = self._learner(X[rows], labels[rows], distinct)
        penalties = self._penalties(components)
        learner: MixtureLearner[Any] = MixtureLearner(components, penalties, settings)
        if self._C_is_held_out():
            C = best_penalty(learner, self.max_components, size)
            penalties = replace(penalties, C=C)
            learner = replace(learner, penalties=penalties)
        selection = compare_sizes(learner, self.max_components) if size is None else None
        self.history_: list[SelectionStep] = [] if selection is None else selection.steps
        fitted = learner.fit(size or 1) if selection is None else selection.fit()
        self.C_, self.label_penalty_ = penalties.C, penalties.label_penalty
        self.components_ = fitted.components
        self.conditionals_ = fitted.mixture.conditionals(penalties)
        self.gate_ = fitted.mixture.gate
        self.objectives_ = fitted.objectives
        self.n_components_ = fitted.mixture.n_components
        self._tell(
            f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}, "
            f"{self.n_components_} components"
        )

    def _C_is_held_out(self) -> bool:
        return isinstance(self.C, str) and self.C == "held-out"

    def _penalty(self, name: str, otherwise: str = "'cv'") -> float | str:
        if name != "C":
            return super()._penalty(name, otherwise)
        # The search for the mixture's C starts from the C of a single component.
        return "cv" if self._C_is_held_out() else super()._penalty(name, "'held-out', 'cv'")

    def _settings(self) -> MixtureSettings:
        return MixtureSettings(
            linear_gate=check_choice(self.gate, "gate", ("linear", "constant")) == "linear",
            equal=check_choice(self.weighting, "weighting", ("share", "equal")) == "equal",
            prior_weight=check_number(self.prior_weight, "prior_weight", minimum=0),
            n_splits=self._count("n_splits"),
            patience=self._count("patience"),
        )

    def _size(self) -> int | None:
        """Return the given number of components, or None for "auto"."""
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

    def _linear_members(self, X: Any) -> LinearMembers:
        log_weights = self.gate_.log_weights(X, self._n_threads())
        return LinearMembers(X, self.conditionals_, log_weights)
