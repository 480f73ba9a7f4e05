"""Let the library choose how to look for the mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from labelweave._common.checks import check_whole_number
from labelweave.inference.annealing import Annealing
from labelweave.inference.beam import Beam
from labelweave.inference.best_first import BestFirst
from labelweave.inference.gibbs import Gibbs
from labelweave.inference.greedy import Greedy
from labelweave.inference.protocol import Inference
from labelweave.inference.result import Mode
from labelweave.inference.threshold import Threshold
from labelweave.joint import ChainJoint, FieldJoint, JointDistribution, MixtureJoint
from labelweave.joint._chain_form import ChainForm
from labelweave.joint.enumeration import MAX_SEARCHED

# What may still improve a chain's row that the search could not settle.
HEURISTICS: tuple[Inference, ...] = (Beam(width=32), Gibbs(sweeps=50))
# Prefixes after which a row counts as flat: its bound is tightened before the search goes on.
FIRST_LOOKS = 10_000


@dataclass(frozen=True)
class Auto:
    """Exact where that is cheap, the best of several strategies elsewhere.

    Chains are searched best-first; most rows of chains fitted to data are settled, and certified
    optimal, within a few looks for each label. Rows that are not settled within the budget, as
    those of flat distributions with many labels, get the best vector of all strategies that scale.
    With linear conditionals a relaxation that knows all couplings at once then searches for a proof
    once more; the mode's ``gap`` says how far from optimal a row may be after all. Mixtures walk
    their components' lists; rows left open are enumerated up to 20 unknown labels and annealed
    beyond. Fields with cycles are enumerated up to 16 unknown labels and searched by branch and
    bound beyond. Other forms are solved in closed form or by enumeration, and greedily beyond 20
    unknown labels.

    Parameters
    ----------
    budget : int, default=10_000
        Prefixes each exact search may look at in each row. Chains of conditionals that only Python
        can evaluate get a tenth, for each look is a prediction of the base classifier; a mixture
        takes at most a tenth as many vectors from each of its components' lists. Ten million,
        at seconds a row, prove most modes of a chain fitted to a flat set of 174 labels.

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
        if isinstance(joint, ChainForm):
            return self._of_chain(joint)
        if isinstance(joint, FieldJoint):
            return joint._searched(max(1, self.budget // joint.n_labels))
        mixture = isinstance(joint, MixtureJoint)
        closed = not mixture and type(joint)._mode is not JointDistribution._mode
        # Each row on its own: what a row gets must not depend on the rows beside it.
        few = closed | ((joint.known < 0).sum(axis=1) <= MAX_SEARCHED)
        rest = joint[~few]
        found = self._of_mixture(rest) if isinstance(rest, MixtureJoint) else Greedy()(rest)
        return Greedy()(joint).replaced(few, joint[few].mode()).replaced(~few, found)

    def _of_mixture(self, joint: MixtureJoint) -> Mode:
        found = Threshold(max(1, self.budget // 10))(joint)
        open_rows = ~found.optimal
        if not open_rows.any():
            return found
        return found.replaced(open_rows, found[open_rows].or_better(Annealing()(joint[open_rows])))

    def _of_chain(self, joint: ChainForm) -> Mode:
        linear = isinstance(joint, ChainJoint)
        first = min(self.budget, FIRST_LOOKS) if linear else max(1, self.budget // 10)
        found = BestFirst(first)(joint)
        open_rows = ~found.optimal
        if not open_rows.any():
            return found
        best, rest = found[open_rows], joint[open_rows]
        for strategy in HEURISTICS:
            best = best.or_better(strategy(rest))
        best = rest._tightened(best, self.budget)
        left = ~best.optimal
        if linear and first < self.budget:
            best = best.replaced(left, best[left].or_better(BestFirst(self.budget)(rest[left])))
        return found.replaced(open_rows, best)
