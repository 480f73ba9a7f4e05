"""ChainEnsemble, TreeEnsemble: members on bootstrap samples, averaged.

What ensembles share: members of different structure on bootstrap samples, averaged.

Ensembles of classifier chains with different orders.

Ensembles of tree networks with different trees.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.stats import poisson

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice
from labelweave._common.presets import Presets, published
from labelweave._common.progress import steps
from labelweave._common.row_keys import row_keys
from labelweave._core import native
from labelweave.decision import Decision
from labelweave.inference.strategy import Inference
from labelweave.joint import ChainJoint, JointDistribution, MixtureJoint, TreeJoint
from labelweave.logistic.conditionals import (
    LabelGraph,
    LinearConditionals,
    fit_structures,
    structure_penalties,
)
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.base import MultiLabelClassifier, RowOptions
from labelweave.models.chains import ClassifierChain
from labelweave.models.conditionals import LinearMembers
from labelweave.models.structure import Structure
from labelweave.models.structure_learning import TreeLearner, random_parents
from labelweave.models.tree_network import TreeNetwork, check_screen, tree_logits

# Probabilities that a row is drawn at most 0, 1, 2, ... times.
_POISSON = poisson.cdf(np.arange(20), 1.0)


class UniformEnsemble(MultiLabelClassifier):
    """The uniform mixture of members that differ in structure and in their bootstrap samples.

    A subclass chooses structures and penalties (`_structures`), makes a member of base classifiers
    (`_classifier_member`) and the joint distribution of a linear one (`_member`).
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


class ChainEnsemble(UniformEnsemble):
    """Probabilistic classifier chains with random orders on bootstrap samples.

    The joint distribution is the uniform mixture of the chains'. ``decision="hamming"`` averages
    their marginals (EPCC); ``decision=MajorityVote()`` takes a majority vote of the chains' own
    predictions (ECC). ``ChainEnsemble.preset("published")`` has the settings that both were
    published with; see Notes for ECC's decision.

    Parameters
    ----------
    n_estimators : int, default=10
        Number of chains.
    estimator : scikit-learn classifier, optional
        As in `ClassifierChain`; by default a logistic regression, fitted for all chains at once.
    C, label_penalty : float or "cv", default="cv"
        As in `ClassifierChain`; chosen once, for the order of the first chain, on all rows.
    bootstrap : bool, default=True
        Whether each chain is fitted to a bootstrap sample of the rows (bagging) or to all rows.
    decision : {"hamming", "subset"} or callable, default="hamming"
        The loss that `predict` minimises.
    inference : "auto" or strategy, default="auto"
        How ``decision="subset"`` searches for the most probable label vector of the mixture:
        "auto" is exact up to 20 labels; beyond, it merges the chains' lists of likely vectors and
        anneals the rows that these leave open.
    n_jobs : int, optional
        Number of threads (of processes, if `estimator` is given); -1 uses all cores. Results do not
        depend on it.
    random_state : int, RandomState or None, default=None
        Seeds orders, resampling, folds and every unset `random_state` of `estimator`. None means 0.
    verbose : int, default=0
        If positive, print the chosen penalties.

    Attributes
    ----------
    orders_ : list of (L,) arrays
        The labels from first to last, for each chain.
    conditionals_ : list of LinearConditionals
        Only without `estimator`.
    chains_ : list of ClassifierChain
        Only with `estimator`.

    Notes
    -----
    ECC as published by Read et al. (2009, 2011) is ``ChainEnsemble.preset("published",
    decision=MajorityVote.preset("published"))``, on the command line ``ecc(preset='published')``:
    ten chains, greedy, each on a bootstrap sample, and one threshold for the votes of all labels,
    chosen by the label cardinality of the training rows. These are the settings of MEKA, the first
    author's software, which bags ten chains on samples of full size (here the bootstrap is
    Poisson's) and calibrates the threshold (PCut1). Other software differs: Mulan draws the same
    samples (67 % without replacement is an option), but averages confidences and cuts at one half;
    utiml draws 75 % of the rows and half of the features; scikit-multilearn has no ECC. EPCC, whose
    threshold we know of no source for, cuts averaged marginals at one half.

    Examples
    --------
    >>> from labelweave.data.load import load_emotions
    >>> from labelweave import ChainEnsemble
    >>> data = load_emotions()
    >>> model = ChainEnsemble(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    presets: ClassVar[Presets] = published(n_estimators=10, bootstrap=True, label_penalty=1.0)

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        estimator: Any = None,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        bootstrap: bool = True,
        decision: str | Decision = "hamming",
        inference: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.estimator = estimator
        self.C = C
        self.label_penalty = label_penalty
        self.bootstrap = bootstrap
        self.decision = decision
        self.inference = inference
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        self.orders_, chains = self._fit_members(X, labels, sample_weight)
        if chains:
            self.chains_ = chains

    def _structures(
        self,
        X: Any,
        labels: Labels,
        sample_weight: Floats | None,
        bootstrap_counts: Floats | None,
    ) -> tuple[list[Indices], PenaltyChoice]:
        random = np.random.default_rng(self._seed())
        orders = [random.permutation(self.n_labels_) for _ in range(self.n_estimators)]
        if self.estimator is not None:
            return orders, PenaltyChoice(np.nan, np.nan)
        penalties = structure_penalties(
            X,
            labels,
            self._graph(orders[0]),
            C=self._penalty("C"),
            label_penalty=self._penalty("label_penalty"),
            sample_weight=sample_weight,
            seed=self._seed(),
            n_threads=self._n_threads(),
        )
        return orders, penalties

    def _graph(self, structure: Indices) -> LabelGraph:
        return LabelGraph.chain(structure)

    def _classifier_member(self, structure: Indices, seed: int) -> ClassifierChain:
        return ClassifierChain(
            estimator=self.estimator, order=structure, n_jobs=self.n_jobs, random_state=seed
        )

    def _member(
        self,
        conditionals: LinearConditionals,
        structure: Indices,
        X: Any,
        shared: dict[str, Any],
    ) -> JointDistribution:
        scores = conditionals.scores(X, n_threads=self._n_threads())
        return ChainJoint(scores, conditionals.coupling, structure, **shared)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return self._averaged(X, self.orders_, getattr(self, "chains_", []))


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
    >>> from labelweave.data.load import load_emotions
    >>> from labelweave import TreeEnsemble
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

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return self._averaged(X, self.structures_, getattr(self, "networks_", []))
