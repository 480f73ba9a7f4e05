"""CalibratedJointCV: probabilities that come true as often as they say.

The temperature T of P(y|x)^(1/T), normalised, is chosen by the likelihood of held-out rows, with a
weak prior; both are log-concave in 1/T (docs/design/math.md, section 14).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Indicators, Labels, Positions
from labelweave._common.checks import check_choice, check_number
from labelweave._common.folds import Fold, check_folds, deal
from labelweave._common.pipelines import copy_for_fold, inside
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
from labelweave.decision.probabilities import Probabilities, Scores, joined
from labelweave.decision.rules import ScoredRows, ThresholdRule
from labelweave.decision.tuned import LabelledScores
from labelweave.inference.strategy import Inference
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.metrics import METRICS
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.chains import ClassifierChain
from labelweave.models.conditionals import seeded_clone
from labelweave.models.conformal import ConformalClassifier
from labelweave.models.cross_fitting import (
    CrossFit,
    TrainingData,
    check_frozen,
    check_wrapped,
    cross_fit,
    joint_of,
)

# Probabilities are moved this far from 0 and 1: few data sets have enough rows to tell more.
_LEAST = 1e-6
# Clipped log-odds are spread by this much, which changes no probability visibly.
_SPREAD = 1e-6
# Least number of rows of either class for an isotonic function of a label.
MIN_FOR_ISOTONIC = 50.0
# Newton's method takes about eight steps, hardly ever halved.
_MAX_STEPS, _SMALLEST_STEP = 50, 1e-9
# Marginals rank the rows of a label, and few rows must not reverse this order.
_LEAST_SLOPE = 0.05


@dataclass(frozen=True)
class MarginalCalibration:
    """A function of the marginals of each label.

    It is the sigmoid σ(slope log(p / (1 − p)) + intercept), or for a label with `knots`, (2, K), an
    isotonic function that is linear between the points (p, calibrated p).
    """

    slope: Floats
    intercept: Floats
    knots: tuple[Floats, ...]

    def log_odds(self, log_odds: Floats) -> Floats:
        """Return calibrated log-odds, (n, L), from the log-odds of the marginals.

        Log-odds that are clipped to the same number are spread a little, so that sigmoids keep the
        order of all rows.
        """
        clipped = np.clip(log_odds, *_log_odds(np.array([0.0, 1.0])))
        beyond = np.nan_to_num(log_odds) - clipped
        calibrated: Floats = self.slope * clipped + self.intercept
        calibrated += _SPREAD * np.sign(beyond) * np.log1p(np.abs(beyond))
        for label, (p, value) in enumerate(self.knots):
            if len(p):
                calibrated[:, label] = logit(np.interp(expit(log_odds[:, label]), p, value))
        return calibrated

    def __call__(self, marginals: Floats) -> Floats:
        """Return calibrated marginals, (n, L)."""
        calibrated: Floats = expit(self.slope * _log_odds(marginals) + self.intercept)
        for label, (p, value) in enumerate(self.knots):
            if len(p):
                calibrated[:, label] = np.interp(marginals[:, label], p, value)
        return calibrated


def fit_marginal_calibration(
    marginals: Floats, labels: Labels | Indicators, weight: Floats, *, isotonic: bool = False
) -> MarginalCalibration:
    """Fit a function for each label to marginals of rows that a model has not learned from."""
    slope, intercept = _fit_sigmoids(_log_odds(marginals), labels, weight)
    n_labels = labels.shape[1]
    knots = [np.empty((2, 0)) for _ in range(n_labels)]
    positive = weight @ labels
    fewest = np.minimum(positive, weight.sum() - positive)
    for label in np.flatnonzero(isotonic & (fewest >= MIN_FOR_ISOTONIC)):
        knots[label] = _fit_isotonic(marginals[:, label], labels[:, label], weight)
    return MarginalCalibration(slope, intercept, tuple(knots))


def _log_odds(marginals: Floats) -> Floats:
    return np.asarray(logit(np.clip(marginals, _LEAST, 1 - _LEAST)))


def _fit_sigmoids(z: Floats, labels: Labels | Indicators, weight: Floats) -> tuple[Floats, Floats]:
    """Fit slopes a and intercepts b with the penalty ((a − 1)² + b²) / 2, by Newton's method."""
    w = weight[:, None]

    def loss(a: Floats, b: Floats) -> Floats:
        u = a * z + b
        likelihood = (w * (labels * u - np.logaddexp(0.0, u))).sum(axis=0)
        return np.asarray(((a - 1) ** 2 + b**2) / 2 - likelihood)

    a, b = np.ones(z.shape[1]), np.zeros(z.shape[1])
    present = loss(a, b)
    for _ in range(_MAX_STEPS):
        p = expit(a * z + b)
        step_a, step_b = _newton_step(a, b, z, w * (p - labels), w * p * (1 - p))
        for _ in range(_MAX_STEPS):
            found = loss(a - step_a, b - step_b)
            worse = found > present
            if not worse.any():
                break
            step_a, step_b = np.where(worse, [step_a / 2, step_b / 2], [step_a, step_b])
        a, b = np.where(worse, [a, b], [a - step_a, b - step_b])
        present = np.where(worse, present, found)
        if np.abs(np.where(worse, 0.0, [step_a, step_b])).max() < _SMALLEST_STEP:
            break
    for label in np.flatnonzero(a < _LEAST_SLOPE):
        a[label] = _LEAST_SLOPE
        b[label] = _fit_intercept(_LEAST_SLOPE * z[:, label], labels[:, label], weight)
    return a, b


