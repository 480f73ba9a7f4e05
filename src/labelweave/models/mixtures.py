"""Mixtures of structured components: P(y|x) = Σ_k λ_k(x) P_k(y|x), fitted by EM.

`ChainMixture` and `TreeMixture` differ in the structures of their components and in how penalties
are chosen. `fit_mixture` learns both, and `mixture_joint` makes the joint distributions of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_whole_number, is_one_of
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import distinct_rows
from labelweave.inference import Annealing
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import LabelGraph
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.chains import ChainLearner, resolve_order
from labelweave.models.conditionals import (
    LinearMembers,
    StructureLearner,
    TrainingRows,
    linear_joints,
)
from labelweave.models.em import MixtureSettings
from labelweave.models.mixture_size import (
    FittedMixture,
    MixtureLearner,
    best_penalty,
    compare_sizes,
)
from labelweave.models.structure_learning import TreeLearner, check_screen

#: Settings that mixtures of trees and of chains share as published.
PUBLISHED: Mapping[str, Any] = {
    "C": "held-out",
    "label_penalty": 1.0,
    "settings": MixtureSettings.preset("published"),
    "inference": Annealing.preset("published"),
}


def fit_mixture(
    model: AnyMixture, structures: StructureLearner, penalties: PenaltyChoice
) -> FittedMixture:
    """Learn the components and their number; `penalties` are those of a single component."""
    size = _size(model.n_components)
    learner = MixtureLearner(structures, penalties, _settings(model))
    if is_one_of(model.C, "held-out"):
        learner = replace(learner, penalties=replace(penalties, C=best_penalty(learner, size)))
    selection = compare_sizes(learner) if size is None else None
    fitted = learner.fit(size or 1) if selection is None else selection.fit()
    model.history_ = [] if selection is None else selection.steps
    model.components_ = fitted.components
    model.conditionals_ = fitted.mixture.conditionals(learner.penalties)
    model.gate_ = fitted.mixture.gate
    model.objectives_ = fitted.objectives
    model.n_components_ = fitted.mixture.n_components
    model._keep_penalties(learner.penalties, f"{model.n_components_} components")
    return fitted


def mixture_joint(model: AnyMixture, X: Any, rows: RowOptions) -> JointDistribution:
    """Return the mixture of the components' joint distributions, or the only one of them."""
    members = linear_joints(model.components_, model.conditionals_, X, rows)
    if len(members) == 1:
        return members[0]
    return MixtureJoint(np.exp(model.gate_.log_weights(X, rows["n_threads"])), members, **rows)


def mixture_members(model: AnyMixture, X: Any) -> LinearMembers:
    return LinearMembers(X, model.conditionals_, model.gate_.log_weights(X, model._n_threads()))


def _check_mixture(model: AnyMixture) -> None:
    _size(model.n_components)
    _settings(model)
    _penalties_of_one(model)


def _settings(model: AnyMixture) -> MixtureSettings:
    settings = model._setting("settings")
    if not isinstance(settings, MixtureSettings):
        raise ValueError(f"settings must be a MixtureSettings or None; got {settings!r}")
    return settings


def _size(n_components: Any) -> int | None:
    """Return the given number of components, or None for "auto"."""
    if is_one_of(n_components, "auto"):
        return None
    return check_whole_number(n_components, "n_components", otherwise="'auto'")


def _penalties_of_one(model: AnyMixture) -> tuple[float | str, float | str]:
    """Return the penalties of a single component; a search for the held-out C starts there."""
    held_out = is_one_of(model.C, "held-out")
    C = "cv" if held_out else model._penalty("C", "'held-out', 'cv'")
    return C, model._penalty("label_penalty")


def _distinct_rows(
    model: AnyMixture, X: Any, labels: Labels, sample_weight: Floats | None
) -> TrainingRows:
    """Return the distinct rows with the sums of their weights.

    EM ends before it converges, so that only rows in the same form give the same result whether
    they are repeated or weighted, and in any order.
    """
    given = np.ones(len(labels)) if sample_weight is None else sample_weight
    rows, weight = distinct_rows(X, labels, given)
    distinct = None if np.all(weight == 1.0) else weight
    return TrainingRows(X[rows], labels[rows], distinct, model._seed(), model._n_threads())


