"""Predictions of an online learner, from its posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Mask
from labelweave._common.row_keys import row_keys
from labelweave.decision.probabilities import Probabilities
from labelweave.decision.rules import ScoredRows
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.models.base import MultiLabelClassifier
from labelweave.online.bias_mixture import bias_mixture
from labelweave.online.categorical import categorical_joint
from labelweave.online.state import OnlineState

# Components of the joint distribution of coupled labels.
_NODES = 16


class PosteriorPredictor(MultiLabelClassifier):
    """The half of an online classifier that predicts, from the posterior `state_`.

    See `BayesianOnlineClassifier`, the other half, which learns it.
    """

    state_: OnlineState
    seed_: int

    @property
    def mean_(self) -> NDArray[np.float32]:
        """Means of the weights, (D, L)."""
        return self._posterior().mean

    @property
    def variance_(self) -> NDArray[np.float32]:
        """Variances of the weights, (D, L)."""
        return self._posterior().variance

    @property
    def bias_mean_(self) -> Floats:
        """Mean of the bias."""
        return self._posterior().bias_mean

    @property
    def bias_variance_(self) -> Floats:
        """Variance of the bias."""
        return self._posterior().bias_variance

    def _posterior(self) -> OnlineState:
        if not hasattr(self, "_is_fitted"):
            raise AttributeError("the model has not been fitted yet: call fit or partial_fit")
        return self.state_

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each label, (n, L).

        Unless `calibrate`, it is Φ((⟨μ, x⟩ − μ₀)/√(σ₀² + Σ σ²x²)), the constant feature of
        `label_offset` counting as part of x.

        For a one-dimensional y: the probabilities of its two classes, (n, 2).
        """
        check_is_fitted(self)
        X = self._features(X, reset=False)
        return self._encoding.probabilities(self.state_.probabilities(X, self._n_threads()))

    def scored(self, X: Any) -> ScoredRows:
        """Return the probabilities of the rows of X as log-odds, and labels under drawn models.

        If the rule needs draws, the probabilities are those of the models that are drawn.
        """
        check_is_fitted(self)
        rule = self.threshold_rule()
        if rule is not None and "joint" in rule.needs:
            return super().scored(X)
        rows, threads, state = self._features(X, reset=False), self._n_threads(), self.state_
        of_drawn_models = rule is not None and "draws" in rule.needs
        predict = state.posterior_log_odds if of_drawn_models else state.log_odds

        def draw(n_samples: int) -> Mask:
            return state.sample_labels(rows, n_samples, self.seed_, threads)

        return ScoredRows(Probabilities(predict(rows, threads)), draw)

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of each label, (n, L), as of `predict_proba`."""
        check_is_fitted(self)
        return self.state_.log_odds(self._features(X, reset=False), self._n_threads())

    def _joint(self, X: Any) -> JointDistribution:
        threads, state = self._n_threads(), self.state_
        latent = state.latent(X, threads)
        common: dict[str, Any] = {
            "label_names": self._names(),
            "row_ids": row_keys(X),
            "n_threads": threads,
        }
        if state.settings.likelihood == "multiclass":
            return categorical_joint(latent.log_odds(), **common)
        if state.settings.likelihood == "bias" and state.settings.coupled:
            return bias_mixture(latent, nodes=_NODES, **common)
        return IndependentJoint(latent.log_odds(), **common)

    def _training_rates(self) -> Floats:
        return self._frequencies()

    def _frequencies(self) -> Floats:
        return np.asarray(self.state_.positives / np.maximum(self.state_.observed, 1))
