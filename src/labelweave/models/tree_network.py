"""Tree networks: each label given the features and at most one other label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_whole_number
from labelweave._common.presets import Presets, published
from labelweave.decision import Decision
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, TreeJoint
from labelweave.logistic.conditionals import LinearConditionals, fit_structures
from labelweave.models.base import MultiLabelClassifier, RowOptions
from labelweave.models.conditionals import (
    LinearMembers,
    additive_conditionals,
    as_seen_by,
    check_base_classifier,
    classifier_log_odds,
    fit_estimators,
    with_labels,
)
from labelweave.models.structure import Structure
from labelweave.models.structure_learning import (
    N_FOLDS,
    TreeLearner,
    random_parents,
    resolve_parents,
)


class TreeNetwork(MultiLabelClassifier):
    """A conditional tree-structured Bayesian network: P(y|x) = Π_i P(y_i | x, y_parent(i)).

    The structure is learned: the forest over the labels of best held-out log-likelihood, a maximum
    branching. Modes, marginals and all other queries of P(y|x) are exact and take time linear in
    the number of labels.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba``, cloned and fitted once per label on the features and
        the parent, and for many pairs of labels to learn the structure. By default a logistic
        regression, fitted for all labels and pairs at once by the library's own engine.
    C : float or "cv", default="cv"
        Inverse strength of the features' L2 penalty, shared by all labels; "cv" chooses it by
        cross-validated log-likelihood. Ignored if `estimator` is given.
    label_penalty : float or "cv", default="cv"
        Penalty of the parent's coefficient relative to the features'; 1 in the preset "published".
    structure : "learned", "random", or sequence, default="learned"
        The parents of the labels. "random" draws a tree; a sequence gives the parent of each label
        by position or name, and None (or -1) for a root.
    screen : int, "auto" or None, default="auto"
        Number of candidate parents per label, the best by a score test; None tries all. "auto"
        tries all up to 64 labels and 20 per label beyond (8 per label with `estimator`).
    n_folds : int, default=3
        Number of folds by which edges are weighed, each held out once; 1 holds out a third of the
        rows, as in ``TreeNetwork.preset("published")``.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; "auto" finds it in closed form.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises: "subset" gives the most probable label vector, "hamming"
        each label by its marginal probability.
    n_jobs : int, optional
        Number of threads (of processes, if `estimator` is given); -1 uses all cores. Results depend
        neither on it nor on which rows are predicted together (with an `estimator`, up to the
        rounding of its own arithmetic).
    random_state : int, RandomState or None, default=None
        Seeds the random structure, the folds and every unset `random_state` of `estimator`. None
        means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalties and the number of edges.

    Attributes
    ----------
    structure_ : Structure
        The parents, with the gain and the coupling of each edge; printed as text, drawn by
        ``plot()``.
    conditionals_ : LinearConditionals or None
        Weights, intercepts and couplings between labels; None if `estimator` is not linear.
    estimators_ : list
        The fitted classifiers, one per label; only with `estimator`.
    C_, label_penalty_ : float
        The penalties used; only without `estimator`.

    Examples
    --------
    >>> from labelweave.data.load import load_emotions
    >>> from labelweave import TreeNetwork
    >>> data = load_emotions()
    >>> model = TreeNetwork(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> model.structure_.parents
    array([-1,  5,  0,  4,  1,  2])
    """

    presets: ClassVar[Presets] = published(n_folds=1, label_penalty=1.0)

    def __init__(
        self,
        *,
        estimator: Any = None,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        structure: str | ArrayLike = "learned",
        screen: int | str | None = "auto",
        n_folds: int = N_FOLDS,
        inference: str | Inference = "auto",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.label_penalty = label_penalty
        self.structure = structure
        self.screen = screen
        self.n_folds = n_folds
        self.inference = inference
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        penalties: dict[str, Any] = {
            "C": self._penalty("C"),
            "label_penalty": self._penalty("label_penalty"),
        }
        learner = TreeLearner(
            X=X,
            labels=labels,
            sample_weight=sample_weight,
            screen=check_screen(self.screen),
            n_folds=self._count("n_folds"),
            label_names=self._names(),
            seed=self._seed(),
            n_threads=self._n_threads(),
        )
        known = self._known_structure()
        if self.estimator is not None:
            check_base_classifier(self.estimator, sample_weight)
            self.structure_ = known or learner.learn_with(self.estimator, self.n_jobs)
            self._fit_estimators(X, labels, sample_weight)
            return
        if known is None:
            self.structure_, chosen = learner.with_penalties(**penalties)
        else:
            self.structure_ = known
            chosen = learner.penalties(known.graph(), **penalties)
        self.C_, self.label_penalty_ = chosen.C, chosen.label_penalty
        self.conditionals_: LinearConditionals | None = fit_structures(
            X,
            labels,
            [self.structure_.graph()],
            C=chosen.C,
            label_penalty=chosen.label_penalty,
            sample_weight=sample_weight,
            n_threads=self._n_threads(),
        )[0]
        self.structure_ = self.structure_.coupled(self.conditionals_.coupling)
        self._tell(
            f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}, "
            f"{len(self.structure_.edges)} edges"
        )

    def _known_structure(self) -> Structure | None:
        """Return the given or random structure, or None if it has to be learned."""
        if isinstance(self.structure, str) and self.structure == "learned":
            return None
        if isinstance(self.structure, str) and self.structure == "random":
            parents = random_parents(self.n_labels_, np.random.default_rng(self._seed()))
        else:
            parents = resolve_parents(self.structure, self.n_labels_, self._names())
        return Structure(parents, label_names=self._names())

    def _fit_estimators(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        graph = self.structure_.graph()
        self.estimators_ = fit_estimators(
            self.estimator, X, labels, graph, sample_weight, self._seed(), self.n_jobs
        )
        self.conditionals_ = additive_conditionals(self.estimators_, graph, X.shape[1])
        if self.conditionals_ is not None:
            self.structure_ = self.structure_.coupled(self.conditionals_.coupling)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        if self.conditionals_ is not None:
            seen = as_seen_by(getattr(self, "estimators_", []), X)
            logits = tree_logits(self.conditionals_, seen, self._n_threads())
        else:
            logits = self._classifier_logits(X)
        return TreeJoint(
            logits,
            self.structure_.parents,
            **rows,
        )

    def _linear_members(self, X: Any) -> LinearMembers | None:
        if self.conditionals_ is None:
            return None
        seen = as_seen_by(getattr(self, "estimators_", []), X)
        return LinearMembers.alone(seen, self.conditionals_)

    def _classifier_logits(self, X: Any) -> Floats:
        """Return every label's log-odds with its parent absent and present, by its classifier."""
        logits = np.empty((X.shape[0], self.n_labels_, 2))
        for label, parent in enumerate(self.structure_.parents):
            columns = np.zeros(int(parent >= 0), dtype=np.int64)
            for value in (0, 1):
                given = np.full((X.shape[0], 1), value)
                extended = with_labels(X, given, columns)
                logits[:, label, value] = classifier_log_odds(self.estimators_[label], extended)
        return logits


def tree_logits(conditionals: LinearConditionals, X: Any, n_threads: int) -> Floats:
    """Return every label's log-odds with its parent absent and present, (n, L, 2)."""
    scores = conditionals.scores(X, n_threads=n_threads)
    # A label is coupled to its parent only, so the sum is that one coefficient.
    return np.stack([scores, scores + conditionals.coupling.sum(axis=1)], axis=2)


def check_screen(screen: Any) -> int | str | None:
    """Return `screen` as `edge_weights` takes it."""
    if screen is None or (isinstance(screen, str) and screen == "auto"):
        return screen
    return check_whole_number(screen, "screen", otherwise="None, 'auto'")
