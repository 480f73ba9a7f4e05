"""What mixtures of trees and of chains share: growth, EM, and the joint of the components."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.logistic.row_keys import row_keys
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.growth import Growth, GrowthStep, Learner, choose_size

#: Components that ``n_components="auto"`` goes up to.
MAX_COMPONENTS = 12


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

    @abstractmethod
    def _learner(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> Learner:
        """Return what finds components."""

    @abstractmethod
    def _penalties(self, learner: Any) -> PenaltyChoice:
        """Choose the penalties, for a single component that is fitted to all rows."""

    @abstractmethod
    def _member(
        self, conditionals: LinearConditionals, component: Any, X: Any, shared: dict[str, Any]
    ) -> JointDistribution:
        """Return the joint distribution of one component."""

    def _fit(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> None:
        size = self._size()
        if self.gate not in ("linear", "constant"):
            raise ValueError(f"gate must be 'linear' or 'constant'; got {self.gate!r}")
        learner = self._learner(X, labels, sample_weight)
        penalties = self._penalties(learner)
        growth: Growth[Any] = Growth(learner, penalties, self.gate == "linear")
        self.history_: list[GrowthStep] = []
        if size is None:
            size, self.history_ = choose_size(growth, self.max_components)
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

    def _size(self) -> int | None:
        """Return the number of components asked for; None if it has to be found."""
        _check_size(self.max_components, "max_components")
        if isinstance(self.n_components, str) and self.n_components == "auto":
            return None
        return _check_size(self.n_components, "n_components", " or 'auto'")

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


def _check_size(value: Any, name: str, or_else: str = "") -> int:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or value < 1:
        raise ValueError(f"{name} must be a positive whole number{or_else}; got {value!r}")
    return int(value)
