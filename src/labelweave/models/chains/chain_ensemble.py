"""Ensembles of classifier chains with different orders."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.label_graph import LabelGraph
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.joint import ChainJoint, JointDistribution
from labelweave.logistic import LinearConditionals, PenaltyChoice, structure_penalties
from labelweave.models.chains.classifier_chain import ClassifierChain
from labelweave.models.ensemble import UniformEnsemble


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
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import ChainEnsemble
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

    def _joint(self, X: Any) -> JointDistribution:
        return self._averaged(X, self.orders_, getattr(self, "chains_", []))
