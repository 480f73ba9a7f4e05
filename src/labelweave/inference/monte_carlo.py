"""The most probable of some draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelweave._common.checks import check_whole_number
from labelweave.inference.greedy import Greedy
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.enumeration import row_blocks


@dataclass(frozen=True)
class MonteCarlo:
    """The most probable among draws from the joint and the greedy vector.

    Draws of a chain are ancestral, one label after the other. The mode is among them as soon as its
    probability is not small against one over the number of draws.

    Parameters
    ----------
    samples : int, default=100
        Draws for each row.
    seed : int, default=0
        Random numbers belong to (seed, row, draw, label): the same rows get the same draws in any
        batch.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> MonteCarlo(samples=20)(joint).labels
    array([[0, 0]], dtype=int8)
    """

    samples: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole_number(self.samples, "samples")
        check_whole_number(self.seed, "seed", 0)

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best vectors drawn; the bound is that of greedy inference."""
        greedy = Greedy()(joint)
        labels, log_prob = greedy.labels.copy(), greedy.log_prob.copy()
        for block in row_blocks(joint.n_rows, 2 * self.samples * joint.n_labels):
            part = joint[block]
            draws = part.weighted_sample(self.samples, self.seed)[0]
            scores = part.log_prob_of_draws(draws)
            best = scores.argmax(axis=1)[:, None]
            drawn = np.take_along_axis(scores, best, axis=1)[:, 0]
            better = drawn > log_prob[block]
            vectors = np.take_along_axis(draws, best[:, :, None], axis=1)[:, 0]
            labels[block][better] = vectors[better]
            log_prob[block][better] = drawn[better]
        return Mode(labels, log_prob, np.maximum(greedy.upper_bound, log_prob))
