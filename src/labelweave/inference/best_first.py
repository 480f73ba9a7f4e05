"""Exact inference with a certificate: best-first search over prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from labelweave._common.checks import check_number, check_whole_number
from labelweave.joint import FieldJoint, JointDistribution, SearchedMode
from labelweave.joint._chain_form import ChainForm
from labelweave.joint.mode import SearchLimits


@dataclass(frozen=True)
class BestFirst:
    """The mode of a chain by best-first search, proven optimal unless a limit comes first.

    The search starts from the greedy vector, so it is never worse. A prefix is left out when an
    upper bound shows that no continuation can win: with linear conditionals every later label is
    given the score its undecided predecessors allow at best, other conditionals give no bound but
    their prefix's own probability. Where a limit ends the search, ``upper_bound`` is the best bound
    still open, and ``gap`` how much better the mode could be at most.

    A field of pairwise couplings is searched by branch and bound, label by label, within the same
    budget; it knows no other limit. Forms with a closed answer return it.

    Parameters
    ----------
    budget : int, default=100_000
        Most prefixes to look at for each row. It bounds time and memory.
    epsilon : float, default=0.0
        Stop a row when its vector is proven to be within ``epsilon`` (in nats) of the mode.
    seconds : float, optional
        Stop all rows after this time; the only limit that makes results depend on the machine.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> rng = np.random.default_rng(0)
    >>> coupling = np.tril(rng.normal(size=(40, 40)), -1)
    >>> joint = ChainJoint(4 * rng.normal(size=(100, 40)), coupling)
    >>> mode = BestFirst()(joint)
    >>> bool(mode.optimal.all()), int(np.median(mode.nodes)) < 1000
    (True, True)
    >>> BestFirst(budget=10)(joint).optimal.mean() < 1
    np.True_
    """

    budget: int = 100_000
    epsilon: float = 0.0
    seconds: float | None = None
    seeks_proof: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole_number(self.budget, "budget")
        check_number(self.epsilon, "epsilon", minimum=0.0, finite=False)
        if self.seconds is not None:
            check_number(self.seconds, "seconds", minimum=0.0, finite=False)

    def __call__(self, joint: JointDistribution, /) -> SearchedMode:
        """Return the best vectors found, their bounds, and the nodes it took."""
        if isinstance(joint, FieldJoint):
            return joint._searched(max(1, min(int(self.budget), 2**20) // joint.n_labels))
        if not isinstance(joint, ChainForm):
            mode = joint.mode()
            nodes = np.zeros(joint.n_rows, dtype=np.int64)
            return SearchedMode(mode.labels, mode.log_prob, mode.upper_bound, nodes)
        seconds = float("inf") if self.seconds is None else float(self.seconds)
        budget = min(int(self.budget), 2**63)
        return joint._best_first(SearchLimits(budget, float(self.epsilon), seconds))
