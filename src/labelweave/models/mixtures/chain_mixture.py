"""Mixtures of classifier chains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Indices, Labels, Positions
from labelweave._common.label_graph import LabelGraph
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.inference import Inference
from labelweave.joint import ChainJoint, JointDistribution
from labelweave.logistic import (
    LinearConditionals,
    PenaltyChoice,
    structure_losses,
    structure_penalties,
)
from labelweave.models.chains.order import candidate_orders, resolve_order
from labelweave.models.mixtures.structured_mixture import (
    MAX_COMPONENTS,
    N_SPLITS,
    PATIENCE,
    PRIOR_WEIGHT,
    PUBLISHED,
    StructuredMixture,
)


@dataclass(frozen=True, eq=False)
class ChainOrder:
    """The order of a chain, from first to last label.

    Attributes
    ----------
    order : (L,) int array

    Examples
    --------
    >>> ChainOrder(np.array([1, 0])).graph().parents
    (array([1]), array([], dtype=int64))
    """

    order: Indices

    def graph(self) -> LabelGraph:
        """Return which labels come before each label."""
        return LabelGraph.chain(self.order)


@dataclass(frozen=True)
class ChainLearner:
    """Chooses the orders of a mixture's chains.

    Attributes
    ----------
    X : (n, D) array or CSR
    labels : (n, L) int8 array
    sample_weight : (n,) array or None
    order : (L,) array, "random" or "auto"
    seed, n_threads : int
    """

    X: Any
    labels: Labels
    sample_weight: Floats | None
    order: Indices | str
    seed: int
    n_threads: int

    def component(
        self, penalties: PenaltyChoice, row_weight: Floats | None, index: int, tolerance: float
    ) -> ChainOrder:
        """Return the order of chain `index` for rows weighted by `row_weight`."""
        if not isinstance(self.order, str):
            return ChainOrder(self.order)
        n_labels = self.labels.shape[1]
        if self.order == "random":
            random = np.random.default_rng([self.seed, index])
            return ChainOrder(random.permutation(n_labels).astype(np.int64))
        weight = self.sample_weight
        if row_weight is not None:
            weight = row_weight if weight is None else weight * row_weight
        orders = candidate_orders(self.labels, self.seed)
        losses = structure_losses(
            self.X,
            self.labels,
            [LabelGraph.chain(order) for order in orders],
            C=penalties.C,
            label_penalty=penalties.label_penalty,
            sample_weight=weight,
            seed=self.seed,
            n_threads=self.n_threads,
        )
        return ChainOrder(orders[int(losses.argmin())])

    def restricted(self, rows: Positions) -> ChainLearner:
        """Return the learner for a subset of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return replace(self, X=self.X[rows], labels=self.labels[rows], sample_weight=weight)

    def for_comparison(self) -> ChainLearner:
        """Return the learner itself: there is nothing cheaper."""
        return self


class ChainMixture(StructuredMixture):
    """A mixture of probabilistic classifier chains: P(y|x) = Σ_k λ_k(x) P(y|x, chain k).

    Learned like `TreeMixture`, with chains as components: each label depends on all labels before
    it in the chain's order. ``ChainMixture.preset("published")`` learns and decodes them as
    ``TreeMixture.preset("published")`` does trees.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of chains; "auto" chooses it by held-out log-likelihood.
    max_components : int, default=12
        Largest number of chains that "auto" tries.
    gate : {"linear", "constant"}, default="linear"
        Whether the mixing weights depend on x, through linear log-odds, or are constant.
    weighting : {"share", "equal"}, default="share"
        Weight of a row in the M-step of a chain: "share" is its responsibility γ, so that a chain
        with few rows is shrunk more by its penalty; "equal" is γ divided by the sum of all γ of the
        chain, so that all chains are penalised alike.
    prior_weight : float, default=0.01
        Additional weight of every row in every chain, which shrinks chains with few rows towards a
        fit to all rows.
    n_splits : int, default=3
        "auto" compares sizes on at most this many fifths of the rows, each held out once. 1 keeps
        the chains learned without the held-out fifth and refits only their parameters to all rows.
    patience : int, default=2
        "auto" stops after this many consecutive sizes that are worse than the best, or one that is
        worse by more than three standard errors.
    C : float, "cv" or "held-out", default="cv"
        Inverse strength of the features' L2 penalty, in the chains and in the gate; "cv" chooses it
        by cross-validated log-likelihood of a single chain, "held-out" by the log-likelihood of the
        mixture on the rows that are held out to compare numbers of chains.
    label_penalty : float or "cv", default="cv"
        Penalty of the earlier labels' coefficients relative to the features'.
    order : None, "random", "auto", or sequence of int or str, default=None
        The labels from first to last, in every chain; None is the order of y's columns. "random"
        draws an order per chain, "auto" takes the best of ten candidates for the rows that each
        chain starts from.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; see `labelweave.inference`.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises: "subset" gives the most probable label vector, "hamming"
        each label by its marginal probability.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds and random orders. None means 0.
    verbose : int, default=0
        If positive, print the chosen penalties and the number of chains.

    Attributes
    ----------
    components_ : list of ChainOrder
        The order of each chain.
    n_components_, conditionals_, gate_, history_, objectives_, C_, label_penalty_
        As in `TreeMixture`.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import ChainMixture
    >>> data = load_emotions()
    >>> model = ChainMixture(n_components=2, C=0.01, label_penalty=0.03)
    >>> model.fit(data.X[:400], data.Y[:400]).predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    presets: ClassVar[Presets] = published(**PUBLISHED)

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
        order: str | ArrayLike | None = None,
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
        self.order = order
        self.inference = inference
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _learner(self, X: Any, labels: Labels, sample_weight: Floats | None) -> ChainLearner:
        open_order = isinstance(self.order, str) and self.order in ("random", "auto")
        order = resolve_order(
            None if open_order else self.order, self.n_labels_, self._names(), self._seed()
        )
        return ChainLearner(
            X=X,
            labels=labels,
            sample_weight=sample_weight,
            order=str(self.order) if open_order else order,
            seed=self._seed(),
            n_threads=self._n_threads(),
        )

    def _penalties(self, learner: ChainLearner) -> PenaltyChoice:
        # Penalties hardly depend on the order: they are chosen for the order of y's columns.
        order = np.arange(self.n_labels_) if isinstance(learner.order, str) else learner.order
        return structure_penalties(
            learner.X,
            learner.labels,
            LabelGraph.chain(order),
            C=self._penalty("C"),
            label_penalty=self._penalty("label_penalty"),
            sample_weight=learner.sample_weight,
            seed=learner.seed,
            n_threads=learner.n_threads,
        )

    def _member(
        self,
        conditionals: LinearConditionals,
        component: ChainOrder,
        X: Any,
        shared: dict[str, Any],
    ) -> JointDistribution:
        scores = conditionals.scores(X, n_threads=self._n_threads())
        return ChainJoint(scores, conditionals.coupling, component.order, **shared)
