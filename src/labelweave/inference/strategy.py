"""What a strategy for finding the mode is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from labelweave.joint import JointDistribution, Mode


class Inference(ABC):
    """A strategy: called, it looks for the most probable label vector of every row.

    Strategies are small frozen dataclasses: their fields are their settings, so they compare,
    print and clone like values. A subclass implements ``_search(joint)`` and asks by the protocols
    of `labelweave.joint.capabilities` what a distribution can do.

    Examples
    --------
    >>> from labelweave.inference import Greedy
    >>> isinstance(Greedy(), Inference)
    True
    """

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best vectors found, with an upper bound that always holds."""
        # A power ranks the vectors like its base, and its modes are found there.
        return joint.restated(self._search(joint.ranks_like))

    @property
    def seeks_proof(self) -> bool:
        """Whether a decision warns of modes that this strategy leaves unproven."""
        return False

    @abstractmethod
    def _search(self, joint: JointDistribution) -> Mode:
        """Return the best vectors found, with an upper bound that always holds."""
