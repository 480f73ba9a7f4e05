"""Tree networks: P(y|x) = Π_i P(y_i | x, y_parent(i)), each label with at most one parent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.checks import check_whole_number
from labelweave._common.folds import deal, has_splits
from labelweave._common.presets import Presets, published
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import LinearConditionals
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import (
    LabelConditionals,
    LinearMembers,
    TrainingRows,
    check_base_classifier,
)
from labelweave.models.structure import Structure
from labelweave.models.structure_learning import (
    N_FOLDS,
    TreeLearner,
    check_screen,
    random_parents,
    resolve_parents,
)


@dataclass(eq=False, repr=False, kw_only=True)
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
    C : see `ClassifierChain`
    label_penalty : float or "cv", default="cv"
        Penalty of the parent's coefficient relative to the features'; 1 in the preset "published".
    structure : "learned", "random", or sequence, default="learned"
        The parents of the labels. "random" draws a tree; a sequence gives the parent of each label
        by position or name, and None (or -1) for a root.
    screen : int, "auto" or None, default="auto"
        Number of candidate parents per label, the best by a score test; None tries all. "auto"
        tries all up to 64 labels and 20 per label beyond (8 per label with `estimator`).
    cv : int, splitter or list of (train, test), default=3
        The folds by which edges are weighed, each held out once; 1 holds out a third of the rows,
        as in ``TreeNetwork.preset("published")``. A model is fitted to all rows that a split does
        not hold out.
    inference : see `ClassifierChain`
        "auto" finds the most probable label vector in closed form.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    structure_ : Structure
        The parents, with the gain and the coupling of each edge; printed as text, drawn by
        ``plot()``.
    conditionals_, estimators_, C_, label_penalty_ : see `ClassifierChain`

    Examples
    --------
    >>> from labelweave import TreeNetwork, load
    >>> data = load("emotions")
    >>> model = TreeNetwork(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> model.structure_.parents
    array([-1,  5,  0,  4,  1,  2])
    """

    estimator: Any = field(default=None, kw_only=False)
    C: float | str = "cv"
    label_penalty: float | str = "cv"
    structure: str | ArrayLike = "learned"
    screen: int | str | None = "auto"
    cv: Any = N_FOLDS
    inference: str | Inference = "auto"

    presets: ClassVar[Presets] = published(cv=1, label_penalty=1.0)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        rows = TrainingRows(X, labels, sample_weight, self._seed(), self._n_threads())
        cv = self._cv(X, labels, sample_weight)
        learner = TreeLearner(rows, self._names(), check_screen(self.screen), cv)
        if has_splits(self.cv):
            learner = learner.restricted(np.flatnonzero(rows.weight))
            rows, sample_weight = learner.rows, learner.rows.sample_weight
        known = self._known_structure(rows.seed)
        if self.estimator is not None:
            check_base_classifier(self.estimator, sample_weight)
            self.structure_ = known or learner.learn_with(self.estimator, self.n_jobs)
            self._fit_classifiers(rows)
            return
        if known is None:
            self.structure_, chosen = learner.with_penalties(C, label_penalty)
        else:
            self.structure_, chosen = known, rows.penalties(known.graph(), C, label_penalty)
        linear = rows.fitted([self.structure_.graph()], chosen)[0]
        self.conditionals_: LinearConditionals | None = linear
        self.structure_ = self.structure_.coupled(linear.coupling)
        self._keep_penalties(chosen, f"{len(self.structure_.edges)} edges")

    def _cv(self, X: Any, labels: Labels, sample_weight: Floats | None) -> int | Mask:
        if not has_splits(self.cv):
            otherwise = "a splitter, a list of (train, test)"
            return check_whole_number(self.cv, "cv", otherwise=otherwise)
        folds = deal(self.cv, X, labels, sample_weight, self._seed())
        held_out = np.zeros((len(folds), len(labels)), dtype=np.bool_)
        for mask, fold in zip(held_out, folds, strict=True):
            mask[fold.held_out] = True
        return held_out

    def _known_structure(self, seed: int) -> Structure | None:
        """Return the given or random structure, or None if it has to be learned."""
        if isinstance(self.structure, str) and self.structure == "learned":
            return None
        if isinstance(self.structure, str) and self.structure == "random":
            parents = random_parents(self.n_labels_, np.random.default_rng(seed))
        else:
            parents = resolve_parents(self.structure, self.n_labels_, self._names())
        return Structure(parents, label_names=self._names())

    def _fit_classifiers(self, rows: TrainingRows) -> None:
        graph = self.structure_.graph()
        found = LabelConditionals.of_classifiers(self.estimator, rows, graph, self.n_jobs)
        self.estimators_ = found.estimators
        self.conditionals_ = found.linear
        if found.linear is not None:
            self.structure_ = self.structure_.coupled(found.linear.coupling)

    def _conditionals(self) -> LabelConditionals:
        fitted = getattr(self, "estimators_", ())
        return LabelConditionals(self.structure_.graph(), self.conditionals_, fitted)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return self.structure_.joint(self._conditionals(), X, rows)

    def _linear_members(self, X: Any) -> LinearMembers | None:
        return self._conditionals().members(X)
