"""The vote of the components of a mixture."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number
from labelweave._common.presets import Preset, Presets, published
from labelweave.decision.cardinality_threshold import CardinalityThreshold
from labelweave.decision.probabilities import Scores
from labelweave.decision.threshold_rule import (
    Draw,
    Evidence,
    FixedThreshold,
    HeldOut,
    ThresholdRule,
    ThresholdSurvey,
)
from labelweave.inference import Greedy
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, MixtureJoint


@dataclass(frozen=True)
class MajorityVote(ThresholdRule):
    """The labels for which more than a given share of a mixture's components vote.

    This is how an ensemble of classifier chains (ECC) decides: every chain predicts a label vector
    on its own, and a label is predicted where enough of them agree. As published, with
    ``MajorityVote.preset("published")``, enough is as many as give test rows as many labels as
    training rows had, on average (`CardinalityThreshold`).

    Parameters
    ----------
    inference : Inference, default=Greedy()
        How each component predicts.
    threshold : float or ThresholdRule, default=0.5
        Share of the votes above which a label is predicted, or the rule that chooses it for a whole
        test set.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint, MixtureJoint
    >>> members = [IndependentJoint(np.array([z])) for z in ([1.0, 2.0], [3.0, -1.0], [-1.0, -1.0])]
    >>> joint = MixtureJoint([1 / 3, 1 / 3, 1 / 3], members)
    >>> MajorityVote()(joint)
    array([[1, 0]], dtype=int8)
    >>> MajorityVote.preset("published").informed(rates=[0.9, 0.8])(joint)
    array([[1, 1]], dtype=int8)
    """

    needs_probabilities: ClassVar[bool] = True
    needs_joint: ClassVar[bool] = True
    preset = Preset()
    presets: ClassVar[Presets] = published(threshold=CardinalityThreshold())

    inference: Inference = field(default_factory=Greedy)
    threshold: float | ThresholdRule = 0.5

    def __post_init__(self) -> None:
        """Check the threshold."""
        if not isinstance(self.threshold, ThresholdRule):
            check_number(self.threshold, "threshold", otherwise="a ThresholdRule")

    @property
    def needs_rows(self) -> bool:
        """Whether the threshold depends on the test rows."""
        return self._rule.needs_rows

    @property
    def needs_held_out(self) -> bool:
        """Whether the threshold is tuned on held-out rows."""
        return self._rule.needs_held_out

    def informed(self, rates: npt.ArrayLike, held_out: HeldOut | None = None) -> MajorityVote:
        """Return the vote with what its threshold needs to know from training."""
        if not isinstance(self.threshold, ThresholdRule):
            return self
        return replace(self, threshold=self.threshold.informed(rates, held_out))

    def evidence(self, joint: JointDistribution, /) -> Evidence:
        """Return the share of votes of each label."""
        return Evidence(self.shares(joint))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the share of votes that each label needs, (L,), given those of all rows."""
        return self._rule.thresholds(scores, draw)

    def survey(self, n_labels: int, n_rows: int | None = None) -> ThresholdSurvey | None:
        """Return how the threshold is found where rows come in parts."""
        return self._rule.survey(n_labels, n_rows)

    def shares(self, joint: JointDistribution, /) -> Floats:
        """Return the share of votes of each label, (n, L).

        A joint that is not a mixture has the only vote.
        """
        if not isinstance(joint, MixtureJoint):
            return np.asarray(joint.mode(self.inference).labels, dtype=np.float64)
        votes = np.zeros((joint.n_rows, joint.n_labels))
        for k, component in enumerate(joint.components):
            votes += joint.weights[:, [k]] * component.mode(self.inference).labels
        return votes

    @property
    def _rule(self) -> ThresholdRule:
        given = self.threshold
        return given if isinstance(given, ThresholdRule) else FixedThreshold(given)
