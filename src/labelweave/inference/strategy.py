"""The base of the strategies that find the mode."""

from __future__ import annotations

from abc import ABC, abstractmethod

from labelweave.joint import JointDistribution, Mode


class Inference(ABC):
    """A strategy, which is called to find the most probable label vector of every row.

    Strategies are small frozen dataclasses: their fields are their settings, so they compare,
    print and clone like values. A subclass implements ``_search(joint)`` and uses the protocols of
    `labelweave.joint.capabilities` to see the abilities of a distribution.

    Examples
    --------
    >>> from labelweave.inference import Greedy
    >>> isinstance(Greedy(), Inference)
    True
    """

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best vectors found, with an upper bound that always holds."""
        # A power ranks the vectors like its base, which searches for the mode.
        return joint.restated(self._search(joint.ranks_like))

    @property
    def seeks_proof(self) -> bool:
        """Whether a decision warns of modes that this strategy leaves unproven."""
        return False

    @abstractmethod
    def _search(self, joint: JointDistribution) -> Mode:
        """Return the best vectors found, with an upper bound that always holds."""
