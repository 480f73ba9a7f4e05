"""Mixtures of tree networks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave.decision import Decision
from labelweave.inference import Inference
from labelweave.joint import JointDistribution, TreeJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.mixture import MAX_COMPONENTS, StructuredMixture
from labelweave.models.tree_learning import TreeLearner
from labelweave.models.tree_network import check_screen, tree_logits
from labelweave.models.tree_structure import Structure


class TreeMixture(StructuredMixture):
    """A mixture of tree networks: P(y|x) = Σ_k λ_k(x) P(y|x, tree k).

    Trees and mixing weights are learned by expectation maximisation. By default the mixing weights
    depend on x, each tree starts from a group of similar label vectors, and the number of trees
    is the best for rows held out. With ``gate="constant"`` it is the published mixture: constant
    weights, each tree learned from the rows the others explain badly.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of trees; "auto" goes on as long as held-out rows are explained better.
    max_components : int, default=12
        Trees that "auto" goes up to.
    gate : {"linear", "constant"}, default="linear"
        Whether the mixing weights depend on x, by a linear model, or not.
    C : float or "cv", default="cv"
        Inverse penalty of the features, in the trees and in the gate; "cv" chooses it by
        cross-validated log-likelihood of a single tree.
    label_penalty : float or "cv", default="cv"
        Penalty of the parents' coefficients relative to the features'.
    screen : int, "auto" or None, default="auto"
        How many parents of each label are tried; as in `TreeNetwork`.
    inference : "auto" or strategy, default="auto"
        How the most probable label vector is looked for; see `labelweave.inference`.
    decision : {"subset", "hamming"} or callable, default="subset"
        The loss `predict` decides for: the most probable vector, or each label by its marginal.
    n_jobs : int, optional
        Threads; -1 uses all cores. Results do not depend on it, nor on the rows predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds. None counts as 0.
    verbose : int, default=0
        Above zero, `fit` tells what it chose.

    Attributes
    ----------
    n_components_ : int
        Number of trees; fewer than asked for where there are fewer distinct label vectors.
    components_ : list of Structure
        The trees.
    conditionals_ : list of LinearConditionals
        Their weights, intercepts and couplings.
    gate_ : Gate
        The mixing weights.
    history_ : list of GrowthStep
        What each number of trees achieved, where it was found by "auto".
    objectives_ : list of float
        Penalised log-likelihood of all rows before each iteration of EM and at the end.
    C_, label_penalty_ : float
        The penalties used.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import TreeMixture
    >>> data = load_emotions()
    >>> model = TreeMixture(n_components=3, C=0.01, label_penalty=0.03)
    >>> model.fit(data.X[:400], data.Y[:400]).predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    def __init__(
        self,
        *,
        n_components: int | str = "auto",
        max_components: int = MAX_COMPONENTS,
        gate: str = "linear",
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        screen: int | str | None = "auto",
        inference: str | Inference = "auto",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.gate = gate
        self.C = C
        self.label_penalty = label_penalty
        self.screen = screen
        self.inference = inference
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learner(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> TreeLearner:
        return TreeLearner(
            X=X,
            labels=labels,
            sample_weight=sample_weight,
            screen=check_screen(self.screen),
            label_names=self._names(),
            seed=self._seed(),
            n_threads=self._n_threads(),
        )

    def _fit(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> None:
        super()._fit(X, labels, sample_weight)
        self.components_ = [
            tree.coupled(conditionals.coupling)
            for tree, conditionals in zip(self.components_, self.conditionals_, strict=True)
        ]

    def _penalties(self, learner: TreeLearner) -> PenaltyChoice:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        if isinstance(C, float) and isinstance(label_penalty, float):
            return PenaltyChoice(C, label_penalty)
        return learner.with_penalties(C, label_penalty)[1]

    def _member(
        self,
        conditionals: LinearConditionals,
        component: Structure,
        X: Any,
        shared: dict[str, Any],
    ) -> JointDistribution:
        logits = tree_logits(conditionals, X, self._n_threads())
        return TreeJoint(logits, component.parents, **shared)
