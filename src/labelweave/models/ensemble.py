"""What ensembles share: members of different structure on bootstrap samples, averaged."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from scipy.stats import poisson

from labelweave._common.arrays import Floats, Labels
from labelweave._common.label_graph import LabelGraph
from labelweave._common.progress import steps
from labelweave._common.row_keys import row_keys
from labelweave._core import native
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice, fit_structures
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.linear_members import LinearMembers

# Probabilities that a row is drawn at most 0, 1, 2, ... times.
_POISSON = poisson.cdf(np.arange(20), 1.0)


class UniformEnsemble(MultiLabelClassifier):
    """The uniform mixture of members that differ in structure and in their bootstrap samples.

    A subclass chooses structures and penalties (`_structures`), makes a member of base classifiers
    (`_classifier_member`) and the joint distribution of a linear one (`_member`).

    Examples
    --------
    >>> from labelweave.models import ChainEnsemble
    >>> issubclass(ChainEnsemble, UniformEnsemble)
    True
    """

    n_estimators: int
    estimator: Any
    bootstrap: bool

    @abstractmethod
    def _structures(
        self, X: Any, labels: Labels, sample_weight: Floats | None, bootstrap_counts: Floats | None
    ) -> tuple[list[Any], PenaltyChoice]:
        """Return the structures and their penalties, which `estimator` makes irrelevant."""

    @abstractmethod
    def _graph(self, structure: Any) -> LabelGraph:
        """Return which labels each label depends on."""

    @abstractmethod
    def _classifier_member(self, structure: Any, seed: int) -> MultiLabelClassifier:
        """Return an unfitted member of base classifiers."""

    @abstractmethod
    def _member(
        self, conditionals: LinearConditionals, structure: Any, X: Any, shared: dict[str, Any]
    ) -> JointDistribution:
        """Return the joint distribution of a linear member."""

    def _fit_members(
        self, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> tuple[list[Any], list[Any]]:
        """Fit the members; return their structures and, with `estimator`, the fitted members."""
        self._count("n_estimators")
        counts = self._bootstrap_counts(X, self._seed())
        structures, penalties = self._structures(X, labels, sample_weight, counts)
        if self.estimator is not None:
            return structures, [
                self._classifier_member(structure, self._seed() + k).fit(
                    *_drawn(X, labels, sample_weight, None if counts is None else counts[:, k])
                )
                for k, structure in steps("fitting members", list(enumerate(structures)))
            ]
        self.conditionals_ = fit_structures(
            X,
            labels,
            [self._graph(structure) for structure in structures],
            C=penalties.C,
            label_penalty=penalties.label_penalty,
            sample_weight=sample_weight,
            bootstrap_counts=counts,
            n_threads=self._n_threads(),
        )
        self.C_, self.label_penalty_ = penalties.C, penalties.label_penalty
        self._tell(f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}")
        return structures, []

    def _bootstrap_counts(self, X: Any, seed: int) -> Floats | None:
        """Return how often each row is drawn for each member, (n, M): the Poisson bootstrap.

        The draws are keyed by the rows' content, so that neither their order nor their repetition
        changes what is learned.
        """
        if not self.bootstrap:
            return None
        keys, uniform = row_keys(X), np.empty((X.shape[0], 1))
        counts = np.empty((X.shape[0], self.n_estimators))
        for member in range(self.n_estimators):
            native.fill_uniform(seed, keys, member, uniform)
            counts[:, member] = np.searchsorted(_POISSON, uniform[:, 0])
        counts[:, ~counts.any(axis=0)] = 1.0  # a sample of few rows may be empty
        return counts

    def _averaged(self, X: Any, structures: list[Any], fitted: list[Any]) -> JointDistribution:
        """Return the uniform mixture of the members' joint distributions."""
        shared: dict[str, Any] = {
            "label_names": self._names(),
            "row_ids": row_keys(X),
            "n_threads": self._n_threads(),
        }
        if fitted:
            members = [member.predict_joint(X) for member in fitted]
        else:
            members = [
                self._member(conditionals, structure, X, shared)
                for conditionals, structure in zip(self.conditionals_, structures, strict=True)
            ]
        return MixtureJoint(np.full(len(members), 1 / len(members)), members, **shared)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        if not hasattr(self, "conditionals_"):
            return None
        shape = (X.shape[0], len(self.conditionals_))
        return LinearMembers(X, self.conditionals_, np.full(shape, -np.log(shape[1])))


def _drawn(
    X: Any, labels: Labels, sample_weight: Floats | None, counts: Floats | None
) -> tuple[Any, Labels, Floats | None]:
    """Repeat rows as often as they are drawn: not every classifier supports sample weights."""
    if counts is None:
        return X, labels, sample_weight
    rows = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    return X[rows], labels[rows], None if sample_weight is None else sample_weight[rows]
