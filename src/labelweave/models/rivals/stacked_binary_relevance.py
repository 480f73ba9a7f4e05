"""Stacked binary relevance: a second layer on the predictions of the first."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.two_layers import fit_cross_fitted, fit_on_estimates
from labelweave.models.base import MultiLabelClassifier

OUTPUTS = ("probability", "label")


class StackedBinaryRelevance(MultiLabelClassifier):
    """Classification with heterogeneous features (CHF): binary relevance in two layers.

    The first layer learns every label from the features, the second every label from the features
    and the first layer's predictions of all labels, so that the prediction of one label can correct
    another (Godbole and Sarawagi, 2004). Both layers are logistic regressions. The second is fitted
    to out-of-fold predictions of the first, which are as accurate as those for new rows.

    Parameters
    ----------
    outputs : {"probability", "label"}, default="probability"
        Predictions of the first layer that the second one sees: probabilities, or labels of 0/1.
    n_folds : int, default=5
        Number of folds of the out-of-fold predictions; 1, as in
        ``StackedBinaryRelevance.preset("published")``, takes predictions for the first layer's own
        training rows.
    C : float or "cv", default="cv"
        Inverse strength of the features' L2 penalty, shared by all labels and both layers; "cv"
        chooses it by cross-validated log-likelihood of the first layer.
    label_penalty : float or "cv", default="cv"
        Penalty of the first layer's predictions relative to the features'; 1 in the preset
        "published".
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds. None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalties.

    Attributes
    ----------
    first_layer_, second_layer_ : LinearConditionals
        Weights and intercepts; ``second_layer_.coupling[j, k]`` is the coefficient of the first
        layer's prediction of label k in the log-odds of label j.
    C_, label_penalty_ : float
        The penalties used.

    Examples
    --------
    >>> from labelweave import StackedBinaryRelevance
    >>> from labelweave import load
    >>> data = load("emotions")
    >>> model = StackedBinaryRelevance(C=0.01, label_penalty=0.01).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    presets: ClassVar[Presets] = published(n_folds=1, label_penalty=1.0)

    def __init__(
        self,
        *,
        outputs: str = "probability",
        n_folds: int = 5,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.outputs = outputs
        self.n_folds = n_folds
        self.C = C
        self.label_penalty = label_penalty
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        n_folds = self._count("n_folds")
        check_choice(self.outputs, "outputs", OUTPUTS)
        shared: dict[str, Any] = {
            "sample_weight": sample_weight,
            "seed": self._seed(),
            "n_threads": self._n_threads(),
        }
        self._uses_probability = self.outputs == "probability"
        self.first_layer_, scores = fit_cross_fitted(X, labels, C=C, n_folds=n_folds, **shared)
        # The second layer's C cannot be cross-validated on these predictions: those of one fold
        # come from the same fit and share its errors, which a large C learns to correct, in
        # held-out rows of the fold too, but not in new rows.
        self.second_layer_ = fit_on_estimates(
            X,
            self._seen(scores),
            labels,
            C=self.first_layer_.C,
            label_penalty=label_penalty,
            start=self.first_layer_,
            **shared,
        )
        self.C_ = self.second_layer_.C
        self.label_penalty_ = self.second_layer_.label_penalty
        self._tell(f"C = {self.C_:.4g}, label_penalty = {self.label_penalty_:.4g}")

    def _seen(self, scores: Floats) -> Floats:
        """Return the first layer's predictions as the second layer sees them."""
        seen: Floats
        seen = expit(scores) if self._uses_probability else (scores > 0).astype(np.float64)
        return seen

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        n_threads = self._n_threads()
        seen = self._seen(self.first_layer_.scores(X, n_threads=n_threads))
        return IndependentJoint(
            self.second_layer_.scores(X, seen, n_threads=n_threads),
            **rows,
        )
