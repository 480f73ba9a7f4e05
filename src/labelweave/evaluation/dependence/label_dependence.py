"""How strongly every pair of labels depends on each other, given the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_whole_number
from labelweave.evaluation.dependence.label_forest import strongest_forest
from labelweave.evaluation.dependence.pairwise import mean_dependence
from labelweave.joint import JointDistribution
from labelweave.models import Structure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LabelDependence"]

# Independent labels share this much by rounding: no model says anything with so little.
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class LabelDependence:
    """What labels tell about each other once the features are known, for all pairs of labels.

    Attributes
    ----------
    mutual_information : (L, L) array
        I(y_i; y_j | x) in nats, symmetric; the entropies of the labels are on the diagonal.
    log_odds_ratio : (L, L) array
        By how much one label moves the log-odds of another, symmetric; negative if they repel each
        other, infinite if they exclude or imply each other, and on the diagonal.
    label_names : tuple of str
    rows : str
        Which rows it is about. Averages are those of `conditional_mutual_information` and
        `common_log_odds_ratios`.

    Examples
    --------
    >>> from labelweave.joint import ChainJoint
    >>> coupling = [[0, 0, 0], [2, 0, 0], [-1, 0, 0]]
    >>> joint = ChainJoint([[0.3, -1.0, 0.5]], coupling, label_names=["sea", "sand", "snow"])
    >>> LabelDependence.from_joint(joint).to_frame().round(3)
      label other_label  mutual_information  log_odds_ratio
    0   sea        sand               0.109           2.000
    1   sea        snow               0.030          -1.000
    2  sand        snow               0.006          -0.447
    """

    mutual_information: Floats
    log_odds_ratio: Floats
    label_names: tuple[str, ...]
    rows: str = ""

    @classmethod
    def from_joint(
        cls,
        joint: JointDistribution,
        *,
        row: int | None = None,
        label_names: Sequence[str] | None = None,
    ) -> LabelDependence:
        """Measure the dependence under joint distributions.

        Parameters
        ----------
        joint : JointDistribution
            Of at least one row. Where its pairs are estimated from k draws, independent labels
            seem to share about 1/(2k) in each row.
        row : int, optional
            Position of the row to look at; by default the average over all rows.
        label_names : sequence of str, optional
            By default those of the joint, or positions.
        """
        rows = f"mean of {joint.n_rows} rows" if joint.n_rows > 1 else "row 0"
        if row is not None:
            rows = f"row {row}"
            joint = joint[check_whole_number(row, "row", 0, joint.n_rows - 1)]
        names = joint.label_names if label_names is None else label_names
        if names is None:
            names = list(map(str, range(joint.n_labels)))
        if len(names) != joint.n_labels:
            raise ValueError(f"label_names must name {joint.n_labels} labels; it has {len(names)}")
        return cls(*mean_dependence(joint), tuple(map(str, names)), rows)

    @property
    def n_labels(self) -> int:
        """Number of labels L."""
        return len(self.label_names)

    def strongest_pairs(self, top: int | None = None) -> tuple[Indices, Indices]:
        """Return the labels i < j of all pairs, or the first `top`, by mutual information.

        Parameters
        ----------
        top : int, optional
        """
        first, second = np.triu_indices(self.n_labels, 1)
        order = np.argsort(-self.mutual_information[first, second], kind="stable")
        if top is not None:
            order = order[: check_whole_number(top, "top")]
        return first[order], second[order]

    def to_frame(self, top: int | None = None) -> pd.DataFrame:
        """Return a table of pairs, the strongest first.

        Parameters
        ----------
        top : int, optional
            The number of pairs; by default all.
        """
        import pandas as pd

        first, second = self.strongest_pairs(top)
        return pd.DataFrame(
            {
                "label": [self.label_names[i] for i in first],
                "other_label": [self.label_names[j] for j in second],
                "mutual_information": self.mutual_information[first, second],
                "log_odds_ratio": self.log_odds_ratio[first, second],
            }
        )

    def forest(self, max_edges: int | None = None) -> Structure:
        """Return the strongest pairs, but for those already joined through stronger ones.

        Parameters
        ----------
        max_edges : int, optional
            The number of pairs; by default all that have any dependence.

        Returns
        -------
        Structure
            ``gains`` are mutual information in nats, ``couplings`` log-odds ratios.
        """
        information = np.where(self.mutual_information > _NOTHING, self.mutual_information, 0.0)
        forest = strongest_forest(information, self.log_odds_ratio, self.label_names)
        if max_edges is None or len(forest.edges) <= check_whole_number(max_edges, "max_edges"):
            return forest
        child = np.argsort(-forest.gains, kind="stable")[:max_edges]
        kept = np.zeros_like(information)
        kept[forest.parents[child], child] = kept[child, forest.parents[child]] = forest.gains[
            child
        ]
        # Once more, because smaller trees have other roots.
        return strongest_forest(kept, self.log_odds_ratio, self.label_names)
