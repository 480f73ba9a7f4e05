"""Stacked binary relevance: a second layer that sees the first layer's predictions.

With x the features and ŷ the first layer's predictions of all labels, the log-odds of label j are
w_j·x + b_j in the first layer and w'_j·x + v_j·ŷ + b'_j in the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice, check_whole_number
from labelweave._common.folds import deal_kept, has_splits
from labelweave._common.presets import Presets, published
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.two_layers import fit_cross_fitted, fit_on_estimates
from labelweave.models.base import MultiLabelClassifier


@dataclass(eq=False, repr=False, kw_only=True)
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
    cv : int, splitter or list of (train, test), default=5
        Folds of the out-of-fold predictions: their number, or splits as in scikit-learn, which hold
        out each row once. With 1, as in ``StackedBinaryRelevance.preset("published")``, the second
        layer is fitted to predictions for the first layer's own training rows.
    C : float or "cv", default="cv"
        Inverse strength of the features' L2 penalty, shared by all labels and both layers; "cv"
        chooses it by cross-validated log-likelihood of the first layer.
    label_penalty : float or "cv", default="cv"
        Penalty of the first layer's predictions relative to the features'; 1 in the preset
        "published".
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    first_layer_, second_layer_ : LinearConditionals
        Weights and intercepts; ``second_layer_.coupling[j, k]`` is the coefficient of the first
        layer's prediction of label k in the log-odds of label j.
    C_, label_penalty_ : see `ClassifierChain`

    Examples
    --------
    >>> from labelweave import StackedBinaryRelevance, load
    >>> data = load("emotions")
    >>> model = StackedBinaryRelevance(C=0.01, label_penalty=0.01).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    outputs: str = "probability"
    cv: Any = 5
    C: float | str = "cv"
    label_penalty: float | str = "cv"

    presets: ClassVar[Presets] = published(cv=1, label_penalty=1.0)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        check_choice(self.outputs, "outputs", ("probability", "label"))
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        kept, folds = deal_kept(self._checked_cv(), X, labels, weight, self._seed())
        if len(kept) < len(weight):
            X, labels, sample_weight = X[kept], labels[kept], weight[kept]
        shared: dict[str, Any] = {
            "sample_weight": sample_weight,
            "seed": self._seed(),
            "n_threads": self._n_threads(),
        }
        self._uses_probability = self.outputs == "probability"
        self.first_layer_, scores = fit_cross_fitted(X, labels, folds, C=C, **shared)
        # The second layer's C cannot be cross-validated on these predictions. The predictions for
        # one fold come from one fit and share its errors. A large C learns to correct these errors,
        # which helps the held-out rows of the fold too, but not new rows.
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

    def _checked_cv(self) -> Any:
        if has_splits(self.cv):
            return self.cv
        return check_whole_number(self.cv, "cv", otherwise="a splitter, a list of (train, test)")

    def _seen(self, scores: Floats) -> Floats:
        """Return the first layer's predictions as the second layer sees them."""
        return expit(scores) if self._uses_probability else (scores > 0).astype(np.float64)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        n_threads = self._n_threads()
        seen = self._seen(self.first_layer_.scores(X, n_threads=n_threads))
        return IndependentJoint(self.second_layer_.scores(X, seen, n_threads=n_threads), **rows)
