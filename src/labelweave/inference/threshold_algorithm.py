"""Exact inference for mixtures: merge the components' lists until a bound is met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from labelweave._common.checks import check_whole_number
from labelweave.joint import JointDistribution, SearchedMode
from labelweave.joint.capabilities import MergesLists


@dataclass(frozen=True)
class ThresholdAlgorithm:
    """The mode of a mixture by walking its components' lists, proven unless the budget ends first.

    Every component lists its vectors by decreasing probability, and each vector met is scored under
    the whole mixture. What no list has shown yet has at most Σ_k λ_k P_k(current vector of list k):
    as soon as the best vector seen reaches that, it is the mode. Where the budget ends first,
    ``upper_bound`` is what the bound came down to.

    Trees and independent labels, also in mixtures of mixtures, are walked vector by vector in
    compiled code, always from the list that keeps the bound high; ``nodes`` counts the vectors.
    Components of other forms give longer and longer lists; chains with more than 16 unknown labels
    list what a beam search finds, with its bound.

    Distributions that are not mixtures get the mode that `Auto` finds.

    Parameters
    ----------
    budget : int, default=1000
        Most vectors to take from each component's list, for each row. It bounds time and memory.

    Examples
    --------
    The modes of two components need not be where the mixture has its own:

    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint, MixtureJoint
    >>> joint = MixtureJoint(
    ...     [0.5, 0.5], [IndependentJoint([[0.4, 4.0, 4.0]]), IndependentJoint([[-4.0, 4.0, -0.4]])]
    ... )
    >>> mode = ThresholdAlgorithm()(joint)
    >>> mode.labels, mode.optimal
    (array([[0, 1, 1]], dtype=int8), array([ True]))
    >>> [component.mode().labels.tolist() for component in joint.components]
    [[[1, 1, 1]], [[0, 1, 0]]]
    """

    budget: int = 1000
    seeks_proof: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole_number(self.budget, "budget")

    def __call__(self, joint: JointDistribution, /) -> SearchedMode:
        """Return the best vectors found, their bounds, and the vectors it took."""
        if isinstance(joint, MergesLists):
            return joint.merge_lists(int(self.budget))
        return SearchedMode.of(joint.mode())