def _fit_intercept(z: Floats, label: Labels | Indicators, weight: Floats) -> float:
    """Fit the intercept alone, with the same penalty: the zero of an increasing derivative."""
    end = float(weight.sum()) + 1.0  # the penalty's part of the derivative outweighs all rows there
    return float(brentq(lambda b: weight @ (expit(z + b) - label) + b, -end, end))


def _newton_step(
    a: Floats, b: Floats, z: Floats, residual: Floats, curvature: Floats
) -> tuple[Floats, Floats]:
    """Return the steps of slopes and intercepts down to the minimum of a quadratic model."""
    gradient_a = (residual * z).sum(axis=0) + a - 1
    gradient_b = residual.sum(axis=0) + b
    aa, ab = (curvature * z**2).sum(axis=0) + 1, (curvature * z).sum(axis=0)
    bb = curvature.sum(axis=0) + 1
    determinant = aa * bb - ab**2
    return (
        (bb * gradient_a - ab * gradient_b) / determinant,
        (aa * gradient_b - ab * gradient_a) / determinant,
    )


def _fit_isotonic(p: Floats, label: Labels | Indicators, weight: Floats) -> Floats:
    """Fit an increasing function to Platt's targets, so that it is never 0 nor 1."""
    positive = float(weight @ label)
    negative = float(weight.sum()) - positive
    target = np.where(label == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    fitted = IsotonicRegression(out_of_bounds="clip").fit(p, target, sample_weight=weight)
    return np.stack([fitted.X_thresholds_, fitted.y_thresholds_])


#: The largest temperature, and one over the smallest.
MAX_TEMPERATURE = 100.0
# Tolerance of log T: thousands of held-out rows do not determine it more exactly.
_TOLERANCE = 1e-3
_FIRST_STEP = 0.25
# The prior of 1/T is a gamma distribution with its mode at T = 1, worth two pseudo-rows for which
# log P(y) has variance one. It bounds T if all rows are wrong, or if labels never vary; a hundred
# rows outweigh it. Unlike a normal prior of log T it is log-concave in 1/T, like the likelihood.
_PRIOR_ROWS = 2.0
# Draws for each row of long chains: the error of a sum over rows is far below that of a row.
SAMPLES = 128


def best_temperature(log_likelihood: Callable[[float], float]) -> float:
    """Return the temperature of the highest posterior probability, by Brent's method."""

    @cache
    def loss(log_t: float) -> float:
        prior = _PRIOR_ROWS * (math.exp(-log_t) - 1.0 + log_t)
        return prior - log_likelihood(math.exp(log_t))

    found: Any = minimize_scalar(
        loss, bounds=_bracket(loss), method="bounded", options={"xatol": _TOLERANCE}
    )
    # Where the temperature makes no difference, it stays as it is.
    gain = loss(0.0) - float(found.fun)
    return math.exp(float(found.x)) if gain > 1e-9 * (1.0 + abs(loss(0.0))) else 1.0


def _bracket(loss: Callable[[float], float]) -> tuple[float, float]:
    """Return bounds of the valley of a function of log T, by growing steps away from T = 1."""
    step = _FIRST_STEP if loss(_FIRST_STEP) < loss(-_FIRST_STEP) else -_FIRST_STEP
    before, here, largest = -step, 0.0, math.log(MAX_TEMPERATURE)
    while abs(here) < largest:
        beyond = math.copysign(min(abs(here + step), largest), step)
        if loss(beyond) >= loss(here):
            break
        before, here, step = here, beyond, 2 * step
    else:
        beyond = here
    return min(before, beyond), max(before, beyond)


def _log_probs(
    held_out: CrossFit, labels: Labels, temperature: float, samples: int = 1024
) -> Floats:
    """Return the log-probability of each held-out row's labels, one fold after the other."""

    def of_fold(joint: JointDistribution, rows: Positions) -> Floats:
        return joint.tempered(temperature, samples=samples).log_prob(labels[rows])

    return np.concatenate(held_out.scored(of_fold).parts)


def held_out_temperature(held_out: CrossFit, labels: Labels, weight: Floats) -> float:
    """Return the temperature at which the labels of held-out rows are most probable.

    Label vectors of probability zero do not count, as no temperature makes them possible. Without
    them the distributions look too cautious, so the temperature is then at least 1, with a warning.
    """
    mass = weight[held_out.rows]

    def log_likelihood(temperature: float) -> float:
        log_prob = _log_probs(held_out, labels, temperature, SAMPLES)
        return float(mass @ np.where(np.isfinite(log_prob), log_prob, 0.0))

    n_impossible = int(np.isneginf(_log_probs(held_out, labels, 1.0)).sum())
    best = best_temperature(log_likelihood)
    if n_impossible == 0:
        return best
    warnings.warn(
        f"{n_impossible} held-out row(s) have labels of probability 0, which no temperature "
        "changes: it is fitted to the others, and at least 1. Choose a smoother estimator, such as "
        "JointClassifierCV, or calibrate marginals: temperature=None, marginals='sigmoid'",
        UserWarning,
        stacklevel=2,
    )
    return max(best, 1.0)


def held_out_loss(held_out: CrossFit, labels: Labels, weight: Floats, temperature: float) -> float:
    """Return the mean of −log P(y|x) over held-out rows."""
    log_prob = _log_probs(held_out, labels, temperature)
    # 0.0 − x, so that the loss of a perfect joint is 0 and not −0.
    return 0.0 - float(np.average(log_prob, weights=weight[held_out.rows]))


def calibrated_by_others(
    marginals: CrossFit,
    labels: Labels,
    weight: Floats,
    function: MarginalCalibration,
    isotonic: bool,
) -> Floats:
    """Return the marginals of each fold, calibrated by a function fitted to rows outside it.

    If there is one fold only, they are calibrated by `function`.
    """
    rows = marginals.rows
    values, truth, mass = np.concatenate(marginals.parts), labels[rows], weight[rows]
    if len(marginals.folds) == 1:
        return function(values)
    parts = []
    for part, fold in zip(marginals.parts, marginals.folds, strict=True):
        others = ~np.isin(rows, fold.held_out)
        of_others = fit_marginal_calibration(
            values[others], truth[others], mass[others], isotonic=isotonic
        )
        parts.append(of_others(part))
    return np.concatenate(parts)


# Decisions that depend on marginals only; a ranking loss that is not normalised is another one.
_BY_MARGINALS = (HammingLoss, PartialAbstention, PrecisionAtK)


@dataclass(eq=False, repr=False, kw_only=True)
class CalibratedJointCV(MultiLabelClassifier):
    """An estimator of P(y|x) whose probabilities are calibrated on rows that it has not seen.

    The joint distribution gets a temperature: if label vectors of probability 0.8 are right in six
    of ten rows, T > 1 makes them less sure. The most probable vector stays as it is.

    Parameters
    ----------
    estimator : estimator of P(y|x), optional
        Or a pipeline or search that ends in one; by default ``ClassifierChain()``. A fitted model
        in scikit-learn's ``FrozenEstimator`` stays as it is: all rows that `fit` gets then serve
        the calibration, and must not be those that the model has learned from.
    temperature : "cv", float or None, default="cv"
        The temperature of the joint distribution; "cv" chooses the one under which held-out rows
        are most probable, and None leaves the distribution as it is.
    marginals : "sigmoid", "isotonic" or None, default=None
        How the marginals are calibrated. "sigmoid" moves and scales the log-odds of each label;
        "isotonic" is any increasing function, for labels with at least 50 held-out rows of
        either class, and a sigmoid for others. `predict_proba`, and decisions that only look at
        marginals, then use the calibrated ones: **these are no longer the marginals of**
        `predict_joint`.
    cv : int, splitter or list of (train, test), default=5
        How training rows are held out. A number of folds deals the rows by their content: their
        order does not matter, and equal rows share a fold.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`
        `n_jobs` is the number of folds fitted at a time.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows.
    temperature_ : float
        T; if it is chosen, it is between 0.01 and 100, near 1 if there are few rows, and at least
        1, with a warning, if labels of held-out rows have probability 0.
    marginal_calibration_ : MarginalCalibration or None
        The function of the marginals of `estimator_`.
    log_loss_ : dict
        The held-out log-loss before and after: "joint" of label vectors, per row; "marginals" per
        row and label, if these are calibrated, each fold by functions fitted to the others. It is
        infinite if labels of a held-out row have probability 0. It is empty if no row can be held
        out because all are equal.

    Notes
    -----
    Folds are fitted with the penalties that were chosen on all rows. Marginals are calibrated as
    the estimator predicts them, before the temperature. For more than 16 labels see
    `JointDistribution.tempered` about standard errors.

    Examples
    --------
    Naive Bayes is too sure, as it counts the same evidence many times:

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from labelweave import BinaryRelevance, CalibratedJointCV, load
    >>> data = load("emotions")
    >>> naive = BinaryRelevance(estimator=GaussianNB())
    >>> model = CalibratedJointCV(naive).fit(data.X[:400], data.Y[:400])
    >>> round(model.temperature_, 1)
    19.8
    >>> [round(loss, 1) for loss in model.log_loss_["joint"]]
    [19.6, 3.2]
    """

    estimator: Any = field(default=None, kw_only=False)
    temperature: str | float | None = "cv"
    marginals: str | None = None
    cv: Any = 5

    def base_estimator(self) -> Any:
        """Return `estimator`, checked, or the default."""
        estimator = ClassifierChain() if self.estimator is None else self.estimator
        return check_wrapped(estimator, refused=(CalibratedJointCV, ConformalClassifier))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._fixed_temperature()
        if self.marginals is not None:
            check_choice(self.marginals, "marginals", ("sigmoid", "isotonic"), otherwise="None")
        check_folds(self.cv)

    def _fixed_temperature(self) -> float | None:
        """Return the temperature; None if held-out rows choose it."""
        if self.temperature is None:
            return 1.0
        if isinstance(self.temperature, str) and self.temperature == "cv":
            return None
        return check_number(self.temperature, "temperature", above=0, otherwise="None, 'cv'")

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        fixed = self._fixed_temperature()
        self.temperature_ = 1.0 if fixed is None else fixed
        self.marginal_calibration_: MarginalCalibration | None = None
        self.log_loss_: dict[str, tuple[float, float]] = {}
        held_out = self._held_out(X, labels, sample_weight)
        if held_out is None:
            return
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        if fixed is None:
            self.temperature_ = held_out_temperature(held_out, labels, weight)
        before, after = (
            held_out_loss(held_out, labels, weight, t) for t in (1.0, self.temperature_)
        )
        self.log_loss_["joint"] = before, after
        if self.marginals is not None:
            self._calibrate_marginals(held_out, labels, weight)
        self._tell(f"temperature {self.temperature_:.3f}")
        for name, (before, after) in self.log_loss_.items():
            self._tell(f"held-out log-loss of {name}: {before:.4f}, calibrated {after:.4f}")
        rule = self._untuned()
        if rule is not None:
            rows = held_out.rows
            scores = joined(held_out.map(lambda joint: self._scores(rule, joint)).parts)
            known = LabelledScores(scores, labels[rows], weight[rows])
            self.rule_ = rule.informed(self._rates, known)

    def _held_out(self, X: Any, labels: Labels, sample_weight: Floats | None) -> CrossFit | None:
        """Fit the estimator, and return its joints of rows that it has not seen, fold by fold."""
        estimator, seed = self.base_estimator(), self._seed()
        rows = np.arange(len(labels)) if sample_weight is None else np.flatnonzero(sample_weight)
        folds = deal(self.cv, X, labels, sample_weight, seed)
        if isinstance(estimator, FrozenEstimator):
            check_frozen(estimator, self)
            self.estimator_ = estimator
            # It has seen none of the rows, even if they are all equal.
            folds = folds or [Fold(rows[:0], rows)]
            models = CrossFit([estimator] * len(folds), folds)
        else:
            data = TrainingData(X, labels, sample_weight, self._encoding.named)
            self.estimator_ = data.fitted(seeded_clone(estimator, seed), rows)
            if not folds:
                return None
            fit = partial(data.fitted, copy_for_fold(self.estimator_))
            models = cross_fit(fit, folds, n_jobs=self.n_jobs)
        return models.scored(lambda model, rows: joint_of(model, X[rows]))

    def _calibrate_marginals(self, held_out: CrossFit, labels: Labels, weight: Floats) -> None:
        isotonic = self.marginals == "isotonic"
        by_fold = held_out.map(lambda joint: joint.marginals())
        marginals, rows = np.concatenate(by_fold.parts), held_out.rows
        self.marginal_calibration_ = fit_marginal_calibration(
            marginals, labels[rows], weight[rows], isotonic=isotonic
        )
        # Functions this flexible look better on the rows that they were fitted to.
        after = calibrated_by_others(by_fold, labels, weight, self.marginal_calibration_, isotonic)
        losses = [
            METRICS["log_loss"](labels[rows], p, sample_weight=weight[rows])
            for p in (marginals, after)
        ]
        self.log_loss_["marginals"] = losses[0], losses[1]

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        # The rule is tuned already, on the rows that were held out for the calibration.
        del rule, X, labels, sample_weight
        return getattr(self, "rule_", FixedThreshold())

    def _inference(self) -> Inference:
        model = self.estimator_ if hasattr(self, "estimator_") else self.base_estimator()
        strategy: Inference = inside(model).model._inference()
        return strategy

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return joint_of(self.estimator_, X).tempered(self.temperature_)

    def _unexplained_because(self) -> str:
        return (
            "model is calibrated, and no contributions add up to its predictions: explain "
            "model.estimator_, the model before calibration (on the command line: a model that is "
            "fitted by the method inside calibrated(...))"
        )

    def _base_joint(self, X: Any) -> JointDistribution:
        return joint_of(self.estimator_, self._features(X, reset=False))

    def _marginals(self, joint: JointDistribution) -> Floats:
        if self.marginal_calibration_ is None:
            return joint.tempered(self.temperature_).marginals()
        return self.marginal_calibration_(joint.marginals())

    def _log_odds(self, joint: JointDistribution) -> Floats:
        if self.marginal_calibration_ is None:
            return joint.tempered(self.temperature_).marginal_log_odds()
        return self.marginal_calibration_.log_odds(joint.marginal_log_odds())

    def _scores(self, rule: ThresholdRule | None, joint: JointDistribution) -> Scores:
        """Return the scores by which a rule decides, given the joint of the estimator."""
        if rule is not None and "joint" in rule.needs:
            return rule.scored(joint).scores
        return Probabilities(self._log_odds(joint))

    def _seen_by(self, decision: Decision, joint: JointDistribution) -> JointDistribution:
        """Return the joint that a decision uses, given the joint of the estimator."""
        by_marginals = isinstance(decision, _BY_MARGINALS) or decision == RankingLoss(
            normalized=False
        )
        if self.marginal_calibration_ is None or not by_marginals:
            return joint.tempered(self.temperature_)
        return IndependentJoint(logit(self._marginals(joint)), label_names=joint.label_names)

    def predict_proba(self, X: Any) -> Floats:
        """Return the calibrated marginals, (n, L), or of two classes, (n, 2)."""
        check_is_fitted(self)
        return self._encoding.probabilities(self._marginals(self._base_joint(X)))

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of the probabilities in `predict_proba`, (n, L)."""
        check_is_fitted(self)
        return self._log_odds(self._base_joint(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that are optimal for `decision`, (n, L) of 0/1."""
        check_is_fitted(self)
        decision = self._decide()
        if isinstance(decision, ThresholdRule):
            return super().predict(X)
        joint = self._base_joint(X)
        # No temperature changes the mode, and it needs no normaliser, which may be an estimate.
        seen = joint if isinstance(decision, SubsetLoss) else self._seen_by(decision, joint)
        return self._encoding.decode(decision(seen))

    def decide(self, X: Any, loss: str | Decision) -> Decided:
        """Return the labels of least expected loss, and that loss, without fitting anew."""
        check_is_fitted(self)
        joint = self._base_joint(X)
        decided = decide(self._seen_by(resolve_decision(loss), joint), loss)
        if isinstance(loss, RankingLoss):  # marginals give the best ranking, but not its risk
            risk = loss.risk(joint.tempered(self.temperature_), decided.labels)
            decided = replace(decided, risk=risk)
        return decided

    def scored(self, X: Any) -> ScoredRows:
        """Return the scores by which `threshold_rule` decides, usually calibrated marginals."""
        check_is_fitted(self)
        joint = self._base_joint(X)
        scores = self._scores(self.threshold_rule(), joint)
        tempered = joint.tempered(self.temperature_)
        return ScoredRows(scores, lambda k: np.moveaxis(tempered.sample(k, 0), 1, 0))
