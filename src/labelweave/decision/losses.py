"""Losses, and the label vectors that minimise them in expectation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_labels
from labelweave.decision.proof import warn_unless_proven
from labelweave.inference import Auto
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution


class Decision(Protocol):
    """A callable that turns joint distributions into one label vector a row, (n, L) int8.

    Examples
    --------
    >>> from labelweave.decision import Decision, HammingLoss
    >>> decide: Decision = HammingLoss()
    """

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels to output."""
        ...


class Loss(Decision, Protocol):
    """A loss: called, it decides; `risk` is what a decision costs on average.

    Examples
    --------
    >>> from labelweave.decision import Loss, SubsetLoss
    >>> loss: Loss = SubsetLoss()
    """

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the expected loss of ``labels`` in each row, (n,)."""
        ...


@dataclass(frozen=True)
class SubsetLoss:
    """One unless the whole label vector is right; minimised by the mode.

    Parameters
    ----------
    inference : Inference, optional
        How to look for the mode. By default as the estimator that predicted the joint distribution
        is told to, and otherwise by `Auto()`, as ``joint.mode()`` does.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.4, 0.3, 0.001, 0.299]]))
    >>> SubsetLoss()(joint)
    array([[0, 0]], dtype=int8)
    >>> SubsetLoss().risk(joint, [[0, 0]])
    array([0.6])
    """

    inference: Inference | None = None

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the most probable label vectors; warns if a proof was sought and not found."""
        strategy = self.inference or joint.inference or Auto()
        mode = joint.mode(strategy)
        if isinstance(strategy, Inference) and strategy.seeks_proof:
            warn_unless_proven(mode, strategy)
        return mode.labels

    def risk(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return the probability that ``labels`` is not the whole truth, (n,)."""
        return np.asarray(-np.expm1(joint.log_prob(labels)))


@dataclass(frozen=True)
class HammingLoss:
    """The share of labels that are wrong, or what wrong labels cost; minimised label by label.

    Parameters
    ----------
    false_positive, false_negative : float or (L,) sequence of float, default=1.0
        What it costs to predict a label that is not there, and to miss one that is; one number, or
        one for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ListedJoint
    >>> joint = ListedJoint.of_table(np.log([[0.4, 0.3, 0.001, 0.299]]))
    >>> HammingLoss()(joint)
    array([[1, 0]], dtype=int8)
    >>> HammingLoss().risk(joint, [[1, 0]]).round(4)
    array([0.3505])

    The second label must not be missed:

    >>> HammingLoss(false_negative=[1, 5])(joint)
    array([[1, 1]], dtype=int8)
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
        """Return the labels that cost less if they are predicted."""
        marginals = joint.marginals()
        wrong, missed = self._costs(joint.n_labels)
        return (marginals * missed > (1 - marginals) * wrong).astype(np.int8)

    def costs(self, joint: JointDistribution, labels: npt.ArrayLike) -> Floats:
        """Return what each of ``labels`` costs on average, (n, L)."""
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
