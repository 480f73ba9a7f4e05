"""Ensembles of classifier chains: many orders, averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import poisson

from labelweave._core import native
from labelweave.decision import Decision
from labelweave.joint import ChainJoint, JointDistribution, MixtureJoint
from labelweave.logistic import fit_structures
from labelweave.logistic.row_keys import row_keys
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.classifier_chain import ClassifierChain
from labelweave.models.order import earlier_labels

# Probabilities that a row is drawn at most 0, 1, 2, ... times.
_POISSON = poisson.cdf(np.arange(20), 1.0)


class ChainEnsemble(MultiLabelClassifier):
    """Probabilistic classifier chains with random orders on resampled rows.

    The joint distribution is the uniform mixture of the chains'. ``decision="hamming"`` averages
    their marginals (EPCC); ``decision=Vote()`` lets each chain predict on its own and counts votes
    (ECC).

    Parameters
    ----------
    n_estimators : int, default=10
        Number of chains.
    base : scikit-learn classifier, optional
        As in `ClassifierChain`; by default logistic regression, for all chains at once.
    C, label_penalty : float or "cv", default="cv"
        As in `ClassifierChain`; chosen once, for the first chain's order and all rows.
    bootstrap : bool, default=True
        Whether each chain learns from rows drawn with replacement (bagging), or from all alike.
    decision : {"hamming", "subset"} or callable, default="hamming"
        The loss `predict` decides for.
    inference : "auto" or strategy, default="auto"
        How ``decision="subset"`` looks for the most probable label vector of the mixture: exact up
        to 20 labels, the best of the chains' greedy vectors beyond.
    n_jobs : int, optional
        Threads (processes with `base`); -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds orders, resampling, folds and the open seeds of `base`. None counts as 0.
    verbose : int, default=0
        Above zero, `fit` tells what it chose.

    Attributes
    ----------
    orders_ : list of (L,) arrays
        The labels from first to last, for each chain.
    conditionals_ : list of LinearConditionals
        Without `base`.
    chains_ : list of ClassifierChain
        With `base`.

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

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        base: Any = None,
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
        self.base = base
        self.C = C
        self.label_penalty = label_penalty
        self.bootstrap = bootstrap
        self.decision = decision
        self.inference = inference
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> None:
        self._count("n_estimators")
        seed = self._seed()
        random = np.random.default_rng(seed)
        self.orders_ = [random.permutation(self.n_labels_) for _ in range(self.n_estimators)]
        bags = self._bags(X, seed)
        if self.base is not None:
            self.chains_ = [
                ClassifierChain(
                    base=self.base, order=order, n_jobs=self.n_jobs, random_state=seed + k
                ).fit(*_drawn(X, labels, sample_weight, None if bags is None else bags[:, k]))
                for k, order in enumerate(self.orders_)
            ]
            return
        self.conditionals_ = fit_structures(
            X,
            labels,
            [earlier_labels(order) for order in self.orders_],
            C=self._penalty("C"),
            label_penalty=self._penalty("label_penalty"),
            sample_weight=sample_weight,
            bags=bags,
            seed=seed,
            n_threads=self._n_threads(),
        )
        self.C_ = self.conditionals_[0].C
        self.label_penalty_ = self.conditionals_[0].label_penalty
        self._tell(f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}")

    def _bags(self, X: Any, seed: int) -> NDArray[np.float64] | None:
        """How often each row is drawn for each chain, (n, M): Poisson's bootstrap.

        The draws are keyed by the rows' content, so that neither their order nor their repetition
        changes what is learned.
        """
        if not self.bootstrap:
            return None
        keys, uniform = row_keys(X), np.empty((X.shape[0], 1))
        bags = np.empty((X.shape[0], self.n_estimators))
        for member in range(self.n_estimators):
            native.fill_uniform(seed, keys, member, uniform)
            bags[:, member] = np.searchsorted(_POISSON, uniform[:, 0])
        bags[:, ~bags.any(axis=0)] = 1.0  # a few rows may all stay out
        return bags

    def _joint(self, X: Any) -> JointDistribution:
        shared: dict[str, Any] = {
            "label_names": self._names(),
            "row_ids": row_keys(X),
            "n_threads": self._n_threads(),
        }
        if hasattr(self, "chains_"):
            members = [chain.predict_joint(X) for chain in self.chains_]
        else:
            members = [
                ChainJoint(
                    conditionals.scores(X, n_threads=self._n_threads()),
                    conditionals.coupling,
                    order,
                    **shared,
                )
                for conditionals, order in zip(self.conditionals_, self.orders_, strict=True)
            ]
        return MixtureJoint(np.full(len(members), 1 / len(members)), members, **shared)


def _drawn(
    X: Any,
    labels: NDArray[np.int8],
    sample_weight: NDArray[np.float64] | None,
    counts: NDArray[np.float64] | None,
) -> tuple[Any, NDArray[np.int8], NDArray[np.float64] | None]:
    """Rows as often as they are drawn: not every classifier knows sample weights."""
    if counts is None:
        return X, labels, sample_weight
    rows = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    return X[rows], labels[rows], None if sample_weight is None else sample_weight[rows]
