"""The six things that strategies may ask of a form.

Every `JointDistribution` gives probabilities, samples and posteriors. A greedy vector follows from
them and, while few labels are unknown, so does the mode by enumeration. The protocols here describe
the abilities of some forms. A form has a capability if it has its members, and a strategy asks
``isinstance(joint, VectorLists)``: it never needs to know the class, so a new form is served by
every strategy whose capability it provides.

===============  =======================================  ==========================================
capability       forms                                    used by
===============  =======================================  ==========================================
`ClosedMode`     independent, listed, tree                `Auto`, `Greedy`, `Beam`, `BestFirst`
`BoundedSearch`  chain, field, mixture                    `Auto`, `BestFirst`, `Greedy`,
                                                          `Exhaustive`
`VectorLists`    all but tempered                         `Beam`, `top`, mixtures
`ChainRule`      chain                                    `Gibbs`, `MeanField`, `Exhaustive`,
                                                          `Auto`, greedy paths
`Trees`          independent, tree, field, mixture        `Annealing` (compiled), mixtures, `FLoss`
`Powers`         all forms                                `JointDistribution.tempered`
===============  =======================================  ==========================================

A tempered distribution has no search of its own: strategies search the distribution it
`ranks like <JointDistribution.ranks_like>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.joint.results import Mode, Ranked, certified

if TYPE_CHECKING:
    from labelweave.joint.chain import Conditionals
    from labelweave.joint.distribution import JointDistribution
    from labelweave.joint.tree import MixtureOfTrees


@dataclass(frozen=True)
class Limits:
    """The limits at which a search for the mode stops before it has a proof.

    A search looks at ``budget`` partial vectors of each row; with 0 it returns its start vector.
    The search of a row ends when its vector is proven to be within ``epsilon`` nats of the mode.
    Vectors whose log-probability is not above ``least_log_prob`` need not be found. ``relaxed``
    asks for the tighter, more expensive bound in forms that have one.
    """

    budget: int
    epsilon: float = 0.0
    seconds: float = float("inf")
    least_log_prob: float = float("-inf")
    relaxed: bool = False


@runtime_checkable
class ClosedMode(Protocol):
    """The mode needs no search, however many labels there are."""

    def closed_mode(self) -> Mode:
        """Return the mode of every row, proven."""
        ...


@runtime_checkable
class BoundedSearch(Protocol):
    """A search for the mode that has an upper bound whenever it stops."""

    @property
    def search_first(self) -> bool:
        """Whether the search is tried before few labels are enumerated."""
        ...

    def search(self, limits: Limits, start: Mode | None = None) -> Mode:
        """Return the best vectors found within the limits, and the best bound still open.

        A search under the relaxed bound begins with ``start`` and returns no worse vector.
        """
        ...


@runtime_checkable
class VectorLists(Protocol):
    """The most probable vectors, in decreasing order."""

    @property
    def lists_first(self) -> bool:
        """Whether lists are tried before tables of few labels."""
        ...

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return ``k`` vectors, with a bound on all others.

        ``width`` candidates are kept at a time; the default is usually enough.
        """
        ...


@runtime_checkable
class ChainRule(Protocol):
    """P(y) as a product of P(label | earlier labels), before conditioning."""

    conditionals: Conditionals


@runtime_checkable
class Trees(Protocol):
    """A form that may be a mixture of trees, which compiled kernels search."""

    def as_trees(self) -> MixtureOfTrees | None:
        """Return the same distribution as a mixture of trees, or None if it is not one."""
        ...


@runtime_checkable
class Powers(Protocol):
    """P(y)^e, normalised, or an approximation of it that can be sampled.

    Unless ``exact_powers`` holds, the power is an approximation, and positive wherever P is.
    """

    exact_powers: ClassVar[bool]

    def power(self, exponent: float) -> JointDistribution:
        """Return the distribution proportional to P(y)^exponent, or an approximation of it."""
        ...


def greedy_mode(joint: JointDistribution) -> Mode:
    """Return the vectors from which searches start: modes in closed form, else greedy vectors."""
    base = joint.ranks_like
    if isinstance(base, ClosedMode):
        found = base.closed_mode()
    elif isinstance(base, BoundedSearch):
        found = base.search(Limits(budget=0))
    else:
        found = _greedy_by_evidence(base)
    return joint.restated(found)


def _greedy_by_evidence(joint: JointDistribution) -> Mode:
    """Choose, label by label, the likelier value given the values chosen before."""
    chosen = joint.known.copy()
    for label in range(joint.n_labels):
        open_rows = chosen[:, label] < 0
        score = []
        for value in (0, 1):
            chosen[open_rows, label] = value
            score.append(joint.evidence_log_prob(dict(enumerate(chosen.T))).value)
        chosen[open_rows, label] = (score[1] > score[0])[open_rows]
    exact = np.ones(joint.n_rows, dtype=np.bool_)
    return certified(chosen, joint.log_prob(chosen), np.zeros(joint.n_rows), exact)


def near_power(joint: JointDistribution, exponent: float) -> JointDistribution:
    """Return P(y)^exponent, normalised, or the approximation that the form provides."""
    return joint.power(exponent) if isinstance(joint, Powers) else joint


def trees_of(joint: JointDistribution) -> MixtureOfTrees | None:
    """Return ``joint`` as a mixture of trees, or None if it is not one."""
    return joint.as_trees() if isinstance(joint, Trees) else None


def independent_log_odds(joint: JointDistribution) -> Floats | None:
    """Return the log-odds (n, L) of labels that do not depend on each other, or None if they do."""
    trees = trees_of(joint)
    if trees is None or len(trees.trees) > 1 or (trees.trees[0].parents >= 0).any():
        return None
    return np.ascontiguousarray(trees.trees[0].logits[:, :, 0])
