"""Greedy, Beam, BestFirst, Exhaustive: partial vectors and bounds.

Beam search: a few prefixes side by side.

Exact inference with a certificate: best-first search over prefixes.

The mode, if it is probable enough.

Exact inference at any cost: by a search without a budget, or by enumeration.

Greedy inference: what a plain classifier chain does.

Exact inference for mixtures: merge the components' lists until a bound is met.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from labelweave._common.checks import check_number, check_whole_number
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.capabilities import (
    BranchesAndBounds,
    MergesLists,
    SearchesBeam,
    SearchesBestFirst,
)
from labelweave.joint.results import SearchedMode, SearchLimits


@dataclass(frozen=True)
class Beam:
    """The best vector found when the most probable prefixes survive each label of a chain.

    A width of one is greedy inference. Every vector that is missed was dropped at some label; the
    best of what was dropped bounds the mode, so wide beams often come with a proof. Time grows in
    proportion to the width and, unlike that of `BestFirst`, does not depend on how hard a row is.

    In a field of pairwise couplings those partial vectors survive that have the highest bounds.
    All other forms get the mode that `Auto` finds.

    Parameters
    ----------
    width : int, default=16
        Prefixes that survive each label; each takes 8 bytes per label in every thread.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> Beam(width=1)(joint).labels, Beam(width=2)(joint).labels
    (array([[1, 0]], dtype=int8), array([[0, 0]], dtype=int8))
    """

    width: int = 16

    def __post_init__(self) -> None:
        check_whole_number(self.width, "width", 1, 2**20)

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the best survivors, with the bound that follows from what was dropped."""
        if isinstance(joint, SearchesBeam):
            return joint.beam(int(self.width))
        if isinstance(joint, BranchesAndBounds):
            return joint.branch_and_bound(int(self.width))
        return joint.mode()


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


@dataclass(frozen=True)
class EpsilonApproximate:
    """The mode of a chain if its probability is at least epsilon, else about the greedy vector.

    The ε-approximate inference of Dembczyński, Waegeman and Hüllermeier (2012): only prefixes of
    probability epsilon or more are followed. There are at most 1/ε of them at each label, so the
    work is bounded whatever the row. With linear conditionals the upper bound of `BestFirst` leaves
    out most of them. Where nothing survives the result is the greedy vector, or a better one that
    turned up on the way, and ε itself bounds the mode.

    All other forms get the mode that `Auto` finds.

    Parameters
    ----------
    epsilon : float, default=0.01
        In (0, 1]; from 0.5 on the result is the greedy vector wherever that is not the mode.
    """

    epsilon: float = 0.01

    def __post_init__(self) -> None:
        check_number(self.epsilon, "epsilon", above=0.0, maximum=1.0)

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the modes of rows where one reaches epsilon, greedy vectors elsewhere."""
        if not isinstance(joint, SearchesBestFirst):
            return joint.mode()
        # "At least" includes a mode of exactly that probability, hence the last bits off.
        floor = math.log(self.epsilon) - 1e-12
        found = joint.best_first(SearchLimits(budget=2**63, floor=floor))
        return Mode(found.labels, found.log_prob, found.upper_bound)


@dataclass(frozen=True)
class Exhaustive:
    """The mode, proven by looking at every label vector that could be it.

    For chains with linear conditionals it is `BestFirst` without a budget: branches that an upper
    bound rules out are skipped, and few vectors are left to look at. ``prune=False`` enumerates all
    2^L vectors, as exact inference for classifier chains was published; other forms are enumerated
    in any case.

    Parameters
    ----------
    max_labels : int, default=20
        Most unknown labels a row may have; every label more doubles the work of the worst case.
        Enumeration holds a row's 2^L probabilities in memory, 32 MB for 22 labels.
    prune : bool, default=True
        Whether chains skip what an upper bound rules out.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> mode = Exhaustive()(joint)
    >>> mode.labels, mode.optimal
    (array([[0, 0]], dtype=int8), array([ True]))
    """

    max_labels: int = 20
    prune: bool = True

    def check_labels(self, n_labels: int) -> None:
        """Refuse distributions of more labels than ``max_labels`` before one is made.

        Examples
        --------
        >>> Exhaustive(max_labels=20).check_labels(45)
        Traceback (most recent call last):
        ...
        ValueError: inference=Exhaustive(max_labels=20, prune=True) cannot decide 45 labels: use ...
        """
        if n_labels > self.max_labels:
            raise ValueError(
                f"inference={self!r} cannot decide {n_labels} labels: use inference='auto' "
                "(method auto on the command line), or a larger max_labels"
            )

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the modes; ValueError if a row has more unknown labels than ``max_labels``."""
        return joint.exhaustive_mode(self.max_labels, prune=self.prune)


@dataclass(frozen=True)
class Greedy:
    """Label by label, the likelier value given the values chosen before.

    Chains go along their order; trees, lists of vectors and independent labels give their mode,
    which costs no more; a mixture takes the best of its components' greedy vectors. The result is
    not always the mode, but the bound says how far from it the result can be.

    Examples
    --------
    The first label alone leans to 1, but all its mass is spread over the second:

    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> mode = Greedy()(joint)
    >>> mode.labels, mode.optimal
    (array([[1, 0]], dtype=int8), array([False]))
    >>> joint.mode().labels
    array([[0, 0]], dtype=int8)
    """

    def __call__(self, joint: JointDistribution, /) -> Mode:
        """Return the greedy vectors, their log-probabilities and an upper bound."""
        return joint.greedy_mode()


@dataclass(frozen=True)
class ThresholdAlgorithm:
    """The mode of a mixture by walking its components' lists, proven unless the budget ends first.

    Every component lists its vectors by decreasing probability, and each vector met is scored under
    the whole mixture. What no list has shown yet has at most Σ_k λ_k P_k(current vector of list k):
    as soon as the best vector seen reaches that, it is the mode. Where the budget ends first,
    ``upper_bound`` is what the bound came down to.

    Trees and independent labels, also in mixtures of mixtures, are walked vector by vector in
    compiled code, always from the list that keeps the bound high; ``nodes`` counts the vectors.
    Components of other forms give longer and longer lists; chains with more than 16 unknown labels
    list what a beam search finds, with its bound.

    Distributions that are not mixtures get the mode that `Auto` finds.

    Parameters
    ----------
    budget : int, default=1000
        Most vectors to take from each component's list, for each row. It bounds time and memory.
    """

    budget: int = 1000
    seeks_proof: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole_number(self.budget, "budget")

    def __call__(self, joint: JointDistribution, /) -> SearchedMode:
        """Return the best vectors found, their bounds, and the vectors it took."""
        if isinstance(joint, MergesLists):
            return joint.merge_lists(int(self.budget))
        return SearchedMode.of(joint.mode())
