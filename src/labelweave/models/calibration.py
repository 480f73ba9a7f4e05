"""CalibratedJointCV: temperature; sigmoids and isotonic functions of marginals.

Calibration of estimators of P(y|x), on rows that they have not seen.

`calibrated_joint` is the estimator; `held_out_joints` holds the rows out, `temperature` calibrates
joint distributions and `marginal_calibration` marginals. Users import from `labelweave.evaluation`.

Calibration of marginals, label by label: a sigmoid, or any increasing function.

The temperature of a joint distribution: how sure it should be of what it predicts.

Joint distributions of training rows, by models that have not seen them.

Probabilities that come true as often as they say, of any estimator of P(y|x).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Indicators, Indices, Labels, Mask, Positions
from labelweave._common.checks import check_choice, check_labels, check_whole_number
from labelweave._common.engine import processes
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
from labelweave.decision.probabilities import Probabilities, Scores, joined
from labelweave.decision.rules import ScoredRows, ThresholdRule
from labelweave.decision.tuned import LabelledScores
from labelweave.inference.strategy import Inference
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.metrics import METRICS
from labelweave.models.base import MultiLabelClassifier, RowOptions, checked_weight
from labelweave.models.conditionals import seeded_clone, weight_parameter, with_weight
from labelweave.models.conformal import ConformalClassifier
from labelweave.models.joint_estimators import (
    check_frozen,
    checked_joint_estimator,
    fold_estimator,
    joint_of,
)
from labelweave.models.stacking import deal_folds

# Probabilities beyond are moved to these: few sets have so many rows that they could tell more.
_LEAST = 1e-6
# By how much marginals beyond are told apart, in log-odds.
_SPREAD = 1e-6
# Rows of either class from which on a label has an isotonic function of its own.
MIN_FOR_ISOTONIC = 50.0
# Newton's method takes about eight steps, hardly ever halved.
_MAX_STEPS, _SMALLEST_STEP = 50, 1e-9
# A label's marginals rank its rows: few rows must not turn their order round.
_LEAST_SLOPE = 0.05


@dataclass(frozen=True)
class MarginalCalibration:
    """What is made of the marginals of each label.

    Attributes
    ----------
    slope, intercept : (L,) arrays
        The sigmoid of a label is σ(slope log(p / (1 − p)) + intercept).
    knots : tuple of L arrays (2, K)
        An isotonic function, linear between the points (p, calibrated p); empty (K = 0) for labels
        that have a sigmoid.
    """

    slope: Floats
    intercept: Floats
    knots: tuple[Floats, ...]

    def log_odds(self, log_odds: Floats) -> Floats:
        """Return calibrated log-odds, (n, L), given those of the marginals.

        Sigmoids keep the order of rows, also of those whose marginals are all moved to the same
        one: their log-odds are spread by so little that no probability changes visibly.
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
    """Fit slopes a and intercepts b with the penalty ((a − 1)² + b²) / 2, by Newton's method.

    So labels with few positives, which say little, keep the marginals about as they are.
    """
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
    """Fit an increasing function to Platt's targets, so that it is never 0 nor 1.

    The targets (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) are Laplace's estimates of labels that are always
    or never there.
    """
    positive = float(weight @ label)
    negative = float(weight.sum()) - positive
    target = np.where(label == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    fitted = IsotonicRegression(out_of_bounds="clip").fit(p, target, sample_weight=weight)
    return np.stack([fitted.X_thresholds_, fitted.y_thresholds_])


#: The largest temperature, and one over the smallest. Data that are separated, or that a model
#: knows nothing about, would have none.
MAX_TEMPERATURE = 100.0
# Of log T: less than what thousands of held-out rows can tell.
_TOLERANCE = 1e-3
_FIRST_STEP = 0.25
# The prior of 1/T is that of two pseudo-rows, for each of which the variance of log P(y) is one: a
# gamma distribution with its mode at T = 1. Without it, the two wrong rows of a set of two would
# heat the distribution until nothing is left of it, and labels that never vary would freeze it.
# Some hundred rows outweigh it. Unlike a normal prior of log T, it is log-concave in 1/T like the
# likelihood, so that there is still one hill.
_PRIOR_ROWS = 2.0
# Draws for each row of long chains: the error of a sum over rows is far below that of a row.
SAMPLES = 128


def fit_temperature(
    joint: JointDistribution, Y: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the temperature at which true label vectors are most probable.

    It is larger than 1 if the joint distribution is too sure of itself. A weak prior, worth about
    two rows, keeps it near 1 if there are few. Label vectors of probability zero do not count, as
    no temperature makes them possible; since the others alone make the distribution look too
    cautious, the temperature is then not below 1, and a warning says how many there are.
    """
    labels = check_labels(Y, joint.n_rows, joint.n_labels)
    weight = checked_weight(labels, sample_weight)
    possible = np.isfinite(joint.log_prob(labels))
    mass = np.ones(joint.n_rows) if weight is None else weight
    n_impossible = int((~possible & (mass > 0)).sum())
    part = joint[possible]

    def log_likelihood(temperature: float) -> float:
        return float(
            mass[possible] @ part.tempered(temperature, samples=SAMPLES).log_prob(labels[possible])
        )

    return best_temperature(log_likelihood, n_impossible=n_impossible)


def best_temperature(log_likelihood: Callable[[float], float], *, n_impossible: int = 0) -> float:
    """Return the temperature of the highest posterior probability, by Brent's method.

    The log-likelihood and the logarithm of the prior are concave in 1/T (docs/design/math.md,
    section 14), hence there is one hill.
    """

    @cache
    def loss(log_t: float) -> float:
        prior = _PRIOR_ROWS * (math.exp(-log_t) - 1.0 + log_t)
        return prior - log_likelihood(math.exp(log_t))

    found: Any = minimize_scalar(
        loss, bounds=_bracket(loss), method="bounded", options={"xatol": _TOLERANCE}
    )
    # Where the temperature makes no difference, it stays as it is.
    gain = loss(0.0) - float(found.fun)
    best = math.exp(float(found.x)) if gain > 1e-9 * (1.0 + abs(loss(0.0))) else 1.0
    if n_impossible == 0:
        return best
    warnings.warn(
        f"{n_impossible} held-out row(s) have labels of probability 0, which no temperature "
        "changes: it is fitted to the others, and at least 1. Choose a smoother estimator, such as "
        "JointClassifierCV, or calibrate marginals: joint=None, marginals='sigmoid'",
        UserWarning,
        stacklevel=2,
    )
    # Surprises are what makes a distribution too sure, and the greatest of them are left out.
    return max(best, 1.0)


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


@dataclass(frozen=True)
class HeldOutJoints:
    """What models make of rows that they have not seen, fold by fold, and the truth.

    Attributes
    ----------
    joints : list of JointDistribution
        Those of each fold.
    labels : (n, L) array of 0/1
        Of the rows of all folds, one fold after the other.
    weight : (n,) array
    rows : (n,) array of int, optional
        Which training rows these are: a splitter may hold out a row in several folds.
    """

    joints: list[JointDistribution]
    labels: Labels
    weight: Floats
    rows: Positions | None = None

    def _places(self) -> Iterator[slice]:
        ends = np.cumsum([joint.n_rows for joint in self.joints])
        for joint, end in zip(self.joints, ends.tolist(), strict=True):
            yield slice(end - joint.n_rows, end)

    def folds(self) -> Iterator[tuple[slice, Indices]]:
        """Iterate over the places of each fold, and those of other rows, if there are several."""
        rows = np.arange(len(self.labels)) if self.rows is None else self.rows
        for place in self._places() if len(self.joints) > 1 else ():
            yield place, np.flatnonzero(~np.isin(rows, rows[place]))

    def gathered(self, function: Callable[[JointDistribution], Scores]) -> Scores:
        """Return a function of the joint distributions for the rows of all folds."""
        return joined([function(joint) for joint in self.joints])

    def _log_prob(self, temperature: float, samples: int = 1024) -> Floats:
        return np.concatenate(
            [
                joint.tempered(temperature, samples=samples).log_prob(self.labels[place])
                for joint, place in zip(self.joints, self._places(), strict=True)
            ]
        )

    def log_likelihood(self, temperature: float) -> float:
        """Return that of the vectors that are possible: for the others no temperature matters."""
        log_prob = self._log_prob(temperature, SAMPLES)
        return float(self.weight @ np.where(np.isfinite(log_prob), log_prob, 0.0))

    def n_impossible(self) -> int:
        """Return the number of rows whose labels have probability zero."""
        return int(np.isneginf(self._log_prob(1.0)).sum())

    def log_loss(self, temperature: float) -> float:
        """Return the mean of −log P(y|x)."""
        # 0.0 − x, so that the loss of a perfect joint is 0 and not −0.
        return 0.0 - float(np.average(self._log_prob(temperature), weights=self.weight))


def held_out_joints(
    model: Any,
    X: Any,
    labels: Labels,
    weight: Floats | None,
    folds: list[tuple[Mask, Positions]],
    *,
    n_jobs: int | None = None,
    named: Callable[[Labels], Any] = lambda labels: labels,
) -> HeldOutJoints:
    """Return what copies of a model, fitted to other rows, make of the rows of each fold."""
    if isinstance(model, FrozenEstimator):
        models = [model for _ in folds]
    else:
        estimator = fold_estimator(model)
        models = processes(n_jobs)(
            delayed(_fitted)(
                estimator, X[train], named(labels[train]), None if weight is None else weight[train]
            )
            for train in (np.flatnonzero(inside) for inside, _ in folds)
        )
    joints = [joint_of(fitted, X[rows]) for fitted, (_, rows) in zip(models, folds, strict=True)]
    rows = np.concatenate([rows for _, rows in folds])
    return HeldOutJoints(
        joints, labels[rows], np.ones(len(rows)) if weight is None else weight[rows], rows
    )


def _fitted(estimator: Any, X: Any, y: Any, weight: Floats | None) -> Any:
    return clone(estimator).fit(X, y, **with_weight(estimator, weight))


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
    `JointDistribution.tempered` and docs/design/math.md, section 14.

    Examples
    --------
    Naive Bayes is too sure, as it counts the same evidence many times:

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from labelweave import load
    >>> from labelweave import CalibratedJointCV
    >>> from labelweave import BinaryRelevance
    >>> data = load("emotions")
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

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
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
