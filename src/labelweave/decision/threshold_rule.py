"""Decide for a whole test set: one threshold per label, chosen with all rows in view.

Measures such as macro F1 couple the rows of a test set, so the labels of one row are no longer a
matter of that row alone. A `ThresholdRule` looks at the scores of all rows and chooses the score
above which each label is predicted. It works with the scores of any model, and as the ``decision``
of any estimator of this library. The rules are `ClassMassNormalization`, `CardinalityThreshold`,
`SampledF`, `ExpectedF`, `ExpectedAUC`, `TunedThresholds`, `MicroF1Threshold` and `FixedThreshold`;
`MajorityVote` applies one of them to the votes of an ensemble.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.decision.probabilities import Probabilities, Scores, check_scores, ranked_like
from labelweave.joint import JointDistribution

#: Scores (n, L) of rows the model was not trained on, their true labels (n, L) and, optionally, the
#: weights of the rows (n,).
HeldOut: TypeAlias = (
    tuple[npt.ArrayLike, npt.ArrayLike] | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
)
#: Given S, returns S label matrices (n, L) of the test rows, drawn from the model.
Draw: TypeAlias = Callable[[int], Iterable[npt.ArrayLike]]


class Evidence(NamedTuple):
    """What a rule decides by: the scores of some test rows, (n, L), and draws of their labels.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> Evidence.of(IndependentJoint(np.array([[0.0, 50.0]]))).scores
    Probabilities([[ 0., 50.]])
    """

    scores: Scores
    draw: Draw | None = None

    @classmethod
    def of(cls, joint: JointDistribution) -> Evidence:
        """Return the marginals of a joint distribution, with the order that rounding takes.

        Draws are the same at every call.
        """
        scores = Probabilities(joint.marginal_log_odds())
        return cls(scores, lambda k: np.moveaxis(joint.sample(k, 0), 1, 0))


class ThresholdSurvey(Protocol):
    """How a rule finds its thresholds where the test set comes in parts, in one pass or several.

    In every pass each part is put into a `summary`, summaries are merged in any order, and
    `conclude` returns what the next pass starts from. The thresholds are those of all rows at once,
    to the last bit.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.decision import ClassMassNormalization
    >>> rule = ClassMassNormalization(rates=[0.5])
    >>> parts = [np.array([[0.1], [0.4]]), np.array([[0.2], [0.3]])]
    >>> survey = rule.survey(n_labels=1, n_rows=4)
    >>> while not survey.finished:
    ...     survey = survey.conclude(survey.merge([survey.summary(part) for part in parts]))
    >>> survey.thresholds()
    array([0.25])
    """

    @property
    def passes(self) -> int:
        """The number of passes left, at most."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the thresholds are known."""
        ...

    def summary(self, scores: Scores, draw: Draw | None = None) -> Any:
        """Return what this pass has to know about the rows of a part."""
        ...

    def merge(self, summaries: Sequence[Any]) -> Any:
        """Return the summary of the rows of several parts."""
        ...

    def conclude(self, summary: Any) -> ThresholdSurvey:
        """Return the survey after a pass, given the summary of all rows."""
        ...

    def thresholds(self) -> Scores:
        """Return the threshold of each label, (L,), once they are known."""
        ...


