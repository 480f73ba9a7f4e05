"""Losses that are minimised exactly, label by label or by the mode, and partial abstention.

In the ranking loss and losses that predict a fixed number of labels, label j contributes a weighted
sum Σ_s w(s) P(y_j = 1, |y| = s) over the number s of true labels (math.md, section 6).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_flag, check_labels, check_number, check_whole_number
from labelweave.inference import Auto
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.enumeration import row_blocks

#: The value of an open label.
OPEN = -1


class Decision(Protocol):
    """A callable that turns joint distributions into one label vector a row, (n, L) int8."""

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the chosen labels, (n, L)."""
        ...


class Loss(Decision, Protocol):
    """A decision with a loss: a call decides, and `risk` is the expected cost of a decision."""

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected loss of ``labels`` in each row, (n,)."""
        ...


class UnprovenModeWarning(UserWarning):
    """A prediction used the best label vector found, which may not be the most probable one.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", UnprovenModeWarning)
    """


@dataclass(frozen=True)
class SubsetLoss:
    """One unless the whole label vector is correct; minimised by the mode.

    Parameters
    ----------
    inference : Inference, optional
        The strategy that finds the mode. The default is the strategy of the estimator that
        predicted the joint distribution, else `Auto()`, as in ``joint.mode()``.

    Examples
    --------
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.4, 0.3, 0.001, 0.299]]))
    >>> SubsetLoss()(joint), SubsetLoss().risk(joint, [[0, 0]])
    (array([[0, 0]], dtype=int8), array([0.6]))
    """

    inference: Inference | None = None

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the most probable label vectors; warn if a proof was sought and not found."""
        strategy = self.inference or joint.inference or Auto()
        mode = joint.mode(strategy)
        if isinstance(strategy, Inference) and strategy.seeks_proof:
            _warn_unless_proven(mode, strategy)
        return mode.labels

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the probability that ``labels`` differs from the true vector, (n,)."""
        return np.asarray(-np.expm1(joint.log_prob(labels)))


def _warn_unless_proven(mode: Mode, strategy: Inference) -> None:
    """Warn, by default once in a session, if a strategy left some rows unproven."""
    left = ~mode.optimal
    if left.any():
        gap = mode.gap[left]
        search = "mode()" if strategy == Auto() else f"mode({strategy!r})"
        warnings.warn(
            f"{left.sum()} of {len(left)} rows have the best label vector found, without a proof "
            f"that it is the most probable: the mode may be up to {gap.max():.2g} nats likelier "
            f"({gap.mean():.2g} on average); predict_joint(X).{search}.gap tells row by row, "
            "Auto(budget=...) searches longer with a larger budget",
            UnprovenModeWarning,
            stacklevel=4,
        )


@dataclass(frozen=True)
class HammingLoss:
    """The share of labels that are wrong, or the cost of wrong labels; minimised label by label.

    Parameters
    ----------
    false_positive, false_negative : float or (L,) sequence of float, default=1.0
        The costs of predicting a false label and of missing a true one: one number, or one for each
        label.

    Examples
    --------
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.4, 0.3, 0.001, 0.299]]))
    >>> HammingLoss()(joint), HammingLoss(false_negative=[1, 5])(joint)
    (array([[1, 0]], dtype=int8), array([[1, 1]], dtype=int8))
    """

    false_positive: float | Sequence[float] = 1.0
    false_negative: float | Sequence[float] = 1.0

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative"):
            costs = np.asarray(getattr(self, name))
            is_number = costs.dtype.kind in "biuf" and costs.ndim <= 1
            if not is_number or not (np.isfinite(costs) & (costs >= 0)).all():
                raise ValueError(
                    f"{name} must be a cost of at least 0, or one for each label; "
                    f"got {getattr(self, name)!r}"
                )
            # Tuples can be compared, arrays cannot.
            plain = costs.astype(np.float64)
            object.__setattr__(self, name, tuple(plain.tolist()) if costs.ndim else float(plain))

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels whose prediction lowers the expected cost."""
        marginals = joint.marginals()
        wrong, missed = self._costs(joint.n_labels)
        return (marginals * missed > (1 - marginals) * wrong).astype(np.int8)

    def costs(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the average cost of each of ``labels``, (n, L)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        marginals = joint.marginals()
        wrong, missed = self._costs(joint.n_labels)
        return np.where(chosen == 1, (1 - marginals) * wrong, marginals * missed)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected cost per label, (n,); by default the expected share of wrong ones."""
        return np.asarray(self.costs(joint, labels).mean(axis=1))

    def _costs(self, n_labels: int) -> tuple[Floats, Floats]:
        costs = []
        for name in ("false_positive", "false_negative"):
            cost = np.asarray(getattr(self, name), dtype=np.float64)
            if cost.ndim == 1 and len(cost) != n_labels:
                raise ValueError(f"{name} has {len(cost)} costs, but there are {n_labels} labels")
            costs.append(np.broadcast_to(cost, (n_labels,)))
        return costs[0], costs[1]


@dataclass(frozen=True)
class PartialAbstention:
    """Leave a label open, -1, where the expected cost of a decision exceeds a price.

    Parameters
    ----------
    price : float
        The cost of an open label. At 0 all labels that are not certain stay open. A wrong label
        costs 1 by default; then no label stays open at a price of one half or more.
    loss : HammingLoss, optional
        The costs of wrong labels.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> PartialAbstention(price=0.2)(IndependentJoint([[3.0, 1.0, -2.0]]))
    array([[ 1, -1,  0]], dtype=int8)
    """

    price: float
    loss: HammingLoss = field(default_factory=HammingLoss)

    def __post_init__(self) -> None:
        check_number(self.price, "price", minimum=0)

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return 0, 1 or -1 (open) for each label."""
        labels = self.loss(joint)
        return np.where(self.loss.costs(joint, labels) > self.price, OPEN, labels).astype(np.int8)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected cost per label, open ones at their price, (n,)."""
        chosen = np.asarray(labels)
        is_open = chosen == OPEN
        costs = self.loss.costs(joint, np.where(is_open, 0, chosen))
        return np.asarray(np.where(is_open, self.price, costs).mean(axis=1))


def _weighted_by_cardinality(joint: JointDistribution, weights: Floats) -> Floats:
    """Return Σ_s weights_s P(y_j = 1, |y| = s) over s = 1 … L, (n, L)."""
    if (weights == weights[0]).all():  # the number of labels does not matter
        return np.asarray(weights[0] * joint.marginals())
    scores = np.empty((joint.n_rows, joint.n_labels))
    for rows in row_blocks(joint.n_rows, joint.n_labels**2):
        scores[rows] = joint[rows].cardinality_by_label()[:, :, 1:] @ weights
    return scores


@dataclass(frozen=True)
class RankingLoss:
    """Pairs of a true and a false label of which the false one is ranked first; minimised exactly.

    A pair of equal rank counts one half. `scores` gives the ranking of least expected loss
    (Dembczyński, Waegeman, Cheng and Hüllermeier, 2012). A label vector is also a ranking, with the
    predicted labels before the others, and a call of the loss returns the best label vector. The
    result is exact wherever ``joint.cardinality_by_label()`` is, or without normalisation,
    ``joint.marginals()``.

    Parameters
    ----------
    normalized : bool, default=True
        Whether to divide by the number of pairs, s·(L−s) if s of L labels are true; a row without
        pairs has loss 0.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint([[-1.0, 0.0, 1.0]])
    >>> RankingLoss()(joint), RankingLoss().risk(joint, [[0, 0, 1]]).round(3)
    (array([[0, 0, 1]], dtype=int8), array([0.228]))
    """

    normalized: bool = True

    def __post_init__(self) -> None:
        check_flag(self.normalized, "normalized")

    def scores(self, joint: JointDistribution, /) -> Floats:
        """Return the scores to rank labels by, (n, L): Σ_s w(s) P(y_j = 1, |y| = s)."""
        return _weighted_by_cardinality(joint, self._weights(joint.n_labels)[1:])

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels that score above the mean of the row."""
        scores = self.scores(joint)
        return np.asarray(scores > scores.mean(axis=1, keepdims=True), dtype=np.int8)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected loss of ranking ``labels`` before all others, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        return self.ranking_risk(joint, chosen)

    def ranking_risk(self, joint: JointDistribution, scores: npt.ArrayLike) -> Floats:
        """Return the expected loss of ranking labels by the (n, L) ``scores``, highest first, (n,).

        With equal ranks, half of the pairs would be lost. A label ranked before b others and after
        a others lowers the loss by (b − a)/2 times its own score.
        """
        values = np.asarray(scores)
        if values.shape != (joint.n_rows, joint.n_labels) or np.isnan(values).any():
            raise ValueError(
                f"scores must be numbers of shape ({joint.n_rows}, {joint.n_labels}), one for each "
                f"label of each row; its shape is {values.shape}"
            )
        n_labels, true = joint.n_labels, np.arange(joint.n_labels + 1)
        pairs = joint.cardinality() @ (self._weights(n_labels) * true * (n_labels - true))
        lead = rankdata(values, axis=1) - (n_labels + 1) / 2
        return np.asarray(pairs / 2 - (self.scores(joint) * lead).sum(axis=1))

    def _weights(self, n_labels: int) -> Floats:
        """Return the weight of a pair if s = 0 … L labels are true."""
        true = np.arange(n_labels + 1.0)
        pairs = true * (n_labels - true)
        if not self.normalized:
            return np.ones(n_labels + 1)
        return np.divide(1.0, pairs, out=np.zeros(n_labels + 1), where=pairs > 0)


@dataclass(frozen=True)
class _TopK(ABC):
    """Base of the losses that predict exactly ``k`` labels (all labels, if there are fewer)."""

    k: int

    def __post_init__(self) -> None:
        check_whole_number(self.k, "k")

    @abstractmethod
    def _weights(self, n_labels: int) -> Floats:
        """Return w(s) for s = 1 … L, the value of a label found among the first."""

    def _discounts(self, n_labels: int) -> Floats:
        """Return the factor of each of the first k ranks."""
        return np.ones(min(self.k, n_labels))

    def scores(self, joint: JointDistribution, /) -> Floats:
        """Return the scores to rank labels by, (n, L): the expected gain of each label."""
        return _weighted_by_cardinality(joint, self._weights(joint.n_labels))

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the k labels with the largest gains, the first ones among equals."""
        best = np.argsort(-self._ranked(joint), axis=1, kind="stable")[:, : self.k]
        labels = np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)
        np.put_along_axis(labels, best, 1, axis=1)
        return labels

    def _ranked(self, joint: JointDistribution) -> Floats:
        """Return numbers (n, L) with the order of the scores."""
        return self.scores(joint)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected measure of ``labels``, ranked as well as possible, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        gains = -np.sort(-self.scores(joint) * chosen, axis=1)
        discounts = self._discounts(joint.n_labels)
        return 1.0 - self._certain(joint) - gains[:, : len(discounts)] @ discounts

    def _certain(self, joint: JointDistribution) -> Floats:
        """Return the gain from the event of no true labels, which any prediction has, (n,)."""
        return joint.cardinality()[:, 0]


@dataclass(frozen=True)
class PrecisionAtK(_TopK):
    """One minus the share of the k predicted labels that are true; minimised exactly.

    Parameters
    ----------
    k : int
        Number of labels to predict; all of them, if there are fewer.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> PrecisionAtK(2)(IndependentJoint([[-1.0, 0.0, 1.0]]))
    array([[0, 1, 1]], dtype=int8)
    """

    def _weights(self, n_labels: int) -> Floats:
        return np.full(n_labels, 1.0 / min(self.k, n_labels))

    def _ranked(self, joint: JointDistribution) -> Floats:
        return joint.marginal_log_odds()  # marginals near 1 may be rounded to the same number

    def _certain(self, joint: JointDistribution) -> Floats:
        return np.zeros(joint.n_rows)


@dataclass(frozen=True)
class RecallAtK(_TopK):
    """One minus the share of the true labels that are among k predicted ones; minimised exactly.

    A row without labels has recall 1. The parameter is as in `PrecisionAtK`.

    Examples
    --------
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.1, 0.4, 0.1, 0.4]]))  # 00, 10, 01, 11
    >>> RecallAtK(1)(joint), RecallAtK(1).risk(joint, [[1, 0]])
    (array([[1, 0]], dtype=int8), array([0.3]))
    """

    def _weights(self, n_labels: int) -> Floats:
        return 1.0 / np.arange(1, n_labels + 1)


@dataclass(frozen=True)
class NDCGAtK(_TopK):
    """One minus the normalised discounted cumulative gain of k ranked labels; minimised exactly.

    A true label at rank r counts 1/log₂(r + 1), divided by the sum for the best ranking. A row
    without labels has an nDCG of 1. The parameter is as in `PrecisionAtK`, and `scores` are the
    values to rank the labels by.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> NDCGAtK(2)(IndependentJoint([[-1.0, 0.0, 1.0]]))
    array([[0, 1, 1]], dtype=int8)
    """

    def _discounts(self, n_labels: int) -> Floats:
        return np.asarray(1.0 / np.log2(np.arange(2, min(self.k, n_labels) + 2)))

    def _weights(self, n_labels: int) -> Floats:
        best = np.cumsum(self._discounts(n_labels))
        return 1.0 / best[np.minimum(np.arange(n_labels), len(best) - 1)]
