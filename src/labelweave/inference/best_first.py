"""Exact inference with a certificate: best-first search over prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from labelweave._common.checks import check_number, check_whole_number
from labelweave.joint import JointDistribution, SearchedMode
from labelweave.joint.capabilities import BranchesAndBounds, SearchesBestFirst
from labelweave.joint.mode import SearchLimits

# Partial vectors of all labels together that branch and bound may keep in each row.
WIDEST_FRONTIER = 2**20


@dataclass(frozen=True)
class BestFirst:
    """The mode of a chain by best-first search, proven optimal unless a limit comes first.

    The search starts from the greedy vector, so it is never worse. A prefix is left out when an
    upper bound shows that no continuation can win: with linear conditionals every later label is
    given the score its undecided predecessors allow at best, other conditionals give no bound but
    their prefix's own probability. Where a limit ends the search, ``upper_bound`` is the best bound
    still open, and ``gap`` how much better the mode could be at most.

    A field of pairwise couplings is searched by branch and bound, label by label, within the same
    budget; it knows no other limit. All other forms get the mode that `Auto` finds.

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
        if isinstance(joint, SearchesBestFirst):
            return joint.best_first(self._limits())
        if isinstance(joint, BranchesAndBounds):
            return joint.branch_and_bound(
                max(1, min(int(self.budget), WIDEST_FRONTIER) // joint.n_labels)
            )
        return SearchedMode.of(joint.mode())

    def _limits(self) -> SearchLimits:
        seconds = float("inf") if self.seconds is None else float(self.seconds)
        return SearchLimits(min(int(self.budget), 2**63), float(self.epsilon), seconds)
