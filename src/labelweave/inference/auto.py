"""Let the library choose how to look for the mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelweave.inference.exhaustive import Exhaustive
from labelweave.inference.greedy import Greedy
from labelweave.inference.result import Mode
from labelweave.joint import GeneralChain, JointDistribution


@dataclass(frozen=True)
class Auto:
    """Exact where that is cheap, greedy beyond.

    Parameters
    ----------
    max_labels : int, default=20
        Rows with up to so many unknown labels are searched exhaustively and certified optimal.
        Beyond, the search is greedy and the mode's ``gap`` says how far from optimal a row may be.
    max_general : int, default=10
        The same for chains of conditionals that only a Python function can evaluate: there nothing
        prunes the search, and every label doubles the calls.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> Auto()(IndependentJoint(np.array([[1.0, -2.0]]))).labels
    array([[1, 0]], dtype=int8)
    """

    max_labels: int = 20
    max_general: int = 10

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the mode, with its bound."""
        limit = self.max_general if isinstance(joint, GeneralChain) else self.max_labels
        few = (joint.known < 0).sum(axis=1) <= limit
        if few.all():
            return Exhaustive(limit)(joint)
        if not few.any():
            return Greedy()(joint)
        # Each row on its own: what a row gets must not depend on the rows beside it.
        parts = [(few, Exhaustive(limit)(joint[few])), (~few, Greedy()(joint[~few]))]
        mode = Mode(joint.known.copy(), np.empty(joint.n_rows), np.empty(joint.n_rows))
        for rows, part in parts:
            mode.labels[rows] = part.labels
            mode.log_prob[rows] = part.log_prob
            mode.upper_bound[rows] = part.upper_bound
        return mode
