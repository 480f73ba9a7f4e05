"""Ensembles of tree networks with different trees."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice
from labelweave._common.label_graph import LabelGraph
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.inference import Inference
from labelweave.joint import JointDistribution, TreeJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.ensemble import UniformEnsemble
from labelweave.models.trees.structure import Structure
from labelweave.models.trees.structure_learning import TreeLearner, random_parents
from labelweave.models.trees.tree_network import TreeNetwork, check_screen, tree_logits


class TreeEnsemble(UniformEnsemble):
    """Tree networks with random or learned trees on bootstrap samples.

    The joint distribution is the uniform mixture of the trees'. As published (ECTBN), with
    ``TreeEnsemble.preset("published")``, trees are random, and one penalty is common to features
    and labels.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of trees.
    structure : {"random", "learned"}, default="random"
        Whether trees are random, or each is learned from its own bootstrap sample.
    estimator : scikit-learn classifier, optional
        As in `TreeNetwork`; by default a logistic regression, fitted for all trees at once.
    C, label_penalty : float or "cv", default="cv"
        As in `TreeNetwork`; chosen once, for the first tree, on all rows.
    bootstrap : bool, default=True
        Whether each tree is fitted to a bootstrap sample of the rows (bagging) or to all rows.
    screen : int, "auto" or None, default="auto"
        Number of candidate parents per label if trees are learned; as in `TreeNetwork`.
    decision : {"hamming", "subset"} or callable, default="hamming"
        The loss that `predict` minimises.
    inference : "auto" or strategy, default="auto"
        How ``decision="subset"`` searches for the most probable label vector of the mixture.
    n_jobs : int, optional
        Number of threads (of processes, if `estimator` is given); -1 uses all cores. Results do not
        depend on it.
    random_state : int, RandomState or None, default=None
        Seeds trees, resampling, folds and every unset `random_state` of `estimator`. None means 0.
    verbose : int, default=0
        If positive, print the chosen penalties.

    Attributes
    ----------
    structures_ : list of Structure
        The trees.
    conditionals_ : list of LinearConditionals
        Only without `estimator`.
    networks_ : list of TreeNetwork
        Only with `estimator`.
    C_, label_penalty_ : float
        The penalties used; only without `estimator`.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import TreeEnsemble
    >>> data = load_emotions()
    >>> model = TreeEnsemble(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    presets: ClassVar[Presets] = published(
        n_estimators=10, structure="random", bootstrap=True, label_penalty=1.0
    )

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        structure: str = "random",
        estimator: Any = None,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        bootstrap: bool = True,
        screen: int | str | None = "auto",
        decision: str | Decision = "hamming",
        inference: str | Inference = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.structure = structure
        self.estimator = estimator
        self.C = C
        self.label_penalty = label_penalty
        self.bootstrap = bootstrap
        self.screen = screen
        self.decision = decision
        self.inference = inference
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        self.structures_, networks = self._fit_members(X, labels, sample_weight)
        if networks:
            self.networks_ = networks
            self.structures_ = [network.structure_ for network in networks]
        else:
            self.structures_ = [
                structure.coupled(conditionals.coupling)
                for structure, conditionals in zip(
                    self.structures_, self.conditionals_, strict=True
                )
            ]

    def _structures(
        self, X: Any, labels: Labels, sample_weight: Floats | None, bootstrap_counts: Floats | None
    ) -> tuple[list[Structure], PenaltyChoice]:
        check_choice(self.structure, "structure", ("random", "learned"))
        learner = TreeLearner(
            X=X,
            labels=labels,
            sample_weight=sample_weight,
            screen=check_screen(self.screen),
            label_names=self._names(),
            seed=self._seed(),
            n_threads=self._n_threads(),
        )
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        random = np.random.default_rng(self._seed())
        drawn = [
            Structure(random_parents(self.n_labels_, random), label_names=self._names())
            for _ in range(self.n_estimators)
        ]
        if self.estimator is not None:
            return drawn, PenaltyChoice(np.nan, np.nan)
        if self.structure == "random":
            return drawn, learner.penalties(drawn[0].graph(), C, label_penalty)
        first, penalties = learner.with_penalties(C, label_penalty)
        if bootstrap_counts is None:  # all trees see the same rows
            return [first] * self.n_estimators, penalties
        return [learner.learn(penalties, counts) for counts in bootstrap_counts.T], penalties

    def _graph(self, structure: Structure) -> LabelGraph:
        return structure.graph()

    def _classifier_member(self, structure: Structure, seed: int) -> TreeNetwork:
        return TreeNetwork(
            estimator=self.estimator,
            structure=structure.parents if self.structure == "random" else "learned",
            screen=self.screen,
            n_jobs=self.n_jobs,
            random_state=seed,
        )

    def _member(
        self,
        conditionals: LinearConditionals,
        structure: Structure,
        X: Any,
        shared: dict[str, Any],
    ) -> JointDistribution:
        logits = tree_logits(conditionals, X, self._n_threads())
        return TreeJoint(logits, structure.parents, **shared)

    def _joint(self, X: Any) -> JointDistribution:
        return self._averaged(X, self.structures_, getattr(self, "networks_", []))
