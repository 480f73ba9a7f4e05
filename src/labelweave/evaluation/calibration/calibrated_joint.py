"""Probabilities that come true as often as they say, of any estimator of P(y|x)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_choice, check_whole_number
from labelweave._common.pipelines import innermost
from labelweave.decision import (
    Decided,
    FixedThreshold,
    HammingLoss,
    PartialAbstention,
    PrecisionAtK,
    RankingLoss,
    SubsetLoss,
)
from labelweave.decision.decide import decide, resolve_decision
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Probabilities, Scores
from labelweave.decision.rules import ScoredRows, ThresholdRule
from labelweave.decision.tuned import LabelledScores
from labelweave.evaluation.calibration.held_out_joints import HeldOutJoints, held_out_joints
from labelweave.evaluation.calibration.marginal_calibration import (
    MarginalCalibration,
    fit_marginal_calibration,
)
from labelweave.evaluation.calibration.temperature import best_temperature
from labelweave.evaluation.conformal.conformal_classifier import ConformalClassifier
from labelweave.evaluation.joint_estimators import check_frozen, checked_joint_estimator, joint_of
from labelweave.inference import Inference
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.metrics import METRICS
from labelweave.models import MultiLabelClassifier
from labelweave.models.base_classifier import seeded_clone, weight_parameter, with_weight
from labelweave.models.label_classifier import checked_weight
from labelweave.models.stacking.cross_fitting import deal_folds

__all__ = ["OF_JOINTS", "OF_MARGINALS", "CalibratedJointCV"]

#: Ways to calibrate joint distributions and marginals.
OF_JOINTS, OF_MARGINALS = ("temperature",), ("sigmoid", "isotonic")
# What only marginals matter to, beside a ranking loss that is not normalised.
_BY_MARGINALS = (HammingLoss, PartialAbstention, PrecisionAtK)


class CalibratedJointCV(MultiLabelClassifier):
    """An estimator of P(y|x) whose probabilities are calibrated on rows that it has not seen.

    The joint distribution gets a temperature, P(y|x)^(1/T) normalised: if label vectors of
    probability 0.8 are right in six of ten rows, T > 1 makes them less sure. The order of the label
    vectors, hence the most probable one, stays as it is. The marginals may get a function of their
    own, label by label.

    Parameters
    ----------
    estimator : estimator of P(y|x), optional
        Or a pipeline or search that ends in one; by default ``ClassifierChain()``. A fitted model
        in scikit-learn's ``FrozenEstimator`` stays as it is: all rows that `fit` gets then serve
        the calibration, and must not be those that the model has learned from.
    joint : "temperature" or None, default="temperature"
        How the joint distribution is calibrated.
    marginals : "sigmoid", "isotonic" or None, default=None
        How the marginals are calibrated. "sigmoid" moves and scales the log-odds of each label;
        "isotonic" is any increasing function, for labels with at least 50 held-out rows of
        either class, and a sigmoid for others. `predict_proba`, and decisions that only look at
        marginals, then use the calibrated ones: **these are no longer the marginals of**
        `predict_joint`.
    cv : int, splitter or list of (train, test), default=5
        How training rows are held out. A number of folds deals the rows by their content: their
        order does not matter, and equal rows share a fold.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of folds fitted at a time; -1 uses all cores.
    random_state : int, RandomState or None, default=None
        Seeds the folds and every unset `random_state` of the estimator. None means 0.
    verbose : int, default=0
        If positive, print the temperature and the held-out log-loss before and after.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows.
    temperature_ : float
        T, between 0.01 and 100, and near 1 if there are few rows; 1 if `joint` is None. At least 1
        if labels of held-out rows have probability 0, of which a warning tells.
    marginal_calibration_ : MarginalCalibration or None
        What is made of the marginals of `estimator_`.
    log_loss_ : dict
        The held-out log-loss before and after: "joint" of label vectors, per row; "marginals" per
        row and label, if these are calibrated, each fold by functions fitted to the others. It is
        infinite if labels of a held-out row have probability 0. Empty if all rows are equal, so
        that none can be held out.

    Notes
    -----
    Folds are fitted with the penalties that were chosen on all rows. Marginals are calibrated as
    the estimator predicts them, before the temperature. Chains and mixtures of more than 16 labels
    estimate the normaliser of P(y|x)^(1/T) and their marginals from weighted draws, with the
    standard errors that ``predict_joint(X).log_prob_error()`` and ``estimate`` state: see
    `TemperedJoint` and docs/design/math.md, section 14.

    Examples
    --------
    Naive Bayes is too sure, as it counts the same evidence many times:

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.evaluation import CalibratedJointCV
    >>> from labelweave.models import BinaryRelevance
    >>> data = load_emotions()
    >>> naive = BinaryRelevance(estimator=GaussianNB())
    >>> model = CalibratedJointCV(estimator=naive).fit(data.X[:400], data.Y[:400])
    >>> round(model.temperature_, 1)
    19.8
    >>> [round(loss, 1) for loss in model.log_loss_["joint"]]
    [19.6, 3.2]
    """

    temperature_: float
    marginal_calibration_: MarginalCalibration | None
    log_loss_: dict[str, tuple[float, float]]

    def __init__(
        self,
        *,
        estimator: Any = None,
        joint: str | None = "temperature",
        marginals: str | None = None,
        cv: Any = 5,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.joint = joint
        self.marginals = marginals
        self.cv = cv
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def base_estimator(self) -> Any:
        """Return `estimator`, checked, or the default."""
        return checked_joint_estimator(
            self.estimator, refused=(CalibratedJointCV, ConformalClassifier)
        )

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.joint is not None:
            check_choice(self.joint, "joint", OF_JOINTS, otherwise="None")
        if self.marginals is not None:
            check_choice(self.marginals, "marginals", OF_MARGINALS, otherwise="None")
        no_splitter = isinstance(self.cv, str) or not hasattr(self.cv, "split")
        if no_splitter and not (isinstance(self.cv, list) and self.cv):
            check_whole_number(
                self.cv, "cv", 2, otherwise="a splitter, a list of at least one (train, test)"
            )

    @staticmethod
    def _weighted(X: Any, labels: Labels, sample_weight: Any) -> tuple[Any, Labels, Floats | None]:
        # Rows of weight zero are left out of every fit, but a splitter counts them.
        return X, labels, checked_weight(X, sample_weight)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        self.temperature_, self.marginal_calibration_, self.log_loss_ = 1.0, None, {}
        held_out = self._held_out(X, labels, sample_weight)
        if held_out is None:
            return
        if self.joint is not None:
            self.temperature_ = best_temperature(
                held_out.log_likelihood, n_impossible=held_out.n_impossible()
            )
        self.log_loss_["joint"] = held_out.log_loss(1.0), held_out.log_loss(self.temperature_)
        if self.marginals is not None:
            self._calibrate_marginals(held_out)
        self._tell(f"temperature {self.temperature_:.3f}")
        for name, (before, after) in self.log_loss_.items():
            self._tell(f"held-out log-loss of {name}: {before:.4f}, calibrated {after:.4f}")
        rule = self._untuned()
        if rule is not None:
            scores = held_out.gathered(lambda joint: self._scores(rule, joint))
            known = LabelledScores(scores, held_out.labels, held_out.weight)
            self.rule_ = rule.informed(self._rates, known)

    def _held_out(
        self, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> HeldOutJoints | None:
        """Fit the estimator, and return what it makes of rows that it has not seen."""
        estimator, seed = self.base_estimator(), self._seed()
        counts = np.full(len(labels), True) if sample_weight is None else sample_weight > 0
        folds = deal_folds(self.cv, X, labels, sample_weight, seed)
        folds = [(inside & counts, rows[counts[rows]]) for inside, rows in folds]
        if isinstance(estimator, FrozenEstimator):
            check_frozen(estimator, self)
            self.estimator_ = estimator
            # It has seen none of the rows, even if they are all equal.
            folds = folds or [(~counts, np.flatnonzero(counts))]
            return held_out_joints(estimator, X, labels, sample_weight, folds)
        if sample_weight is not None and weight_parameter(estimator) is None:
            raise ValueError(
                f"sample_weight was given, but estimator {estimator!r} does not support it"
            )
        named, rows = self._encoding.named, np.flatnonzero(counts)
        weights = with_weight(estimator, None if sample_weight is None else sample_weight[rows])
        self.estimator_ = seeded_clone(estimator, seed).fit(X[rows], named(labels[rows]), **weights)
        if not folds:
            return None
        return held_out_joints(
            self.estimator_, X, labels, sample_weight, folds, n_jobs=self.n_jobs, named=named
        )

    def _calibrate_marginals(self, held_out: HeldOutJoints) -> None:
        labels, weight, isotonic = held_out.labels, held_out.weight, self.marginals == "isotonic"
        marginals = np.asarray(held_out.gathered(lambda joint: joint.marginals()))
        self.marginal_calibration_ = fit_marginal_calibration(
            marginals, labels, weight, isotonic=isotonic
        )
        # Functions as flexible as these look better on the rows that they were fitted to.
        after = self.marginal_calibration_(marginals)
        for rows, others in held_out.folds():
            function = fit_marginal_calibration(
                marginals[others], labels[others], weight[others], isotonic=isotonic
            )
            after[rows] = function(marginals[rows])
        losses = [METRICS["log_loss"](labels, p, sample_weight=weight) for p in (marginals, after)]
        self.log_loss_["marginals"] = losses[0], losses[1]

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        # Tuned already, on the rows that were held out for the calibration.
        del rule, X, labels, sample_weight
        return getattr(self, "rule_", FixedThreshold())

    # ------------------------------------------------------------------ predict

    def _inference(self) -> Inference:
        model = self.estimator_ if hasattr(self, "estimator_") else self.base_estimator()
        strategy: Inference = innermost(model)._inference()
        return strategy

    def _joint(self, X: Any) -> JointDistribution:
        return joint_of(self.estimator_, X).tempered(self.temperature_)

    def _unexplained_because(self) -> str:
        return (
            "model is calibrated, and no contributions add up to what it predicts: explain "
            "model.estimator_, the model before calibration (on the command line: a model that was "
            "fitted without --calibrate)"
        )

    def _base_joint(self, X: Any) -> JointDistribution:
        return joint_of(self.estimator_, self._features(X, reset=False))

    def _marginals(self, joint: JointDistribution) -> Floats:
        """Return calibrated marginals, given what the estimator predicts."""
        if self.marginal_calibration_ is None:
            return joint.tempered(self.temperature_).marginals()
        return self.marginal_calibration_(joint.marginals())

    def _log_odds(self, joint: JointDistribution) -> Floats:
        """Return the log-odds of calibrated marginals, given what the estimator predicts."""
        if self.marginal_calibration_ is None:
            return joint.tempered(self.temperature_).marginal_log_odds()
        return self.marginal_calibration_.log_odds(joint.marginal_log_odds())

    def _scores(self, rule: ThresholdRule | None, joint: JointDistribution) -> Scores:
        """Return what a rule decides by, given what the estimator predicts."""
        if rule is not None and "joint" in rule.needs:
            return rule.scored(joint).scores
        return Probabilities(self._log_odds(joint))

    def _seen_by(self, decision: Decision, joint: JointDistribution) -> JointDistribution:
        """Return what a decision looks at, given what the estimator predicts."""
        by_marginals = isinstance(decision, _BY_MARGINALS) or decision == RankingLoss(
            normalized=False
        )
        if self.marginal_calibration_ is None or not by_marginals:
            return joint.tempered(self.temperature_)
        return IndependentJoint(logit(self._marginals(joint)), label_names=joint.label_names)

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated marginal probability of each label, (n, L).

        For a one-dimensional y: the probabilities of its two classes, (n, 2). If `marginals` is
        None, these are the marginals of `predict_joint`, and otherwise they are not.
        """
        check_is_fitted(self)
        return self._encoding.probabilities(self._marginals(self._base_joint(X)))

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of each label, (n, L), as of `predict_proba`."""
        check_is_fitted(self)
        return self._log_odds(self._base_joint(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that are optimal for `decision`, (n, L) of 0/1.

        The most probable vectors are those of the estimator: no temperature changes them. If
        `decision` is a rule for test sets, the labels of a row depend on the rows beside it.
        """
        check_is_fitted(self)
        decision = self._decide()
        if isinstance(decision, ThresholdRule):
            return super().predict(X)
        joint = self._base_joint(X)
        # The mode needs no normaliser, which may have to be estimated.
        seen = joint if isinstance(decision, SubsetLoss) else self._seen_by(decision, joint)
        return self._encoding.decode(decision(seen))

    def decide(self, X: Any, loss: str | Decision) -> Decided:
        """Return the labels of least expected loss, and that loss, without fitting anew.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        loss : str or Loss
            As in `MultiLabelClassifier.decide`.

        Returns
        -------
        Decided
        """
        check_is_fitted(self)
        joint = self._base_joint(X)
        decided = decide(self._seen_by(resolve_decision(loss), joint), loss)
        if isinstance(loss, RankingLoss):  # the best ranking is one by marginals, but not its risk
            risk = loss.risk(joint.tempered(self.temperature_), decided.labels)
            decided = replace(decided, risk=risk)
        return decided

    def scored(self, X: Any) -> ScoredRows:
        """Return what `threshold_rule` decides by, usually the calibrated marginals."""
        check_is_fitted(self)
        joint = self._base_joint(X)
        scores, tempered = (
            self._scores(self.threshold_rule(), joint),
            joint.tempered(self.temperature_),
        )
        return ScoredRows(scores, lambda k: np.moveaxis(tempered.sample(k, 0), 1, 0))
