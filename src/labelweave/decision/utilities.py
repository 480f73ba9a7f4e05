"""Losses by the F-measure, the Jaccard index or any utility: exact or from weighted vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.checks import check_labels, check_number, check_whole_number
from labelweave._core import native
from labelweave.joint import JointDistribution
from labelweave.joint.capabilities import independent_log_odds
from labelweave.joint.enumeration import label_vectors, row_blocks

# Up to this many labels all vectors are scenarios and candidates, so decisions are exact.
_MAX_EXACT = 8
# With more labels, this many of the most probable scenarios are candidates.
_MOST_CANDIDATES = 64


@dataclass(frozen=True)
class FLoss:
    """One minus the F-measure of a row, (1+β²)·|y ∧ ŷ| / (β²·|y| + |ŷ|); minimised exactly.

    If a row has no labels and none are predicted, its F-measure is 1. The decision is exact
    wherever ``joint.cardinality_by_label()`` is (Dembczyński et al., 2011; math.md, section 6).

    Parameters
    ----------
    beta : float, default=1.0
        The weight of recall relative to precision.

    Examples
    --------
    Labels of probability 0.45 and 0.3 are both worth predicting:

    >>> from labelweave.joint import IndependentJoint
    >>> joint = IndependentJoint(np.log([[0.45 / 0.55, 0.3 / 0.7]]))
    >>> FLoss()(joint), FLoss().risk(joint, [[1, 1]]).round(3)
    (array([[1, 1]], dtype=int8), array([0.545]))
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        check_number(self.beta, "beta", above=0, maximum=1e100)

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the label vectors of largest expected F-measure."""
        scores = independent_log_odds(joint)
        if scores is not None:
            labels = np.zeros((joint.n_rows, joint.n_labels), dtype=np.int8)
            native.best_independent_f_measure(scores, float(self.beta), labels, joint.n_threads)
            return labels
        return self._by_blocks(joint, None)[0]

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected F-measure of ``labels`` in each row, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        scores = independent_log_odds(joint)
        if scores is not None:
            expected = np.empty(joint.n_rows)
            native.expected_independent_f_measure(
                scores, np.ascontiguousarray(chosen), float(self.beta), expected, joint.n_threads
            )
            return 1.0 - expected
        return self._by_blocks(joint, chosen)[1]

    def labels_and_risk(self, joint: JointDistribution) -> tuple[Labels, Floats]:
        """Return the best label vectors and their risk, and compute their common part once."""
        if independent_log_odds(joint) is not None:
            labels = self(joint)
            return labels, self.risk(joint, labels)
        return self._by_blocks(joint, None)

    def _by_blocks(self, joint: JointDistribution, labels: Labels | None) -> tuple[Labels, Floats]:
        """Return ``labels`` (the best ones if None) and their risk, block by block."""
        chosen = np.zeros((joint.n_rows, joint.n_labels), np.int8) if labels is None else labels
        risk = np.empty(joint.n_rows)
        for rows in row_blocks(joint.n_rows, joint.n_labels**2):
            by_label = np.ascontiguousarray(joint[rows].cardinality_by_label())
            sizes = _sizes(by_label)
            if labels is None:
                native.best_f_measure(
                    by_label, sizes, float(self.beta), chosen[rows], joint.n_threads
                )
            risk[rows] = self._risk(by_label, sizes[:, 0], chosen[rows])
        return chosen, risk

    def _risk(self, by_label: Floats, none: Floats, chosen: Labels) -> Floats:
        """Return the risk given P(y_j = 1, |y| = s) and ``none``, P(|y| = 0)."""
        size, true = chosen.sum(axis=1, dtype=np.int64), np.arange(1, chosen.shape[1] + 1)
        found = np.einsum("nj,njs->ns", chosen, by_label)[:, 1:]
        # The value of each predicted true label if s labels are true.
        shares = np.asarray((1 + self.beta**2) / (self.beta**2 * true + size[:, None]))
        expected = (found * shares).sum(axis=1)
        # The empty prediction is correct if no label is true.
        return np.asarray(1.0 - np.where(size > 0, expected, none))


def _sizes(by_label: Floats) -> Floats:
    """Return P(|y| = s), (n, L + 1), since s of s labels are among the true ones."""
    n_rows, n_labels, _ = by_label.shape
    sizes = np.empty((n_rows, n_labels + 1))
    sizes[:, 1:] = by_label[:, :, 1:].sum(axis=1) / np.arange(1, n_labels + 1)
    sizes[:, 0] = np.maximum(0.0, 1.0 - sizes[:, 1:].sum(axis=1))
    return sizes


class _ByScenarios(ABC):
    """Base of the losses whose expectation is a sum over scenarios."""

    n_listed: int
    n_draws: int

    @abstractmethod
    def _utilities(self, candidates: Labels, scenarios: Labels) -> Floats:
        """Return the utilities of all pairs, (n, c, m), of (n, c, L) and (n, m, L) vectors."""

    def __post_init__(self) -> None:
        check_whole_number(self.n_listed, "n_listed")
        check_whole_number(self.n_draws, "n_draws")

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the label vectors of largest expected utility."""
        labels = np.empty((joint.n_rows, joint.n_labels), dtype=np.int8)
        for rows in self._blocks(joint, joint.n_labels * 16):
            part = joint[rows]
            scenarios = Scenarios.of(part, self.n_listed, self.n_draws)
            candidates = _candidates(part, scenarios)
            best = np.argmax(self._expected(candidates, scenarios), axis=1)
            labels[rows] = candidates[np.arange(part.n_rows), best]
        return labels

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected utility of ``labels`` in each row, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        expected = np.empty(joint.n_rows)
        for rows in self._blocks(joint, joint.n_labels):
            scenarios = Scenarios.of(joint[rows], self.n_listed, self.n_draws)
            expected[rows] = self._expected(chosen[rows, None], scenarios)[:, 0]
        return 1.0 - expected

    def _blocks(self, joint: JointDistribution, width: int) -> Any:
        return row_blocks(joint.n_rows, (self.n_listed + self.n_draws) * width)

    def _expected(self, candidates: Labels, scenarios: Scenarios) -> Floats:
        """Return the expected utility of each of the (n, c, L) candidates, (n, c)."""
        utilities = self._utilities(candidates, scenarios.labels)
        return np.asarray(np.einsum("ncm,nm->nc", utilities, scenarios.weights))


@dataclass(frozen=True)
class MinimumBayesRisk(_ByScenarios):
    """The label vector of largest expected utility, for any utility of truth and prediction.

    The decision is exact for at most 8 labels. Beyond that, the expectation is over the most
    probable vectors and draws from the rest. The candidates are then the most probable vectors and,
    for every k, the vector of the k highest marginals.

    Parameters
    ----------
    utility : callable
        ``utility(truth, predicted)`` takes two int8 arrays of 0/1 whose last axis is the labels and
        whose other axes broadcast, and returns one number per pair of vectors; larger is better.
        `Decided.score` is its expectation.
    n_listed : int, default=64
        Number of most probable vectors.
    n_draws : int, default=256
        Number of draws that represent all other vectors.

    Examples
    --------
    Finding "beach" is worth 3, every wrong label costs 1; both labels have probability 1/4:

    >>> from labelweave.joint import IndependentJoint
    >>> def utility(truth, predicted):
    ...     return 3 * (truth & predicted)[..., 0] - (truth != predicted).sum(axis=-1)
    >>> MinimumBayesRisk(utility)(IndependentJoint(np.log([[1 / 3, 1 / 3]])))
    array([[1, 0]], dtype=int8)
    """

    utility: Callable[[Labels, Labels], Any]
    n_listed: int = 64
    n_draws: int = 256

    def __post_init__(self) -> None:
        if not callable(self.utility):
            raise ValueError(f"utility must be a function of two arrays; got {self.utility!r}")
        super().__post_init__()

    def _utilities(self, candidates: Labels, scenarios: Labels) -> Floats:
        predicted, truth = candidates[:, :, None, :], scenarios[:, None, :, :]
        values = np.asarray(self.utility(truth, predicted), dtype=np.float64)
        expected = np.broadcast_shapes(truth.shape, predicted.shape)[:-1]
        if values.shape != expected:
            raise ValueError(
                "utility must return one number per pair of label vectors, so reduce the last axis "
                f"only: from arrays of shapes {truth.shape} and {predicted.shape} it returned one "
                f"of shape {values.shape}"
            )
        if np.isnan(values).any():
            raise ValueError("utility returned NaN: let it return a number for 0/0, too")
        return values


