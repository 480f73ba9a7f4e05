"""Auto: the one search policy, of `predict` and ``joint.mode()``; and the policy of ``top(k)``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelweave._common.checks import check_whole_number
from labelweave.inference.gibbs import Gibbs
from labelweave.inference.random import Annealing
from labelweave.inference.search import Beam, Exhaustive, Greedy
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, Mode, Ranked
from labelweave.joint.capabilities import (
    BoundedSearch,
    ChainRule,
    ClosedMode,
    Limits,
    VectorLists,
)
from labelweave.joint.enumeration import MAX_ENUMERATED, MAX_SEARCHED, row_blocks, tables
from labelweave.joint.results import Rows, assembled

# Strategies that may still improve a row that the search left open: for chains, for other forms.
OF_CHAINS: tuple[Inference, ...] = (Beam(width=32), Gibbs(sweeps=50))
OF_OTHERS: tuple[Inference, ...] = (Annealing(),)
# Prefixes after which a row counts as flat: its bound is tightened before the search goes on.
FIRST_NODES = 10_000


@dataclass(frozen=True)
class Auto(Inference):
    """Exact where that is cheap, the best of several strategies elsewhere.

    This is the search of ``joint.mode()`` and, by default, of every `predict`.

    *Chains* are searched best-first; most rows of chains fitted to data are proven within a few
    nodes per label. Rows left open are enumerated up to 20 unknown labels (16 if only Python can
    evaluate the conditionals). Rows with more unknown labels get the best vector of several
    strategies, and with linear conditionals a second search, under a relaxation of all couplings,
    looks for a proof. *Mixtures* merge their components' lists. *Fields* with cycles are enumerated
    up to 16 unknown labels and searched by branch and bound beyond. Rows of either that stay open
    are enumerated up to 20 unknown labels and annealed beyond. *Other forms* are solved in closed
    form or by enumeration, and greedily beyond 20 unknown labels. The mode's ``gap`` bounds the
    distance of each row from the optimum.

    Parameters
    ----------
    budget : int, default=10_000
        Prefixes that each exact search may examine in each row. Chains whose conditionals only
        Python can evaluate get a tenth, because each prefix needs a prediction of the base
        classifier; a mixture takes at most a tenth as many vectors from each component's list. Ten
        million prefixes, at seconds per row, prove most modes of a chain fitted to a flat set of
        174 labels.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.inference import BestFirst
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

    def __post_init__(self) -> None:
        check_whole_number(self.budget, "budget")

    @property
    def seeks_proof(self) -> bool:
        """Whether a decision warns of unproven modes."""
        return True

    def _search(self, joint: JointDistribution) -> Mode:
        if isinstance(joint, ClosedMode):
            return joint.closed_mode()
        if isinstance(joint, BoundedSearch) and joint.search_first:
            return self._searched(joint)
        # Each row separately: its result must not depend on the rows beside it.
        few = joint.n_unknown <= MAX_SEARCHED
        if few.all():
            return Exhaustive(MAX_SEARCHED)(joint)
        rest = joint[~few]
        found = self._searched(rest) if isinstance(rest, BoundedSearch) else Greedy()(rest)
        if not few.any():
            return found
        enumerated = Exhaustive(MAX_SEARCHED)(joint[few])
        return assembled(joint.n_rows, [(few, enumerated), (~few, found)])

    def _searched(self, joint: JointDistribution) -> Mode:
        """Return the modes that a search finds, and the best of several strategies elsewhere."""
        assert isinstance(joint, BoundedSearch)
        limits, max_labels = self._first(joint)
        found = joint.search(limits)
        few = ~found.optimal & (joint.n_unknown <= max_labels)
        if few.any():
            found = found.replaced(few, Exhaustive(max_labels)(joint[few]))
        left = ~found.optimal
        if not left.any():
            return found
        best = found[left]
        for strategy in OF_CHAINS if isinstance(joint, ChainRule) else OF_OTHERS:
            best = best.or_better(strategy(joint[left]))
        return found.replaced(left, self._bounded(joint[left], best))

    def _first(self, joint: JointDistribution) -> tuple[Limits, int]:
        """Return the limits of the first search, and up to how many labels are enumerated then."""
        if not isinstance(joint, ChainRule):
            return Limits(self.budget), MAX_SEARCHED
        if joint.conditionals.linear is None:  # each prefix needs a call of a function
            return Limits(max(1, self.budget // 10)), MAX_ENUMERATED
        return Limits(min(self.budget, FIRST_NODES)), MAX_SEARCHED

    def _bounded(self, joint: JointDistribution, best: Mode) -> Mode:
        """Tighten the bounds of linear chains, and spend the rest of the budget."""
        if not isinstance(joint, ChainRule) or joint.conditionals.linear is None:
            return best
        assert isinstance(joint, BoundedSearch)
        best = joint.search(Limits(self.budget, relaxed=True), best)
        left = ~best.optimal
        if self.budget > FIRST_NODES and left.any():
            rest = joint[left].search(Limits(self.budget))
            best = best.replaced(left, best[left].or_better(rest))
        return best


def top_vectors(joint: JointDistribution, k: int) -> Ranked:
    """Return the k best vectors: from tables where they are small enough, else from lists.

    Lists come first where they cost less than tables.
    """
    base = joint.ranks_like
    if not isinstance(base, VectorLists) or not base.lists_first:
        return joint.restated(_from_tables(base, k))
    found = base.best_vectors(k)
    few = ~found.exact & (base.n_unknown <= MAX_ENUMERATED)
    if not few.any():
        return joint.restated(found)
    parts: list[tuple[Rows, Ranked]] = [(slice(None), found), (few, _from_tables(base[few], k))]
    return joint.restated(assembled(base.n_rows, parts))


def _from_tables(joint: JointDistribution, k: int) -> Ranked:
    """Return the k best vectors, from tables of rows with few unknown labels, else from lists."""
    small = joint.n_unknown <= MAX_ENUMERATED
    few, many = np.flatnonzero(small), np.flatnonzero(~small)
    parts = [(few[rows], table.top(k)) for rows, table in tables(joint[few])]
    # A search holds a multiple of the vectors it returns, and at least a few hundred per row.
    blocks = row_blocks(len(many), 4 * (k + 64) * joint.n_labels)
    parts += [(many[block], _listed(joint[many[block]], k)) for block in blocks]
    if not parts:  # no rows: only the shape matters
        return Ranked.padded(joint.known[:, None], np.empty((0, 1)), k, -np.inf)
    return assembled(joint.n_rows, parts)


def _listed(joint: JointDistribution, k: int) -> Ranked:
    if not isinstance(joint, VectorLists):
        raise NotImplementedError(
            f"top needs a search that lists vectors for rows with more than {MAX_ENUMERATED} "
            f"unknown labels, and {joint!r} has none: give it the method "
            "best_vectors (labelweave.joint.capabilities.VectorLists)"
        )
    return joint.best_vectors(k)
