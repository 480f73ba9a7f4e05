"""Decide for a whole test set: one threshold per label, chosen with all rows in view.

Measures such as macro F1 couple the rows of a test set, so the best labels of one row depend on the
other rows. A `ThresholdRule` looks at the scores of all rows, of any model, and chooses the score
above which each label is predicted. The rules here match frequencies of training, fix a threshold
or count votes; `expected` has rules that maximise an expectation, `tuned` rules that learn from
held-out rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Counts, Floats, Indices, Labels
from labelweave._common.checks import check_number
from labelweave._common.presets import Preset, Presets, published
from labelweave.decision.probabilities import Probabilities, Scores, check_scores, like, ranked_like
from labelweave.inference import Greedy
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, MixtureJoint

#: Scores (n, L) of rows the model was not trained on, their labels (n, L), and weights (n,) if any.
HeldOut: TypeAlias = (
    tuple[npt.ArrayLike, npt.ArrayLike] | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
)
#: A function that returns, for S, S label matrices (n, L) of the test rows drawn from the model.
Draw: TypeAlias = Callable[[int], Iterable[npt.ArrayLike]]
#: What a rule may need; see `ThresholdRule.needs`.
Need: TypeAlias = Literal["rows", "held_out", "draws", "joint", "probabilities"]


class ScoredRows(NamedTuple):
    """The scores of test rows, (n, L), and draws of their labels."""

    scores: Scores
    draw: Draw | None = None

    @classmethod
    def of(cls, joint: JointDistribution) -> ScoredRows:
        """Return the marginals with their log-odds, and the same draws at every call."""
        scores = Probabilities(joint.marginal_log_odds())
        return cls(scores, lambda k: np.moveaxis(joint.sample(k, 0), 1, 0))


class ThresholdRule(ABC):
    """A rule that chooses one threshold per label from the scores of a test set.

    Rows whose score is *above* the threshold get the label; a threshold of infinity gives it to
    none, one of minus infinity to all. `informed` is called once, with facts about the training
    rows; `thresholds` is then called for every test set. `needs` says what both depend on.

    Scores may be probabilities or the values of any decision function, and thresholds are in the
    same units. The estimators of P(y|x) pass `Probabilities`, which hold log-odds, so that rounding
    ties no two rows; settings of a rule, such as the threshold of `FixedThreshold`, are then
    probabilities. As the ``decision`` of an estimator, a rule labels the rows passed to `predict`
    as one test set.
    """

    @property
    def needs(self) -> frozenset[Need]:
        """The inputs of `informed` and `thresholds` besides the rates of training.

        With "held_out", `informed` needs scores of rows the model was not trained on. With "rows",
        thresholds depend on the test rows; with "draws", also on label vectors drawn from the
        model. With "joint", `scored` uses other scores than the marginals. With "probabilities",
        scores have to be probabilities.
        """
        return frozenset({"rows"})

    @property
    def by_label(self) -> bool:
        """Whether the threshold of a label depends on the scores of this label alone."""
        return False

    def informed(self, rates: npt.ArrayLike, held_out: HeldOut | None = None) -> ThresholdRule:
        """Return the rule with the facts about training that it needs.

        `rates`, (L,), are the shares of the training rows that have each label. Some rules also
        need `held_out` rows, which the model was not trained on.
        """
        del rates, held_out
        return self

    def for_labels(self, labels: Indices) -> ThresholdRule:
        """Return the informed rule for some of the labels, if it decides label by label."""
        del labels
        return self

    def scored(self, joint: JointDistribution, /) -> ScoredRows:
        """Return the scores by which the rule decides, given the distribution of the test rows."""
        return ScoredRows.of(joint)

    @abstractmethod
    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the threshold of each label, (L,), in the units of the scores.

        `scores`, (n, L), are usually the marginal probabilities of the test rows. Only `SampledF`
        uses ``draw(S)``, which returns S label matrices of the test rows, drawn from the model.
        """

    def label(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Labels:
        """Return the labels of the test rows, (n, L) int8."""
        return apply_thresholds(scores, self.thresholds(scores, draw))

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels of the rows, taken as one test set; they are the same at every call."""
        return self.label(*self.scored(joint))


@dataclass(frozen=True)
class FixedThreshold(ThresholdRule):
    """The same threshold for every label and every test set.

    Parameters
    ----------
    threshold : float, default=0.5
        Use one half for probabilities and 0 for decision values.

    Examples
    --------
    >>> FixedThreshold().label([[0.5, 0.6]])
    array([[0, 1]], dtype=int8)
    """

    needs: ClassVar[frozenset[Need]] = frozenset()

    threshold: float = 0.5

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Floats:
        """Return `threshold` for each label, (L,)."""
        del draw
        return np.full(check_scores(scores).shape[1], float(self.threshold))


@dataclass(frozen=True, eq=False)
class ClassMassNormalization(ThresholdRule):
    """Predict each label on the same share of test rows as had it in training (CMN).

    The rows with the highest scores get the label; their number comes as close as possible to its
    training frequency, and rows with equal scores get it together or not at all. Only the order of
    scores matters, so they need not be calibrated. The published rule,
    ``ClassMassNormalization.preset("published")``, matches the frequency of every label: a label
    that is expected on less than half a row is predicted on none.

    Parameters
    ----------
    rates : (L,) sequence of float, optional
        Share of the training rows that have each label. By default, the estimator that uses the
        rule provides it.
    fallback : float or None, default=0.5
        The threshold of labels that are expected on too few rows, see `least_rows`, in the units of
        the scores: use 0.5 for probabilities (also if held as log-odds) and 0 for decision values.
        If None, the rule matches the frequency of these labels, too.
    least_rows : float, default=2.0
        A label expected on m test rows is on none of them with probability exp(-m), and then every
        prediction of it is wrong. A label that was not constant in training and is expected on
        fewer rows than this (or missing on fewer) has the `fallback` as its threshold.

    Examples
    --------
    >>> rule = ClassMassNormalization(rates=[0.5])
    >>> rule.label([[0.1], [0.4], [0.2], [0.3]]).ravel()
    array([0, 1, 0, 1], dtype=int8)
    """

    preset = Preset()
    presets: ClassVar[Presets] = published(fallback=None)
    by_label: ClassVar[bool] = True

    rates: Sequence[float] | Floats | None = None
    fallback: float | None = 0.5
    least_rows: float = 2.0

    def __post_init__(self) -> None:
        check_number(self.least_rows, "least_rows", minimum=0, finite=False)
        if self.fallback is not None:
            check_number(self.fallback, "fallback", finite=False, otherwise="None")

    def informed(
        self, rates: npt.ArrayLike, held_out: HeldOut | None = None
    ) -> ClassMassNormalization:
        """Return the rule with the training frequencies, unless it was given its own."""
        del held_out
        return self if self.rates is not None else replace(self, rates=np.asarray(rates))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the thresholds that match the training frequencies, (L,)."""
        del draw
        values = check_scores(scores)
        pairs = zip(values.T, self._rates(values.shape[1]).tolist(), strict=True)
        fallback = None if self.fallback is None else float(ranked_like(scores, self.fallback))
        return like(scores, np.array([self._cut(*pair, fallback) for pair in pairs]))

    def for_labels(self, labels: Indices) -> ClassMassNormalization:
        """Return the rule with the frequencies of some of the labels."""
        return self if self.rates is None else replace(self, rates=np.asarray(self.rates)[labels])

    def _rates(self, n_labels: int) -> Floats:
        if self.rates is None:
            raise ValueError(
                "ClassMassNormalization needs rates=, the share of training rows with each label"
            )
        rates = np.asarray(self.rates, dtype=np.float64)
        if rates.shape != (n_labels,):
            raise ValueError(
                f"rates must be one number for each of the {n_labels} labels; "
                f"got shape {rates.shape}"
            )
        if not ((rates >= 0) & (rates <= 1)).all():
            raise ValueError(f"rates must lie between 0 and 1; got {rates}")
        return rates

    def _cut(self, scores: Floats, rate: float, fallback: float | None) -> float:
        n_rows = len(scores)
        expected = rate * n_rows
        # Rates are quotients, so an expectation of two rows may be computed as slightly less.
        too_few = min(expected, n_rows - expected) < self.least_rows * (1 - 1e-9)
        if too_few and 0 < rate < 1 and fallback is not None:
            return fallback
        if rate == 1:  # an empty test set has no cut that tells all from none
            return -np.inf
        return nearest_cut(*np.unique(scores, return_counts=True), expected)


@dataclass(frozen=True)
class CardinalityThreshold(ThresholdRule):
    """One threshold for all labels, calibrated on the label cardinality (LCard, PCut1).

    The label cardinality is the mean number of labels of a row. The rule chooses the threshold at
    which the cardinality of the test rows comes as close as possible to the cardinality of the
    training rows, the higher one of two that are equally close. Rows with equal scores get a label
    together or not at all.
    The scores of all labels are compared with one another, so they must be on one scale: marginals,
    or the votes of an ensemble (`MajorityVote`), as in the ensembles of classifier chains of Read,
    Pfahringer, Holmes and Frank (Machine Learning 85, 2011).

    Parameters
    ----------
    cardinality : float, optional
        Mean number of labels of a training row. By default, the estimator that uses the rule
        provides it.

    Examples
    --------
    >>> rule = CardinalityThreshold(cardinality=1.5)
    >>> rule.thresholds([[0.9, 0.4], [0.3, 0.2]])
    array([0.25, 0.25])
    """

    cardinality: float | None = None

    def __post_init__(self) -> None:
        if self.cardinality is not None:
            check_number(self.cardinality, "cardinality", minimum=0, otherwise="None")

    def informed(
        self, rates: npt.ArrayLike, held_out: HeldOut | None = None
    ) -> CardinalityThreshold:
        """Return the rule with the label cardinality of training, unless it was given its own."""
        del held_out
        if self.cardinality is not None:
            return self
        return replace(self, cardinality=float(np.sum(np.asarray(rates))))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the one threshold, for each label, (L,)."""
        del draw
        values = check_scores(scores)
        share = self.share(values.shape[1])
        cut = nearest_cut(*np.unique(values, return_counts=True), share * values.size)
        return like(scores, np.full(values.shape[1], cut))

    def share(self, n_labels: int) -> float:
        """Return the share of the scores of all labels that should be above the threshold."""
        if self.cardinality is None:
            raise ValueError(
                "CardinalityThreshold needs cardinality=, the mean number of labels of a training "
                "row"
            )
        # Rates are quotients, so if all rows have all labels, their sum may exceed L slightly.
        share = self.cardinality / n_labels
        if share > 1 + 1e-9:
            raise ValueError(
                f"cardinality must be at most the number of labels, {n_labels}; "
                f"got {self.cardinality}"
            )
        return share


@dataclass(frozen=True)
class MajorityVote(ThresholdRule):
    """The labels for which more than a given share of a mixture's components vote.

    An ensemble of classifier chains (ECC) decides in this way: every chain predicts a label vector
    on its own, and a label is predicted if enough chains agree. In the published version,
    ``MajorityVote.preset("published")``, the threshold gives test rows as many labels as training
    rows had, on average (`CardinalityThreshold`).

    Parameters
    ----------
    inference : Inference, default=Greedy()
        The strategy that each component predicts with.
    threshold : float or ThresholdRule, default=0.5
        Share of the votes above which a label is predicted, or the rule that chooses it for a whole
        test set.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint, MixtureJoint
    >>> members = [IndependentJoint([z]) for z in ([1.0, 2.0], [3.0, -1.0], [-1.0, -1.0])]
    >>> MajorityVote()(MixtureJoint([1 / 3, 1 / 3, 1 / 3], members))
    array([[1, 0]], dtype=int8)
    """

    preset = Preset()
    presets: ClassVar[Presets] = published(threshold=CardinalityThreshold())

    inference: Inference = field(default_factory=Greedy)
    threshold: float | ThresholdRule = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.threshold, ThresholdRule):
            check_number(self.threshold, "threshold", otherwise="a ThresholdRule")

    @property
    def rule(self) -> ThresholdRule:
        """The rule that chooses the threshold of the votes."""
        given = self.threshold
        return given if isinstance(given, ThresholdRule) else FixedThreshold(given)

    @property
    def needs(self) -> frozenset[Need]:
        """The needs of the threshold's rule, and "joint", as votes come from the distribution."""
        return self.rule.needs | {"joint", "probabilities"}

    def informed(self, rates: npt.ArrayLike, held_out: HeldOut | None = None) -> MajorityVote:
        """Return the rule with the facts about training that its threshold needs."""
        if not isinstance(self.threshold, ThresholdRule):
            return self
        return replace(self, threshold=self.threshold.informed(rates, held_out))

    def scored(self, joint: JointDistribution, /) -> ScoredRows:
        """Return the share of votes of each label."""
        return ScoredRows(self.shares(joint))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the share of votes that each label needs, (L,), given the shares of all rows."""
        return self.rule.thresholds(scores, draw)

    def shares(self, joint: JointDistribution, /) -> Floats:
        """Return the share of votes of each label, (n, L); a single form has one vote."""
        if not isinstance(joint, MixtureJoint):
            return np.asarray(joint.mode(self.inference).labels, dtype=np.float64)
        votes = np.zeros((joint.n_rows, joint.n_labels))
        for k, component in enumerate(joint.components):
            votes += joint.weights[:, [k]] * component.mode(self.inference).labels
        return votes


def apply_thresholds(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> Labels:
    """Return 1 where a score is above the threshold of its label, (n, L) int8."""
    values = check_scores(scores)
    limits = ranked_like(scores, thresholds)
    if limits.shape != values.shape[1:]:
        raise ValueError(
            f"thresholds must be one number for each of the {values.shape[1]} labels; "
            f"got shape {limits.shape}"
        )
    return (values > limits).astype(np.int8)


def nearest_cut(scores: Floats, counts: Counts, expected: float) -> float:
    """Return the (higher) threshold with nearly `expected` of the ascending scores above it."""
    above = np.concatenate([[0], np.cumsum(counts[::-1])])
    best = int(np.argmin(np.abs(above - expected)))
    return cut_between(scores[::-1], best)


def cut_between(descending: Floats, n_above: int) -> float:
    """Return the midpoint below the first `n_above` sorted scores; infinite at the ends."""
    if n_above == 0:
        return np.inf
    if n_above == len(descending):
        return -np.inf
    above, below = float(descending[n_above - 1]), float(descending[n_above])
    middle = below + (above - below) / 2
    return middle if middle < above else below  # neighbours among floats have no middle


def possible_cuts(descending: Floats) -> Indices:
    """Return the possible numbers of scores above a threshold: equal scores go together."""
    steps = 1 + np.flatnonzero(descending[1:] < descending[:-1])
    ends = [len(descending)] if len(descending) else []
    return np.concatenate([[0], steps, ends]).astype(np.int64)
