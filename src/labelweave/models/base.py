"""Base of the estimators that learn P(y|x): `predict_joint`, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave.decision import Decided, FixedThreshold, SubsetLoss
from labelweave.decision.decide import decide, resolve_decision
from labelweave.decision.losses import Decision
from labelweave.decision.rules import ScoredRows, ThresholdRule
from labelweave.inference import Auto, Inference
from labelweave.joint import JointDistribution
from labelweave.models.cross_fitted_scores import cross_fitted_scores
from labelweave.models.label_classifier import LabelClassifier
from labelweave.models.linear_members import LinearMembers


class MultiLabelClassifier(LabelClassifier):
    """Base of the estimators that learn P(y|x), which `predict_joint` returns for new rows.

    A subclass implements ``_fit(X, labels, sample_weight)`` and ``_joint(X)``; both receive
    validated arguments, as `LabelClassifier` describes.

    If `decision` is tuned on held-out rows, such as "macro_f1" or "micro_f1", `fit` holds them out:
    it fits the model five times more, each time to four fifths of the rows, with the penalties that
    were chosen on all of them.

    Attributes set by `fit`
    -----------------------
    rule_ : ThresholdRule
        The tuned rule, if `decision` is tuned on held-out rows.

    Examples
    --------
    What every estimator can predict:

    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import BinaryRelevance, MultiLabelClassifier
    >>> data = load_emotions()
    >>> model: MultiLabelClassifier = BinaryRelevance(C=0.01).fit(data.X, data.Y)
    >>> model.predict(data.X[:2]).shape, model.predict_proba(data.X[:2]).shape
    ((2, 6), (2, 6))
    >>> model.predict_joint(data.X[:2])
    IndependentJoint(n_rows=2, n_labels=6)
    """

    decision: str | Decision
    rule_: ThresholdRule

    @property
    def thresholds_(self) -> Floats:
        """The probability above which each label is predicted, (L,).

        It exists if `decision` is tuned on held-out rows. `predict` compares log-odds, which tell
        probabilities apart that are rounded to the same number.
        """
        if not hasattr(self, "rule_"):
            raise AttributeError("thresholds_ exist after fit with a decision such as 'macro_f1'")
        return np.asarray(self.rule_.thresholds(np.empty((0, self.n_labels_))))

    @property
    def prediction_parameters(self) -> tuple[str, ...]:
        """Parameters that only predictions depend on: models that differ in them share a fit.

        A decision that is tuned on held-out rows is not one of them.
        """
        return ("inference",) if self._untuned() is not None else ("decision", "inference")

    def predict_joint(self, X: Any) -> JointDistribution:
        """Return the joint distributions of the labels, one per row of X.

        Their decision "subset" looks for the mode as this estimator does.
        """
        check_is_fitted(self)
        joint = self._joint(self._features(X, reset=False))
        return joint.with_inference(self._inference())

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that are optimal for `decision`, (n, L) of 0/1.

        If `decision` is a rule for test sets, the labels of a row depend on the rows beside it.
        """
        check_is_fitted(self)
        rule = self.threshold_rule()
        if rule is None:
            return self._encoding.decode(self._decide()(self.predict_joint(X)))
        return self._encoding.decode(rule.label(*self.scored(X)))

    def decide(self, X: Any, loss: str | Decision) -> Decided:
        """Return the labels of least expected loss, and that loss, without fitting anew.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        loss : str or Loss
            "subset", "hamming", "f1", "jaccard", "ranking", or a loss of `labelweave.decision` such
            as ``FLoss(beta=2)`` or ``PartialAbstention(price=0.2)``.

        Returns
        -------
        Decided
            With the attributes ``labels``, (n, L) of 0/1 (-1 where a label stays open), ``risk``
            and ``score``, (n,) each.
        """
        return decide(self.predict_joint(X), loss)

    def threshold_rule(self) -> ThresholdRule | None:
        """Return the rule by which `predict` decides for all rows together; None if it does not."""
        decision = self._decide()
        return decision if isinstance(decision, ThresholdRule) else None

    def scored(self, X: Any) -> ScoredRows:
        """Return what `threshold_rule` decides by, usually the marginals, held as log-odds."""
        joint, rule = self.predict_joint(X), self.threshold_rule()
        return ScoredRows.of(joint) if rule is None else rule.scored(joint)

    def predict_proba(self, X: Any) -> Floats:
        """Return the marginal probability of each label, (n, L).

        Chains of more than 16 labels average the labels' conditional probabilities over 1000
        weighted prefixes, which is never 0 or 1 for want of samples. The standard error, some
        10⁻⁴ to 10⁻³, is in ``predict_joint(X).estimate("marginals")``, which also takes more
        ``samples``. For a log-likelihood use ``predict_joint(X).log_prob(Y)``, which is exact.
        Pairwise fields of more than 16 labels (`PairwiseCRF`) estimate both by annealed draws,
        with standard errors of some 10⁻², on single rows more than 10⁻¹.

        For a one-dimensional y: the probabilities of its two classes, (n, 2).
        """
        marginals = self.predict_joint(X).marginals()
        return self._encoding.probabilities(marginals)

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of each label, (n, L), by which rows and labels can be ranked.

        They are those of `predict_proba` before these are rounded near 0 and 1; infinite where a
        label is certain.
        """
        return self.predict_joint(X).marginal_log_odds()

    @abstractmethod
    def _joint(self, X: Any) -> JointDistribution:
        """Return the joint distributions of validated rows."""

    def _linear_members(self, X: Any) -> LinearMembers | None:
        """Return the linear conditionals of validated rows; None if there are others among them."""
        return None

    def _unexplained_because(self) -> str | None:
        """Return why conditionals cannot be explained, if not for want of linear ones."""
        return None

    def _delegate(self, X: Any, names: Sequence[str]) -> tuple[Any, Any, Sequence[str]] | None:
        """Return the model that predicts validated rows in place of this one, if there is one.

        With it go the rows as that model sees them, and the names of their features.
        """
        return None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._resolved_decision()
        check_labels = getattr(self._inference(), "check_labels", None)
        if self._resolved_decision() == SubsetLoss() and check_labels is not None:
            check_labels(self.n_labels_)

    def _resolved_decision(self) -> Decision:
        return resolve_decision(self.decision)

    def _decide(self) -> Decision:
        """Return the decision with what it needs to know from training."""
        decision = self._resolved_decision()
        if not isinstance(decision, ThresholdRule):
            return decision
        if "held_out" not in decision.needs:
            return decision.informed(self._training_rates())
        if getattr(self, "_untuned_rule", None) != decision:
            raise ValueError(
                f"decision {self.decision!r} is tuned on rows that fit holds out, but the model "
                "was not fitted with it: call fit again, or choose a decision that needs none, "
                "such as 'f1' or 'cmn'"
            )
        return self.rule_

    def _training_rates(self) -> Floats:
        """Return the share of the training rows that have each label, (L,)."""
        rates: Floats = self._rates
        return rates

    def _untuned(self) -> ThresholdRule | None:
        """Return the rule that `decision` stands for if it is tuned on held-out rows."""
        rule = self._resolved_decision()
        return rule if isinstance(rule, ThresholdRule) and "held_out" in rule.needs else None

    def _tune(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        rule = self._untuned()
        if rule is not None:
            self.rule_ = self._tuned(rule, X, labels, sample_weight)
            self._untuned_rule = rule

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        """Return the rule tuned on rows that clones of the fitted model have not seen."""
        held_out = cross_fitted_scores(
            self._fold_model(),
            rule,
            X,
            labels,
            sample_weight,
            seed=self._seed(),
            named=self._encoding.named,
        )
        # If all rows are equal, there is nothing to tune on.
        return FixedThreshold() if held_out is None else rule.informed(self._rates, held_out)

    def _fold_model(self) -> Self:
        """Return a clone to be fitted to parts of the rows, with the penalties chosen on all."""
        learned = {
            name: getattr(self, f"{name}_", None)
            for name, value in self.get_params(deep=False).items()
            if isinstance(value, str) and value == "cv"
        }
        chosen = {name: value for name, value in learned.items() if isinstance(value, float)}
        model: Self = clone(self)
        return model.set_params(decision=FixedThreshold(), verbose=0, **chosen)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what the estimator accepts, and that labels are decided together."""
        tags = super().__sklearn_tags__()
        # scikit-learn's check of multi-label classifiers expects `predict` to round the marginals,
        # but the most probable vector of dependent labels may differ from that. This tag is the
        # check's only switch.
        tags.classifier_tags.poor_score = self.decision != "hamming"
        return tags

    def _inference(self) -> Inference:
        strategy = getattr(self, "inference", None)  # not every model has a choice
        if strategy is None or isinstance(strategy, str):
            if strategy not in (None, "auto"):
                raise ValueError(
                    f"inference must be 'auto' or a strategy such as Greedy(); got {strategy!r}"
                )
            return Auto()
        if isinstance(strategy, type) or not callable(strategy):
            raise ValueError(f"inference must be a strategy such as Greedy(); got {strategy!r}")
        checked: Inference = strategy
        return checked
