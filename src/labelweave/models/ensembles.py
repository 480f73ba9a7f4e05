"""Ensembles: members of different structure on bootstrap samples, averaged.

P(y|x) is the uniform mixture of the members' joint distributions. Members are chains with random
orders (`ChainEnsemble`), or tree networks with random or learned trees (`TreeEnsemble`). The
members of logistic regressions are fitted all at once, those of another classifier one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.stats import poisson

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice
from labelweave._common.presets import Presets, published
from labelweave._common.progress import steps
from labelweave._common.row_keys import row_keys
from labelweave._core import native
from labelweave.decision.losses import Decision
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import LabelGraph, LinearConditionals
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.chains import ChainOrder, ClassifierChain
from labelweave.models.conditionals import (
    LinearMembers,
    TrainingRows,
    linear_joints,
)
from labelweave.models.structure import Structure
from labelweave.models.structure_learning import TreeLearner, random_parents
from labelweave.models.tree_network import TreeNetwork

# Probabilities that a row is drawn at most 0, 1, 2, ... times.
_POISSON = poisson.cdf(np.arange(20), 1.0)


def bootstrap_counts(X: Any, n_members: int, seed: int) -> Floats:
    """Return how often each row is drawn for each member, (n, M): the Poisson bootstrap."""
    # Draws are keyed by the rows' content: neither their order nor their repetition matters.
    keys, uniform = row_keys(X), np.empty((X.shape[0], 1))
    counts = np.empty((X.shape[0], n_members))
    for member in range(n_members):
        native.fill_uniform(seed, keys, member, uniform)
        counts[:, member] = np.searchsorted(_POISSON, uniform[:, 0])
    counts[:, ~counts.any(axis=0)] = 1.0  # a sample of few rows may be empty
    return counts


def fit_members(
    members: Sequence[MultiLabelClassifier], rows: TrainingRows, counts: Floats | None
) -> list[Any]:
    """Fit members of classifiers, each to its sample of the rows."""
    fitted, drawn = [], rows
    for k, member in steps("fitting members", list(enumerate(members))):
        if counts is not None:  # rows are repeated: not every classifier supports sample weights
            places = np.repeat(np.arange(len(counts)), counts[:, k].astype(np.int64))
            drawn = rows.restricted(places)
        fitted.append(member.fit(drawn.X, drawn.labels, drawn.sample_weight))
    return fitted


def uniform_mixture(members: list[JointDistribution], rows: RowOptions) -> MixtureJoint:
    return MixtureJoint(np.full(len(members), 1 / len(members)), members, **rows)


def uniform_members(X: Any, conditionals: Sequence[LinearConditionals]) -> LinearMembers:
    """Return the linear conditionals of members of equal weight."""
    shape = (X.shape[0], len(conditionals))
    return LinearMembers(X, conditionals, np.full(shape, -np.log(shape[1])))


@dataclass(eq=False, repr=False, kw_only=True)
class ChainEnsemble(MultiLabelClassifier):
    """Probabilistic classifier chains with random orders on bootstrap samples.

    The joint distribution is the uniform mixture of the chains' distributions.
    ``decision="hamming"`` averages their marginals (EPCC); ``decision=MajorityVote()`` takes a
    majority vote of the chains' own predictions (ECC). Both were published with
    ``ChainEnsemble.preset("published")``.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        As in `ClassifierChain`; by default a logistic regression, fitted for all chains at once.
    n_estimators : int, default=10
        Number of chains.
    C, label_penalty : float or "cv", default="cv"
        As in `ClassifierChain`; chosen once, for the order of the first chain, on all rows.
    bootstrap : bool, default=True
        Whether each chain is fitted to a bootstrap sample of the rows (bagging) or to all rows.
    decision : {"hamming", "subset", ...} or callable, default="hamming"
        As in `MultiLabelClassifier`.
    inference : "auto" or strategy, default="auto"
        How ``decision="subset"`` searches for the most probable label vector of the mixture:
        "auto" is exact up to 20 labels; beyond, it merges the chains' lists of likely vectors and
        anneals the rows that these leave open.
    n_jobs, random_state, verbose : see `Estimator`

    Attributes
    ----------
    orders_ : list of (L,) arrays
        The labels from first to last, for each chain.
    conditionals_ : list of LinearConditionals
        Only without `estimator`, as are the penalties used, `C_` and `label_penalty_`.
    chains_ : list of ClassifierChain
        Only with `estimator`.

    Notes
    -----
    ECC as published by Read et al. (2009, 2011) is ``ChainEnsemble.preset("published",
    decision=MajorityVote.preset("published"))``, on the command line ``ecc(preset='published')``:
    ten chains, greedy, each on a bootstrap sample, and one threshold for the votes of all labels,
    chosen by the label cardinality of the training rows. These are the settings of MEKA, the first
    author's software, which bags ten chains on samples of full size (here the bootstrap is
    Poisson's) and calibrates the threshold (PCut1). Other software differs: Mulan averages
    confidences and cuts at one half; utiml draws 75 % of the rows and half of the features. EPCC
    cuts averaged marginals at one half; we know of no source for its threshold.

    Examples
    --------
    >>> from labelweave import ChainEnsemble, load
    >>> data = load("emotions")
    >>> model = ChainEnsemble(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = 10
    C: float | str = "cv"
    label_penalty: float | str = "cv"
    bootstrap: bool = True
    decision: str | Decision = "hamming"
    inference: str | Inference = "auto"

    presets: ClassVar[Presets] = published(n_estimators=10, bootstrap=True, label_penalty=1.0)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        n_chains = self._count("n_estimators")
        rows = TrainingRows(X, labels, sample_weight, self._seed(), self._n_threads())
        counts = bootstrap_counts(X, n_chains, rows.seed) if self.bootstrap else None
        random = np.random.default_rng(rows.seed)
        self.orders_ = [random.permutation(self.n_labels_) for _ in range(n_chains)]
        if self.estimator is not None:
            self.chains_ = fit_members(self._unfitted(rows.seed), rows, counts)
            return
        graphs = [LabelGraph.chain(order) for order in self.orders_]
        chosen = rows.penalties(graphs[0], self._penalty("C"), self._penalty("label_penalty"))
        self.conditionals_ = rows.fitted(graphs, chosen, bootstrap_counts=counts)
        self._keep_penalties(chosen)

    def _unfitted(self, seed: int) -> list[ClassifierChain]:
        return [
            ClassifierChain(self.estimator, order=order, n_jobs=self.n_jobs, random_state=seed + k)
            for k, order in enumerate(self.orders_)
        ]

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        if hasattr(self, "chains_"):
            return uniform_mixture([chain.predict_joint(X) for chain in self.chains_], rows)
        orders = [ChainOrder(order) for order in self.orders_]
        return uniform_mixture(linear_joints(orders, self.conditionals_, X, rows), rows)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        return None if hasattr(self, "chains_") else uniform_members(X, self.conditionals_)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeEnsemble(MultiLabelClassifier):
    """Tree networks with random or learned trees on bootstrap samples.

    The joint distribution is the uniform mixture of the trees' distributions. As published (ECTBN),
    with ``TreeEnsemble.preset("published")``, trees are random, and one penalty is common to
    features and labels.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        As in `TreeNetwork`; by default a logistic regression, fitted for all trees at once.
    structure : {"random", "learned"}, default="random"
        Whether trees are random, or each is learned from its own bootstrap sample, among 20
        candidate parents per label if there are more than 64 labels.
    C, label_penalty : float or "cv", default="cv"
        As in `TreeNetwork`; chosen once, for the first tree, on all rows.
    n_estimators, bootstrap, decision, inference : see `ChainEnsemble`
    n_jobs, random_state, verbose : see `Estimator`

    Attributes
    ----------
    structures_ : list of Structure
        The trees.
    conditionals_, C_, label_penalty_ : see `ChainEnsemble`
    networks_ : list of TreeNetwork
        Only with `estimator`.

    Examples
    --------
    >>> from labelweave import TreeEnsemble, load
    >>> data = load("emotions")
    >>> model = TreeEnsemble(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = 10
    structure: str = "random"
    C: float | str = "cv"
    label_penalty: float | str = "cv"
    bootstrap: bool = True
    decision: str | Decision = "hamming"
    inference: str | Inference = "auto"

    presets: ClassVar[Presets] = published(
        n_estimators=10, structure="random", bootstrap=True, label_penalty=1.0
    )

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        n_trees = self._count("n_estimators")
        check_choice(self.structure, "structure", ("random", "learned"))
        rows = TrainingRows(X, labels, sample_weight, self._seed(), self._n_threads())
        counts = bootstrap_counts(X, n_trees, rows.seed) if self.bootstrap else None
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        if self.estimator is not None:
            self.networks_ = fit_members(self._unfitted(rows.seed), rows, counts)
            self.structures_ = [network.structure_ for network in self.networks_]
            return
        if self.structure == "random":
            trees = self._drawn_trees(rows.seed)
            chosen = rows.penalties(trees[0].graph(), C, label_penalty)
        else:
            trees, chosen = self._learned_trees(rows, counts, C, label_penalty)
        graphs = [tree.graph() for tree in trees]
        self.conditionals_ = rows.fitted(graphs, chosen, bootstrap_counts=counts)
        self.structures_ = [
            tree.coupled(conditionals.coupling)
            for tree, conditionals in zip(trees, self.conditionals_, strict=True)
        ]
        self._keep_penalties(chosen)

    def _drawn_trees(self, seed: int) -> list[Structure]:
        random = np.random.default_rng(seed)
        return [
            Structure(random_parents(self.n_labels_, random), label_names=self._names())
            for _ in range(self.n_estimators)
        ]

    def _learned_trees(
        self, rows: TrainingRows, counts: Floats | None, C: float | str, label_penalty: float | str
    ) -> tuple[list[Structure], PenaltyChoice]:
        learner = TreeLearner(rows, self._names())
        first, chosen = learner.with_penalties(C, label_penalty)
        if counts is None:  # all trees see the same rows
            return [first] * self.n_estimators, chosen
        return [learner.learn(chosen, drawn) for drawn in counts.T], chosen

    def _unfitted(self, seed: int) -> list[TreeNetwork]:
        return [
            TreeNetwork(
                self.estimator,
                structure=tree.parents if self.structure == "random" else "learned",
                n_jobs=self.n_jobs,
                random_state=seed + k,
            )
            for k, tree in enumerate(self._drawn_trees(seed))
        ]

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        if hasattr(self, "networks_"):
            return uniform_mixture([tree.predict_joint(X) for tree in self.networks_], rows)
        return uniform_mixture(linear_joints(self.structures_, self.conditionals_, X, rows), rows)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        return None if hasattr(self, "networks_") else uniform_members(X, self.conditionals_)
