"""The majority vote of the components of a mixture."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave.inference import Greedy, Inference
from labelweave.joint import JointDistribution, MixtureJoint


@dataclass(frozen=True)
class MajorityVote:
    """The labels that more than a given share of a mixture's components predict.

    This is how an ensemble of classifier chains (ECC) decides: every chain predicts a label vector
    on its own, and a label is predicted where enough of them agree.

    Parameters
    ----------
    inference : Inference, default=Greedy()
        How each component predicts.
    threshold : float, default=0.5
        Share of the votes above which a label is predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint, MixtureJoint
    >>> members = [IndependentJoint(np.array([z])) for z in ([1.0, 2.0], [3.0, -1.0], [-1.0, -1.0])]
    >>> MajorityVote()(MixtureJoint([1 / 3, 1 / 3, 1 / 3], members))
    array([[1, 0]], dtype=int8)
    """

    inference: Inference = field(default_factory=Greedy)
    threshold: float = 0.5

    def __call__(self, joint: JointDistribution, /) -> Labels:
        """Return the labels with enough votes; a joint that is not a mixture has the only vote."""
        return (self.shares(joint) > self.threshold).astype(np.int8)

    def shares(self, joint: JointDistribution, /) -> Floats:
        """Return the share of votes of each label, (n, L)."""
        if not isinstance(joint, MixtureJoint):
            return np.asarray(joint.mode(self.inference).labels, dtype=np.float64)
        votes = np.zeros((joint.n_rows, joint.n_labels))
        for k, component in enumerate(joint.components):
            votes += joint.weights[:, [k]] * component.mode(self.inference).labels
        return votes
