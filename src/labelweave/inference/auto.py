"""Let the library choose how to look for the mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from labelweave._common.checks import check_whole_number
from labelweave.inference.gibbs import Gibbs
from labelweave.inference.random import Annealing
from labelweave.inference.search import Beam, BestFirst, Greedy, ThresholdAlgorithm
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.capabilities import (
    BranchesAndBounds,
    HasClosedMode,
    HasLinearConditionals,
    MergesLists,
    RanksLikeItsBase,
    SearchesBestFirst,
    TightensBounds,
)
from labelweave.joint.enumeration import MAX_ENUMERATED, MAX_SEARCHED

# What may still improve a chain's row that the search could not settle.
HEURISTICS: tuple[Inference, ...] = (Beam(width=32), Gibbs(sweeps=50))
# Prefixes after which a row counts as flat: its bound is tightened before the search goes on.
FIRST_NODES = 10_000


@dataclass(frozen=True)
class Auto:
    """Exact where that is cheap, the best of several strategies elsewhere.

    This is what ``joint.mode()`` does. Chains are searched best-first; most rows of chains fitted
    to data are settled, and certified optimal, within a few nodes per label. Rows that are not
    settled within the budget are enumerated up to 20 unknown labels (16 if only Python can evaluate
    the conditionals); those of more labels get the best vector of all strategies that scale.
    With linear conditionals, a second search under a relaxation of all couplings at once then looks
    for a proof; the mode's ``gap`` says how far from optimal a row may still be. Mixtures merge
    their components' lists; rows left open are enumerated up to 20 unknown labels and annealed
    beyond. Fields with cycles are enumerated up to 16 unknown labels and searched by branch and
    bound beyond, with rows left open enumerated up to 20. Other forms are solved in closed form or
    by enumeration, and greedily beyond 20 unknown labels.

    Parameters
    ----------
    budget : int, default=10_000
        Prefixes each exact search may look at in each row. Chains of conditionals that only Python
        can evaluate get a tenth, because each takes a prediction of the base classifier; a mixture
        takes at most a tenth as many vectors from each of its components' lists. Ten million,
        at seconds per row, prove most modes of a chain fitted to a flat set of 174 labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> rng = np.random.default_rng(0)
    >>> coupling = np.tril(rng.normal(size=(100, 100)), -1)
    >>> sure, flat = (ChainJoint(s * rng.normal(size=(5, 100)), s * coupling) for s in (9, 0.1))
    >>> Auto()(sure).optimal.all(), Auto()(flat).optimal.any()
    (np.True_, np.False_)
    >>> Auto()(flat).gap.mean() < 4 < 20 < BestFirst(10_000)(flat).gap.mean()
    np.True_
    """

    budget: int = 10_000
    seeks_proof: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole_number(self.budget, "budget")

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the mode, with its bound."""
        if isinstance(joint, RanksLikeItsBase):
            return joint.restated(self(joint.base))
        if isinstance(joint, SearchesBestFirst):
            return self._best_first(joint)
        if isinstance(joint, BranchesAndBounds):
            found = joint.branch_and_bound(max(1, self.budget // joint.n_labels))
            return _settled(joint, found, MAX_SEARCHED)
        if isinstance(joint, HasClosedMode):
            return joint.closed_mode()
        # Each row on its own: what a row gets must not depend on the rows beside it.
        few = joint.n_unknown <= MAX_SEARCHED
        if few.all():
            return self._few_labels(joint)
        parts = [(~few, self._many_labels(joint[~few]))]
        if few.any():
            parts.append((few, self._few_labels(joint[few])))
        return Mode.assembled(parts)

    def _few_labels(self, joint: JointDistribution) -> Mode:
        """Return the modes of rows with few enough labels to enumerate."""
        if isinstance(joint, MergesLists) and joint.walks_lists():
            return _settled(joint, joint.merge_lists(max(1, self.budget // 10)), MAX_SEARCHED)
        return joint.exhaustive_mode(MAX_SEARCHED)

    def _many_labels(self, joint: JointDistribution) -> Mode:
        """Return the modes of rows that are neither closed nor few enough to enumerate."""
        if not isinstance(joint, MergesLists):
            return Greedy()(joint)
        found = ThresholdAlgorithm(max(1, self.budget // 10))(joint)
        open_rows = ~found.optimal
        if not open_rows.any():
            return found
        return found.replaced(open_rows, found[open_rows].or_better(Annealing()(joint[open_rows])))

    def _best_first(self, joint: JointDistribution) -> Mode:
        linear = isinstance(joint, HasLinearConditionals)
        first = min(self.budget, FIRST_NODES) if linear else max(1, self.budget // 10)
        found = _settled(joint, BestFirst(first)(joint), MAX_SEARCHED if linear else MAX_ENUMERATED)
        open_rows = ~found.optimal
        if not open_rows.any():
            return found
        best, rest = found[open_rows], joint[open_rows]
        for strategy in HEURISTICS:
            best = best.or_better(strategy(rest))
        if isinstance(rest, TightensBounds):
            best = rest.tighten(best, self.budget)
        left = ~best.optimal
        if linear and first < self.budget:
            best = best.replaced(left, best[left].or_better(BestFirst(self.budget)(rest[left])))
        return found.replaced(open_rows, best)


def _settled(joint: JointDistribution, found: Mode, max_labels: int) -> Mode:
    """Return what a search found, and the mode by enumeration where it left few labels open."""
    left = ~found.optimal & (joint.n_unknown <= max_labels)
    return found.replaced(left, joint[left].exhaustive_mode(max_labels)) if left.any() else found