class ThresholdRule(ABC):
    """A rule that chooses one threshold per label from the scores of a test set.

    Rows whose score is *above* the threshold get the label; a threshold of infinity gives it to
    none, one of minus infinity to all. What a rule needs to know from training is passed to
    `informed`, once; `thresholds` is then called for every test set.

    Scores may be the values of any decision function or probabilities, and thresholds are in the
    same units. The estimators of P(y|x) pass `Probabilities`, which hold log-odds: no two rows are
    tied because their probabilities are rounded to the same number. Settings of a rule, such as the
    threshold of `FixedThreshold`, are probabilities there.

    As the ``decision`` of an estimator it labels the rows passed to `predict` as one test set: the
    labels of a row then depend on the rows beside it.

    Examples
    --------
    >>> from labelweave.decision import ClassMassNormalization, ThresholdRule
    >>> rule: ThresholdRule = ClassMassNormalization(rates=[0.5, 0.5])
    >>> scores = [[0.9, 0.1], [0.8, 0.4], [0.3, 0.3], [0.2, 0.2]]
    >>> rule.thresholds(scores)
    array([0.55, 0.25])
    >>> rule.label(scores).tolist()
    [[1, 0], [1, 1], [0, 1], [0, 0]]
    """

    #: Whether `thresholds` needs label vectors drawn from the model. The scores must then be the
    #: probabilities with which these are drawn.
    needs_draws: ClassVar[bool] = False
    #: Whether `evidence` finds other scores than the marginals in the joint distribution.
    needs_joint: ClassVar[bool] = False

    @property
    def by_label(self) -> bool:
        """Whether the threshold of a label depends on the scores of this label alone."""
        return False

    @property
    def needs_rows(self) -> bool:
        """Whether thresholds depend on the test rows at all."""
        return True

    @property
    def needs_probabilities(self) -> bool:
        """Whether the scores have to be probabilities, as they have to maximise an expectation."""
        return False

    @property
    def needs_held_out(self) -> bool:
        """Whether `informed` needs scores of rows the model was not trained on."""
        return False

    def informed(self, rates: npt.ArrayLike, held_out: HeldOut | None = None) -> ThresholdRule:
        """Return the rule with what it needs to know from training; the rule itself if nothing.

        Parameters
        ----------
        rates : (L,) array
            Share of the training rows that have each label.
        held_out : (scores, labels) or (scores, labels, weight), optional
            Scores (n, L) of rows the model was not trained on, their true labels (n, L), and the
            weights of the rows; only for rules with `needs_held_out`.
        """
        del rates, held_out
        return self

    def evidence(self, joint: JointDistribution, /) -> Evidence:
        """Return what the rule decides by, given the joint distribution of the test rows."""
        return Evidence.of(joint)

    @abstractmethod
    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the threshold of each label, (L,).

        They are plain numbers for plain scores, and may be `Probabilities` for scores of that kind.

        Parameters
        ----------
        scores : (n, L) array or Probabilities
            The scores of the test rows, usually their marginal probabilities.
        draw : callable, optional
            ``draw(S)`` returns S label matrices of the test rows, drawn from the model; only
            `SampledF` uses it.
        """

    def survey(self, n_labels: int, n_rows: int | None = None) -> ThresholdSurvey | None:
        """Return how to find the thresholds of rows that come in parts, in bounded memory.

        None if the rule has to see the scores of all rows at once.

        Parameters
        ----------
        n_labels : int
        n_rows : int, optional
            The number of rows of all parts, if it is known.
        """
        del n_labels, n_rows
        return None

    def label(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Labels:
        """Return the labels of the test rows, (n, L) int8."""
        return apply_thresholds(scores, self.thresholds(scores, draw))

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels of the rows of a joint, taken as one test set; always the same ones."""
        return self.label(*self.evidence(joint))


@dataclass(frozen=True)
class FixedThreshold(ThresholdRule):
    """The same threshold for every label and every test set.

    Parameters
    ----------
    threshold : float, default=0.5
        One half suits probabilities, 0 suits decision values.

    Examples
    --------
    >>> FixedThreshold().label([[0.5, 0.6]])
    array([[0, 1]], dtype=int8)
    """

    needs_rows: ClassVar[bool] = False

    threshold: float = 0.5

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Floats:
        """Return `threshold` for each label, (L,)."""
        del draw
        return np.full(check_scores(scores).shape[1], float(self.threshold))


def apply_thresholds(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> Labels:
    """Return 1 where a score is above the threshold of its label, (n, L) int8.

    Parameters
    ----------
    scores : (n, L) array or Probabilities
        A score for each row and label.
    thresholds : (L,) array or Probabilities
        One threshold per label.

    Examples
    --------
    >>> apply_thresholds([[0.2, 0.7]], [0.1, 0.7])
    array([[1, 0]], dtype=int8)
    """
    values = check_scores(scores)
    limits = ranked_like(scores, thresholds)
    if limits.shape != values.shape[1:]:
        raise ValueError(
            f"thresholds must be one number for each of the {values.shape[1]} labels; "
            f"got shape {limits.shape}"
        )
    return (values > limits).astype(np.int8)


def cut_between(descending: Floats, n_above: int) -> float:
    """Return a threshold that has the first `n_above` of the sorted scores above it, no other.

    The midpoint between two scores; infinite where there is nothing to separate.
    """
    if n_above == 0:
        return np.inf
    if n_above == len(descending):
        return -np.inf
    return between(float(descending[n_above - 1]), float(descending[n_above]))


def between(above: float, below: float) -> float:
    """Return a threshold that tells one score from the next lower one."""
    middle = below + (above - below) / 2
    return middle if middle < above else below  # neighbours among floats have no middle


def possible_cuts(descending: Floats) -> Indices:
    """Return the possible numbers of scores above a threshold: equal scores go together."""
    steps = 1 + np.flatnonzero(descending[1:] < descending[:-1])
    ends = [len(descending)] if len(descending) else []
    return np.concatenate([[0], steps, ends]).astype(np.int64)
