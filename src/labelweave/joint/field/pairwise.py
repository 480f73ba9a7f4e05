"""Labels that are coupled in pairs, without a direction: a Markov random field."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from labelweave.joint.checks import check_log_odds
from labelweave.joint.field.search import SearchedField


class FieldJoint(SearchedField):
    """P(y) ∝ exp(Σ_j s_j y_j + Σ_{i<j} V_ij y_i y_j): every label leans on every other.

    **Exact** in every query where the coupled labels form a forest (it becomes a `TreeJoint`)
    and, by enumeration, while at most 16 labels are unknown (20 for `log_prob` and `mode`). Beyond,
    the normaliser is estimated by 1024 weighted draws (annealed importance sampling from the
    strongest forest): `log_normaliser` gives it with its standard error, which is also that of
    `log_prob`. Modes come from branch and bound, with a bound that always holds.

    Evidence goes into the scores of the labels coupled to it, so a posterior is a field again; it
    is judged anew which rows are exact, as known labels may leave a forest.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of each label when all others are 0.
    coupling : (L, L) array
        Symmetric with zero diagonal: what two labels add to each other's log-odds.
    label_names, row_ids, n_threads
        As in `JointDistribution`.

    Examples
    --------
    Three labels that like to come together:

    >>> import numpy as np
    >>> joint = FieldJoint(np.array([[-2.5, -2.5, -2.5]]), 2.0 * (1 - np.eye(3)))
    >>> joint.mode().labels
    array([[0, 0, 0]], dtype=int8)
    >>> joint.marginals().round(3)
    array([[0.25, 0.25, 0.25]])
    >>> joint.condition({0: 1}).marginals().round(3)
    array([[1.   , 0.674, 0.674]])
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        coupling: npt.ArrayLike,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        super().__init__(
            check_log_odds(scores, "scores"),
            coupling,
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )
