"""Decisions for utilities that have no formula of their own: minimum Bayes risk, Jaccard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_labels, check_whole_number
from labelweave.decision.scenarios import best_candidates, expected_utility, overlaps
from labelweave.joint import JointDistribution


@dataclass(frozen=True)
class MinimumBayesRisk:
    """The label vector of largest expected utility, for any utility of truth and prediction.

    Exact while there are at most 8 labels. Beyond, the expectation is over the most probable
    vectors and draws from the rest, and the choice is among the most probable vectors and those of
    the k highest marginals, for every k.

    Parameters
    ----------
    utility : callable
        ``utility(truth, predicted)`` of two int8 arrays of 0/1 whose last axis is the labels and
        whose other axes broadcast; it returns one number per pair of vectors. The larger, the
        better; `Decided.score` is its expectation.
    n_listed : int, default=64
        Number of most probable vectors.
    n_draws : int, default=256
        Number of draws that stand for all others.

    Examples
    --------
    Finding "beach" is worth 3, every wrong label costs 1:

    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> def utility(truth, predicted):
    ...     return 3 * (truth & predicted)[..., 0] - (truth != predicted).sum(axis=-1)
    >>> joint = IndependentJoint(np.log([[1 / 3, 1 / 3]]))  # probabilities of a quarter
    >>> MinimumBayesRisk(utility)(joint)
    array([[1, 0]], dtype=int8)
    """

    utility: Callable[[Labels, Labels], Any]
    n_listed: int = 64
    n_draws: int = 256

    def __post_init__(self) -> None:
        if not callable(self.utility):
            raise ValueError(f"utility must be a function of two arrays; got {self.utility!r}")
        check_whole_number(self.n_listed, "n_listed")
        check_whole_number(self.n_draws, "n_draws")

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the label vectors of largest expected utility."""
        return best_candidates(joint, self._utilities, self.n_listed, self.n_draws)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected utility of ``labels`` in each row, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        expected = expected_utility(joint, chosen, self._utilities, self.n_listed, self.n_draws)
        return 1.0 - expected

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
            raise ValueError("utility returned NaN: let it return a number for every pair, 0/0 too")
        return values


@dataclass(frozen=True)
class JaccardLoss:
    """One minus the Jaccard index |y ∧ ŷ| / |y ∨ ŷ| of a row, 1 if both are empty.

    Exact while there are at most 8 labels, as `MinimumBayesRisk` is.

    Parameters
    ----------
    n_listed, n_draws : int
        As in `MinimumBayesRisk`.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.001, 0.3, 0.3, 0.399]]))  # 00, 10, 01, 11
    >>> JaccardLoss()(joint)
    array([[1, 1]], dtype=int8)
    >>> JaccardLoss().risk(joint, [[1, 1]])
    array([0.301])
    """

    n_listed: int = 64
    n_draws: int = 256

    def __post_init__(self) -> None:
        check_whole_number(self.n_listed, "n_listed")
        check_whole_number(self.n_draws, "n_draws")

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the label vectors of largest expected Jaccard index."""
        return best_candidates(joint, _jaccard, self.n_listed, self.n_draws)

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return one minus the expected Jaccard index of ``labels`` in each row, (n,)."""
        chosen = check_labels(labels, joint.n_rows, joint.n_labels, "labels")
        return 1.0 - expected_utility(joint, chosen, _jaccard, self.n_listed, self.n_draws)


def _jaccard(candidates: Labels, scenarios: Labels) -> Floats:
    both, predicted, true = overlaps(candidates, scenarios)
    union = predicted + true - both
    return np.divide(both, union, out=np.ones_like(both), where=union > 0)
