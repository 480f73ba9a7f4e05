"""Mixtures of tree networks."""

from __future__ import annotations

from typing import Any, ClassVar

from labelweave._common.arrays import Floats, Labels
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.inference import Inference
from labelweave.joint import JointDistribution, TreeJoint
from labelweave.logistic import LinearConditionals, PenaltyChoice
from labelweave.models.mixtures.structured_mixture import (
    MAX_COMPONENTS,
    N_SPLITS,
    PATIENCE,
    PRIOR_WEIGHT,
    PUBLISHED,
    StructuredMixture,
)
from labelweave.models.trees.structure import Structure
from labelweave.models.trees.structure_learning import N_FOLDS, TreeLearner
from labelweave.models.trees.tree_network import check_screen, tree_logits


class TreeMixture(StructuredMixture):
    """A mixture of tree networks: P(y|x) = Σ_k λ_k(x) P(y|x, tree k).

    Trees and mixing weights are learned by expectation maximisation. By default the mixing weights
    depend on x, each tree starts from a cluster of similar label vectors, and the number of trees
    is chosen by held-out log-likelihood. With ``gate="constant"`` they do not depend on x, and
    trees are added one at a time, each learned from the rows that the others explain badly.

    ``TreeMixture.preset("published")`` is the mixture as its authors learn and decode it: constant
    mixing weights, rows weighted by γ/Γ in every tree, one penalty for features and labels, a size
    chosen on one split at the first decrease, the trees of that split, and simulated annealing. The
    paper chooses the penalty "by cross validation": the preset takes the one under which rows that
    are held out are most probable, those of that split or, with few rows, of up to three.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Number of trees; "auto" chooses it by held-out log-likelihood.
    max_components : int, default=12
        Largest number of trees that "auto" tries.
    gate : {"linear", "constant"}, default="linear"
        Whether the mixing weights depend on x, through linear log-odds, or are constant.
    weighting : {"share", "equal"}, default="share"
        Weight of a row in the M-step of a tree: "share" is its responsibility γ, so that a tree
        with few rows is shrunk more by its penalty; "equal" is γ divided by the sum of all γ of the
        tree, so that all trees are penalised alike.
    prior_weight : float, default=0.01
        Additional weight of every row in every tree, which shrinks trees with few rows towards a
        fit to all rows.
    n_splits : int, default=3
        "auto" compares sizes on at most this many fifths of the rows, each held out once. 1 keeps
        the trees learned without the held-out fifth and refits only their parameters to all rows.
    patience : int, default=2
        "auto" stops after this many consecutive sizes that are worse than the best, or one that is
        worse by more than three standard errors.
    C : float, "cv" or "held-out", default="cv"
        Inverse strength of the features' L2 penalty, in the trees and in the gate; "cv" chooses it
        by cross-validated log-likelihood of a single tree, "held-out" by the log-likelihood of the
        mixture on the rows that are held out to compare numbers of trees.
    label_penalty : float or "cv", default="cv"
        Penalty of the parents' coefficients relative to the features'.
    screen : int, "auto" or None, default="auto"
        Number of candidate parents per label; as in `TreeNetwork`.
    n_folds : int, default=3
        Number of folds by which edges are weighed; as in `TreeNetwork`. While numbers of trees are
        compared on several splits, one fold weighs the edges.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; see `labelweave.inference`.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
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
    The default `weighting` was not chosen on emotions, scene, yeast or image, but on 900 rows and
    eight labels each of tmc2007-500, slashdot, corel5k and imdb, and on synthetic data. With a
    linear gate and eight trees, "share" has the lower CLL-loss on the first two and on data of a
    chain, "equal" on data of three trees; the others show no difference. With constant weights,
    "equal" wins wherever more than one tree pays; by share, one tree takes nearly all rows.

    While numbers of trees are compared, edges are weighed by one split, EM is rough, and clusters
    that are there with fewer trees keep the trees learned for them; the chosen mixture is then
    learned anew. A number that is worse than the best by more than three standard errors ends the
    comparison. On at most 1200 rows and eight labels each of tmc2007-500 and enron, and on
    synthetic data, rough mixtures led to the numbers that exact ones led to; that was before
    clusters kept their trees and M-steps became rougher still, which changed one number in eight
    folds of cal500 and imdb.

    The trees of more than 1000 rows are learned from all rows of their cluster and a weighted
    sample of the others, with edge weights accurate to a hundredth, and EM ends when an iteration
    gains less than 0.001 nats per row; single trees and ``weighting="equal"`` are learned exactly,
    from all rows. These settings were compared on 1100 to 1800 rows and eight to ten labels each of
    tmc2007-500, slashdot, enron, corel5k and rcv1subset2 and 4, on cal500, flags and synthetic
    data. There a tenth and 0.003 nats did as well, but on emotions the CLL-loss rose a little.

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

    presets: ClassVar[Presets] = published(**PUBLISHED, n_folds=1)

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
        # This tree only serves to choose penalties: one split will do.
        return learner.for_comparison().chosen_penalties(C, label_penalty)

    def _member(
        self,
        conditionals: LinearConditionals,
        component: Structure,
        X: Any,
        shared: dict[str, Any],
    ) -> JointDistribution:
        logits = tree_logits(conditionals, X, self._n_threads())
        return TreeJoint(logits, component.parents, **shared)
