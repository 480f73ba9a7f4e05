"""Mixtures of tree networks."""

from __future__ import annotations

from typing import Any, ClassVar

from labelweave._common.arrays import Floats, Labels
from labelweave._common.presets import Presets, published
from labelweave.decision import Decision
from labelweave.inference import Annealing, Inference
from labelweave.joint import JointDistribution, TreeJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.mixtures.structured_mixture import (
    MAX_COMPONENTS,
    N_SPLITS,
    PATIENCE,
    PRIOR_WEIGHT,
    StructuredMixture,
)
from labelweave.models.trees.structure import Structure
from labelweave.models.trees.structure_learning import N_FOLDS, TreeLearner
from labelweave.models.trees.tree_network import check_screen, tree_logits


class TreeMixture(StructuredMixture):
    """A mixture of tree networks: P(y|x) = Σ_k λ_k(x) P(y|x, tree k).

    Trees and mixing weights are learned by expectation maximisation. By default the mixing weights
    depend on x, each tree starts from a group of similar label vectors, and the number of trees
    is the best for rows held out. With ``gate="constant"`` they do not depend on x, and each tree
    is learned from the rows the others explain badly.

    ``TreeMixture.preset("published")`` is the mixture as its authors learn and decode it: constant
    weights, rows that count γ/Γ in every tree, growth that one split judges and the first size
    that is worse ends, trees that are kept, and simulated annealing.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of trees; "auto" goes on as long as held-out rows are explained better.
    max_components : int, default=12
        Trees that "auto" goes up to.
    gate : {"linear", "constant"}, default="linear"
        Whether the mixing weights depend on x, by a linear model, or not.
    weighting : {"share", "equal"}, default="share"
        How much rows count when a tree is refitted: by its share of them, γ, so that a tree with
        few rows is held by its penalty the more; or "equal", γ divided by the sum of all γ of the
        tree, so that every tree is penalised alike.
    prior_weight : float, default=0.01
        How much every row counts in every tree beside its share: trees with few rows lean on all.
    n_splits : int, default=3
        "auto" judges sizes by at most so many fifths of the rows, each held out once. 1 keeps the
        trees learned without the held-out fifth and relearns only their parameters from all rows.
    patience : int, default=2
        "auto" ends with so many sizes in a row that are worse than the best.
    C : float or "cv", default="cv"
        Inverse penalty of the features, in the trees and in the gate; "cv" chooses it by
        cross-validated log-likelihood of a single tree.
    label_penalty : float or "cv", default="cv"
        Penalty of the parents' coefficients relative to the features'.
    screen : int, "auto" or None, default="auto"
        How many parents of each label are tried; as in `TreeNetwork`.
    n_folds : int, default=3
        By how many folds edges are weighed; as in `TreeNetwork`.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; see `labelweave.inference`.
    decision : {"subset", "hamming"} or callable, default="subset"
        The loss that `predict` minimises: "subset" gives the most probable label vector, "hamming"
        each label by its marginal probability.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds. None means 0.
    verbose : int, default=0
        If positive, print the chosen penalties and the number of trees.

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

    Notes
    -----
    The default `weighting` was not chosen on emotions, scene, yeast or image, but on 900 rows and
    eight labels each of tmc2007-500, slashdot, corel5k and imdb, and on synthetic data. With a
    linear gate and eight trees, "share" has the lower CLL-loss on the first two and on data of a
    chain, "equal" on data of three trees; the others show no difference. With constant weights,
    "equal" wins wherever more than one tree pays; by share, one tree takes nearly all rows.

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

    presets: ClassVar[Presets] = published(
        gate="constant",
        weighting="equal",
        prior_weight=0.0,
        n_splits=1,
        patience=1,
        n_folds=1,
        inference=Annealing.preset("published"),
    )

    def __init__(
        self,
        *,
        n_components: int | str = "auto",
        max_components: int = MAX_COMPONENTS,
        gate: str = "linear",
        weighting: str = "share",
        prior_weight: float = PRIOR_WEIGHT,
        n_splits: int = N_SPLITS,
        patience: int = PATIENCE,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        screen: int | str | None = "auto",
        n_folds: int = N_FOLDS,
        inference: str | Inference = "auto",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.max_components = max_components
        self.gate = gate
        self.weighting = weighting
        self.prior_weight = prior_weight
        self.n_splits = n_splits
        self.patience = patience
        self.C = C
        self.label_penalty = label_penalty
        self.screen = screen
        self.n_folds = n_folds
        self.inference = inference
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learner(self, X: Any, labels: Labels, sample_weight: Floats | None) -> TreeLearner:
        return TreeLearner(
            X=X,
            labels=labels,
            sample_weight=sample_weight,
            screen=check_screen(self.screen),
            n_folds=self._count("n_folds"),
            label_names=self._names(),
            seed=self._seed(),
            n_threads=self._n_threads(),
        )

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
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