@dataclass(eq=False, repr=False, kw_only=True)
class ChainMixture(MultiLabelClassifier):
    """A mixture of probabilistic classifier chains: P(y|x) = Σ_k λ_k(x) P(y|x, chain k).

    It is learned like `TreeMixture`, with chains as components, and has the same preset
    "published".

    Parameters
    ----------
    n_components, C, label_penalty, settings, inference : see `TreeMixture`
    order : None, "random", "auto", or sequence of int or str, default=None
        The labels from first to last, in every chain; None is the order of y's columns. "random"
        draws an order per chain, "auto" takes the best of ten candidates for the rows that each
        chain starts from.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    components_ : list of ChainOrder
        The order of each chain.
    n_components_, conditionals_, gate_, history_, objectives_, C_, label_penalty_
        As in `TreeMixture`.

    Examples
    --------
    >>> from labelweave import ChainMixture, load
    >>> data = load("emotions")
    >>> model = ChainMixture(n_components=2, C=0.01, label_penalty=0.03)
    >>> model.fit(data.X[:400], data.Y[:400]).predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    n_components: int | str = "auto"
    C: float | str = "cv"
    label_penalty: float | str = "cv"
    order: str | ArrayLike | None = None
    settings: MixtureSettings | None = None
    inference: str | Inference = "auto"

    presets: ClassVar[Presets] = published(**PUBLISHED)
    _default_settings: ClassVar[Mapping[str, Any]] = {"settings": MixtureSettings()}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_mixture(self)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        rows = _distinct_rows(self, X, labels, sample_weight)
        # Penalties hardly depend on the order: they are chosen for y's columns if it is open.
        given = None if is_one_of(self.order, "random", "auto") else self.order
        order = resolve_order(given, self.n_labels_, self._names(), rows.seed)
        penalties = rows.penalties(LabelGraph.chain(order), *_penalties_of_one(self))
        learner = ChainLearner(rows, order if given is self.order else str(self.order))
        fit_mixture(self, learner, penalties)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return mixture_joint(self, X, rows)

    def _linear_members(self, X: Any) -> LinearMembers:
        return mixture_members(self, X)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeMixture(MultiLabelClassifier):
    """A mixture of tree networks: P(y|x) = Σ_k λ_k(x) P(y|x, tree k).

    Trees and mixing weights are learned by expectation maximisation. By default the mixing weights
    depend on x, and each tree starts from a cluster of similar label vectors. With
    ``MixtureSettings(gate="constant")`` they are constant, and trees are added one at a time, each
    learned from the rows that the others explain badly.

    ``TreeMixture.preset("published")`` is the mixture as its authors learn and decode it: constant
    mixing weights, equal components, one penalty for features and labels, a size chosen on one
    split at the first decrease, the trees of that split, and simulated annealing. The paper chooses
    the penalty "by cross validation"; the preset takes the penalty under which held-out rows are
    most probable: the rows held out by that split or, if rows are few, by up to three splits.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of trees; "auto" chooses it by held-out log-likelihood.
    C : float, "cv" or "held-out", default="cv"
        Inverse strength of the features' L2 penalty, in the trees and in the gate; "cv" chooses it
        by cross-validated log-likelihood of a single tree, "held-out" by the log-likelihood of the
        mixture on the rows that are held out to compare numbers of trees.
    label_penalty : float or "cv", default="cv"
        Penalty of the parents' coefficients relative to the features'.
    screen : int, "auto" or None, default="auto"
        Number of candidate parents per label; as in `TreeNetwork`.
    settings : MixtureSettings, optional
        The largest number of components, the mixing weights and how "auto" compares sizes; None
        stands for ``MixtureSettings()``.
    inference : see `ClassifierChain`
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    n_components_ : int
        Number of trees; smaller than `n_components` if there are fewer distinct label vectors.
    components_ : list of Structure
        The trees.
    conditionals_ : list of LinearConditionals
        Weights, intercepts and couplings of each tree.
    gate_ : Gate
        The mixing weights.
    history_ : list of SelectionStep
        The log-likelihoods of each number of trees that "auto" tried.
    objectives_ : list of float
        Penalised log-likelihood of all rows before each iteration of EM and at the end.
    C_, label_penalty_ : float
        The penalties used.

    Notes
    -----
    The defaults, and the accuracy with which mixtures are learned while their sizes are compared,
    were chosen on other data than the papers' data (section 3.4 of ``docs/design/math.md``).

    Examples
    --------
    >>> from labelweave import TreeMixture, load
    >>> data = load("emotions")
    >>> model = TreeMixture(n_components=3, C=0.01, label_penalty=0.03)
    >>> model.fit(data.X[:400], data.Y[:400]).predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    n_components: int | str = "auto"
    C: float | str = "cv"
    label_penalty: float | str = "cv"
    screen: int | str | None = "auto"
    settings: MixtureSettings | None = None
    inference: str | Inference = "auto"

    presets: ClassVar[Presets] = published(**PUBLISHED)
    _default_settings: ClassVar[Mapping[str, Any]] = {"settings": MixtureSettings()}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        _check_mixture(self)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        rows = _distinct_rows(self, X, labels, sample_weight)
        screen, cv = check_screen(self.screen), _settings(self).cv
        learner = TreeLearner(rows, self._names(), screen, cv)
        # The tree that is learned here only serves to choose penalties: one split is enough.
        penalties = learner.for_comparison().chosen_penalties(*_penalties_of_one(self))
        fitted = fit_mixture(self, learner, penalties)
        self.components_ = [
            tree.coupled(conditionals.coupling)
            for tree, conditionals in zip(fitted.components, self.conditionals_, strict=True)
        ]

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return mixture_joint(self, X, rows)

    def _linear_members(self, X: Any) -> LinearMembers:
        return mixture_members(self, X)


AnyMixture: TypeAlias = ChainMixture | TreeMixture