@dataclass(frozen=True)
class JaccardLoss(_ByScenarios):
    """One minus the Jaccard index |y ∧ ŷ| / |y ∨ ŷ| of a row, 1 if both are empty.

    Exact for at most 8 labels; `n_listed` and `n_draws` are as in `MinimumBayesRisk`.

    Examples
    --------
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.001, 0.3, 0.3, 0.399]]))  # 00, 10, 01, 11
    >>> JaccardLoss()(joint), JaccardLoss().risk(joint, [[1, 1]])
    (array([[1, 1]], dtype=int8), array([0.301]))
    """

    n_listed: int = 64
    n_draws: int = 256

    def _utilities(self, candidates: Labels, scenarios: Labels) -> Floats:
        both, predicted, true = _overlaps(candidates, scenarios)
        union = predicted + true - both
        return np.divide(both, union, out=np.ones_like(both), where=union > 0)


@dataclass(frozen=True)
class Scenarios:
    """Label vectors, (n, m, L) int8, and weights, (n, m), that represent a joint distribution."""

    labels: Labels
    weights: Floats

    @classmethod
    def of(cls, joint: JointDistribution, n_listed: int, n_draws: int) -> Scenarios:
        """Return all vectors while there are few labels, else the most probable ones and draws."""
        if joint.n_labels <= _MAX_EXACT:
            return cls._listed(joint, 2**joint.n_labels)._normalised()
        listed = cls._listed(joint, n_listed)
        labels, log_weight = joint.weighted_sample(n_draws, 0)
        highest = log_weight.max(axis=1, keepdims=True, initial=-np.inf)
        weight = np.exp(log_weight - highest) * ~_occurs(labels, listed)
        rest = np.maximum(1.0 - listed.weights.sum(axis=1, keepdims=True), 0.0)
        total = weight.sum(axis=1, keepdims=True)
        weight *= np.divide(rest, total, out=np.zeros_like(rest), where=total > 0)
        return cls(
            np.concatenate([listed.labels, labels], axis=1),
            np.concatenate([listed.weights, weight], axis=1),
        )._normalised()

    @classmethod
    def _listed(cls, joint: JointDistribution, k: int) -> Scenarios:
        ranked = joint.top(k)
        # Rows with fewer vectors are padded with labels of -1 and probability 0.
        return cls(np.maximum(ranked.labels, 0), np.exp(ranked.log_prob))

    def _normalised(self) -> Scenarios:
        return Scenarios(self.labels, self.weights / self.weights.sum(axis=1, keepdims=True))


def _overlaps(candidates: Labels, scenarios: Labels) -> tuple[Floats, Floats, Floats]:
    """Return |ŷ ∧ y|, |ŷ| and |y| of all pairs, shapes (n, c, m), (n, c, 1) and (n, 1, m)."""
    predicted, true = candidates.astype(np.float64), scenarios.astype(np.float64)
    both = predicted @ true.transpose(0, 2, 1)
    return both, predicted.sum(axis=2)[:, :, None], true.sum(axis=2)[:, None, :]


def _occurs(draws: Labels, listed: Scenarios) -> Mask:
    """Return whether each of the (n, m, L) draws is among the listed vectors."""
    both, drawn, size = _overlaps(draws, listed.labels)
    same = (both == drawn) & (both == size) & (listed.weights > 0)[:, None, :]
    return np.asarray(same.any(axis=2))


def _candidates(joint: JointDistribution, scenarios: Scenarios) -> Labels:
    """Return the vectors to choose from, (n, c, L).

    With many labels they are the most probable scenarios and the vectors of the highest marginals.
    """
    n, n_labels = joint.n_rows, joint.n_labels
    if n_labels <= _MAX_EXACT:
        return np.broadcast_to(label_vectors(n_labels), (n, 2**n_labels, n_labels))
    rank = np.argsort(np.argsort(-joint.marginals(), axis=1, kind="stable"), axis=1)
    largest = int(scenarios.labels.sum(axis=2, dtype=np.int64).max(initial=0))
    nested = rank[:, None, :] < np.arange(largest + 1)[:, None]
    heaviest = np.argsort(-scenarios.weights, axis=1, kind="stable")[:, :_MOST_CANDIDATES]
    probable = np.take_along_axis(scenarios.labels, heaviest[:, :, None], axis=1)
    return np.concatenate([nested.astype(np.int8), probable], axis=1)
