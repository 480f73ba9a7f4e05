"""A pairwise conditional random field over the labels."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.checks import check_choice, check_whole_number
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import row_keys
from labelweave.baselines._field_fit import fit_field, strongest_pairs
from labelweave.decision.losses import Decision
from labelweave.inference import Inference
from labelweave.joint import FieldJoint, JointDistribution
from labelweave.joint.enumeration import MAX_ENUMERATED
from labelweave.logistic import fit_conditionals
from labelweave.models.base import MultiLabelClassifier

# "auto" maximises the exact likelihood up to this many labels, by enumeration of 1024 vectors.
AUTO_EXACT = 10
# "auto" couples all pairs up to this many labels, and this many pairs per label beyond.
AUTO_ALL_PAIRS = 30
AUTO_PAIRS_PER_LABEL = 4


class PairwiseCRF(MultiLabelClassifier):
    """P(y|x) ∝ exp(Σ_j y_j (w_j·x + b_j) + Σ_{i<j} V_ij y_i y_j): labels coupled in pairs (MLCRF).

    Couplings are undirected, and the labels need no order. The log-odds of a label given all others
    are linear in the features and those labels, so the pseudo-likelihood
    Π_j P(y_j | x, other labels) is a set of logistic regressions with tied couplings: V_ij is the
    same in the regressions of i and of j. The logistic engine fits them untied and chooses the
    penalties; from there Newton's method goes to the optimum of the pseudo-likelihood or, for few
    labels, of the exact likelihood. Both problems are convex. ``PairwiseCRF.preset("published")``
    couples all pairs by pseudo-likelihood, whatever the number of labels, with one penalty for all
    parameters.

    Parameters
    ----------
    C : float or "cv", default="cv"
        Inverse strength of the features' L2 penalty, shared by all labels; "cv" chooses it by
        cross-validated pseudo-likelihood.
    label_penalty : float or "cv", default="cv"
        Penalty of the couplings relative to the features'.
    likelihood : {"auto", "pseudo", "exact"}, default="auto"
        The objective. "exact" enumerates all label vectors for the partition function and takes at
        most 16 labels; per row it keeps the moments of up to three labels, 175 numbers for 10
        labels and 696 for 16. "auto" is exact up to 10 labels.
    edges : (L, L) array of bool, optional
        Symmetric mask of the pairs of labels that may be coupled; by default all pairs.
    max_edges : int, "auto" or None, default="auto"
        Maximum number of coupled pairs: those of strongest dependence given the features, by a
        score test. "auto" is unlimited up to 30 labels and 4 pairs per label beyond; None is
        unlimited.
    inference : "auto" or strategy, default="auto"
        How to search for the most probable label vector; see `labelweave.inference`.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises: "subset" gives the most probable label vector, "hamming"
        each label by its marginal probability.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds of "cv". None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalties and the number of coupled pairs.

    Attributes
    ----------
    field_ : LinearConditionals
        Weights, intercepts and symmetric couplings.
    edges_ : (L, L) bool array
        The pairs of labels that are coupled.
    C_, label_penalty_ : float
        The penalties used.

    Examples
    --------
    >>> from labelweave.baselines import PairwiseCRF
    >>> from labelweave.datasets import load_emotions
    >>> data = load_emotions()
    >>> model = PairwiseCRF(C=0.01, label_penalty=0.03).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> model.predict_joint(data.X[400:402])
    FieldJoint(n_rows=2, n_labels=6)
    """

    presets: ClassVar[Presets] = published(likelihood="pseudo", max_edges=None, label_penalty=1.0)

    def __init__(
        self,
        *,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        likelihood: str = "auto",
        edges: ArrayLike | None = None,
        max_edges: int | str | None = "auto",
        inference: str | Inference = "auto",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.label_penalty = label_penalty
        self.likelihood = likelihood
        self.edges = edges
        self.max_edges = max_edges
        self.inference = inference
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        exact = self._is_exact()
        penalties: dict[str, Any] = {
            "C": self._penalty("C"),
            "label_penalty": self._penalty("label_penalty"),
        }
        shared: dict[str, Any] = {
            "sample_weight": sample_weight,
            "seed": self._seed(),
            "n_threads": self._n_threads(),
        }
        self.edges_ = self._allowed()
        limit = self._limit()
        if self.edges_.sum() // 2 > limit:
            alone = fit_conditionals(X, labels, C=penalties["C"], **shared)
            scores = alone.scores(X, n_threads=self._n_threads())
            self.edges_ = strongest_pairs(scores, labels, sample_weight, self.edges_, limit)
        start = fit_conditionals(X, labels, self.edges_, **penalties, **shared)
        self.field_ = fit_field(X, labels, self.edges_, start, sample_weight, exact=exact)
        self.C_, self.label_penalty_ = self.field_.C, self.field_.label_penalty
        self._tell(
            f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}, "
            f"{self.edges_.sum() // 2} pairs, {'exact' if exact else 'pseudo'}-likelihood"
        )

    def _joint(self, X: Any) -> JointDistribution:
        return FieldJoint(
            self.field_.scores(X, n_threads=self._n_threads()),
            self.field_.coupling,
            label_names=self._names(),
            row_ids=row_keys(X),
            n_threads=self._n_threads(),
        )

    def _is_exact(self) -> bool:
        check_choice(self.likelihood, "likelihood", ("auto", "pseudo", "exact"))
        if self.likelihood == "exact" and self.n_labels_ > MAX_ENUMERATED:
            raise ValueError(
                f"likelihood='exact' enumerates all label vectors and takes at most "
                f"{MAX_ENUMERATED} labels; y has {self.n_labels_}: use 'pseudo'"
            )
        return self.likelihood == "exact" or (
            self.likelihood == "auto" and self.n_labels_ <= AUTO_EXACT
        )

    def _allowed(self) -> Mask:
        """Return `edges` as an (L, L) mask, by default of all pairs."""
        n_labels = self.n_labels_
        if self.edges is None:
            return ~np.eye(n_labels, dtype=np.bool_)
        mask = np.asarray(self.edges)
        if mask.shape != (n_labels, n_labels) or not np.isin(mask, (0, 1)).all():
            raise ValueError(
                f"edges must be a {n_labels} by {n_labels} matrix of 0/1, one row and one column "
                f"per label; its shape is {mask.shape}"
            )
        mask = mask.astype(np.bool_)
        if (mask != mask.T).any() or mask.diagonal().any():
            raise ValueError(
                "edges must be symmetric with an empty diagonal: a coupling has no direction, and "
                "no label is coupled with itself; give (edges | edges.T) & ~np.eye(L, dtype=bool)"
            )
        return mask

    def _limit(self) -> int:
        if self.max_edges is None or (
            self.max_edges == "auto" and self.n_labels_ <= AUTO_ALL_PAIRS
        ):
            return self.n_labels_**2
        if self.max_edges == "auto":
            return AUTO_PAIRS_PER_LABEL * self.n_labels_
        return check_whole_number(self.max_edges, "max_edges", 0, otherwise="None, 'auto'")
