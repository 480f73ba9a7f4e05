"""What a strategy for finding the mode looks like."""

from __future__ import annotations

from typing import Protocol

from labelweave.joint import JointDistribution, Mode


class Inference(Protocol):
    """A callable that looks for the most probable label vector of every row.

    Strategies are small frozen dataclasses: their fields are their settings, so they compare,
    print and clone like values.

    Examples
    --------
    >>> from labelweave.inference import Greedy
    >>> from labelweave.inference.strategy import Inference
    >>> strategy: Inference = Greedy()
    """

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best vectors found, with an upper bound that always holds."""
        ...
