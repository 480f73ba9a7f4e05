"""Greedy inference: what a plain classifier chain does."""

from __future__ import annotations

from dataclasses import dataclass

from labelweave.joint import JointDistribution, Mode


@dataclass(frozen=True)
class Greedy:
    """Label by label, the likelier value given the values chosen before.

    Chains go along their order; trees, lists of vectors and independent labels give their mode,
    which costs no more; a mixture takes the best of its components' greedy vectors. The result is
    not always the mode, but the bound says how far from it the result can be.

    Examples
    --------
    The first label alone leans to 1, but all its mass is spread over the second:

    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> mode = Greedy()(joint)
    >>> mode.labels, mode.optimal
    (array([[1, 0]], dtype=int8), array([False]))
    >>> joint.mode().labels
    array([[0, 0]], dtype=int8)
    """

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the greedy vectors, their log-probabilities and an upper bound."""
        return joint.greedy_mode()
