"""What some forms of a joint distribution can do, and strategies may ask for.

Every `JointDistribution` gives probabilities, samples and posteriors, a greedy vector, and its mode
by enumeration while few labels are unknown. What only some forms can do is written down here, one
protocol for each. A form has a capability by having its methods, and a strategy asks
``isinstance(joint, SearchesBeam)``: it never needs to know the class, so a new form is served by
every strategy whose capability it provides.

=======================  =============================  ==========================================
capability               forms                          what asks for it
=======================  =============================  ==========================================
`HasClosedMode`          independent, table, listed,    `Auto`
                         tree
`SearchesBestFirst`      chains                         `BestFirst`, `EpsilonApproximate`, `Auto`
`SearchesBeam`           chains                         `Beam`
`TightensBounds`         `ChainJoint`                   `Auto`
`BranchesAndBounds`      fields                         `BestFirst`, `Beam`, `Auto`
`MergesLists`            mixtures                       `ThresholdAlgorithm`, `Auto`
`ListsVectors`           chains, fields, mixtures       `JointDistribution.top`
`ListsItsSupport`        listed                         mixtures: mode, `top`, entropy
`HasConditionals`        chains                         `Gibbs`
`HasLinearConditionals`  `ChainJoint`                   `Gibbs` (compiled), `MeanField`, `Auto`
`DecomposesIntoTrees`    independent, tree, field,      `Annealing` (compiled), mixtures
                         mixture
`RanksLikeItsBase`       tempered                       `Auto`
`ClosedUnderPowers`      independent, table, listed,    `JointDistribution.tempered`
                         tree, field, tempered
`ApproximatesPowers`     chains, mixtures               `TemperedJoint`: draws, normaliser
`HasIndependentLabels`   independent                    `FLoss`
=======================  =============================  ==========================================

Examples
--------
>>> import numpy as np
>>> from labelweave.joint import ChainJoint, IndependentJoint
>>> isinstance(ChainJoint(np.zeros((1, 2)), np.zeros((2, 2))), SearchesBeam)
True
>>> isinstance(IndependentJoint(np.zeros((1, 2))), SearchesBeam)
False
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint.results import Mode, Ranked, SearchedMode, SearchLimits

if TYPE_CHECKING:
    from labelweave.joint.distribution import JointDistribution
    from labelweave.joint.tree import TreeMixture

Found = TypeVar("Found", Mode, Ranked)


# ---------------------------------------------------------------------- modes


@runtime_checkable
class HasClosedMode(Protocol):
    """The mode costs no search, however many labels there are."""

    def closed_mode(self) -> Mode:
        """Return the mode of every row, proven."""
        ...


@runtime_checkable
class SearchesBestFirst(Protocol):
    """Best-first search over prefixes of label vectors."""

    def best_first(self, limits: SearchLimits) -> SearchedMode:
        """Return the best vectors found within the limits, with the best bound still open."""
        ...


@runtime_checkable
class SearchesBeam(Protocol):
    """Beam search over prefixes of label vectors."""

    def beam(self, width: int) -> Mode:
        """Return the best survivor, with the bound that follows from the prefixes dropped."""
        ...


@runtime_checkable
class TightensBounds(Protocol):
    """A second search, under a bound that is dearer and tighter than that of the first."""

    def tighten(self, found: Mode, budget: int) -> Mode:
        """Return ``found`` or better, with bounds that ``budget`` more nodes may have lowered."""
        ...


@runtime_checkable
class BranchesAndBounds(Protocol):
    """Search that fixes label after label and keeps the partial vectors of the highest bounds."""

    def branch_and_bound(self, width: int) -> SearchedMode:
        """Return the best vectors found with ``width`` partial vectors kept, and a bound."""
        ...


# ---------------------------------------------------------------------- lists of vectors


@runtime_checkable
class ListsVectors(Protocol):
    """Search for the most probable vectors of rows that have too many labels to enumerate."""

    def list_vectors(self, k: int) -> Ranked:
        """Return ``k`` vectors in decreasing order, with a bound on those that are not listed."""
        ...


@runtime_checkable
class ListsItsSupport(Protocol):
    """Every vector that is possible is in a list, the same one for all rows.

    Attributes
    ----------
    vectors : (V, L) int8 array
    log_weights : (n, V) array
        Log-probability of each vector in each row.
    """

    vectors: Labels
    log_weights: Floats


@runtime_checkable
class MergesLists(Protocol):
    """A mixture whose components list their vectors by decreasing probability."""

    def merge_lists(self, depth: int) -> SearchedMode:
        """Return the best of at most ``depth`` vectors of each list, and a bound on the others."""
        ...

    def walks_lists(self) -> bool:
        """Return whether walking lists is faster than looking at all vectors of few labels."""
        ...


# ---------------------------------------------------------------------- factors


@runtime_checkable
class HasConditionals(Protocol):
    """P(y) as a product of P(label | earlier labels), before conditioning.

    Attributes
    ----------
    order : (L,) array of int
        The labels in the order of the chain.
    """

    order: Indices

    def conditional_log_odds(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label`` in ``rows`` given the labels set in ``prefix``."""
        ...


@runtime_checkable
class HasLinearConditionals(HasConditionals, Protocol):
    """Conditionals with log-odds z_j = scores_j + Σ_k coupling_jk y_k over earlier labels k.

    Attributes
    ----------
    scores : (n, L) array
    coupling : (L, L) array
    """

    scores: Floats
    coupling: Floats


@runtime_checkable
class DecomposesIntoTrees(Protocol):
    """A form that may be a mixture of trees, which compiled kernels search."""

    def tree_mixture(self) -> TreeMixture | None:
        """Return the same distribution as a mixture of trees, or None if it is not one."""
        ...


@runtime_checkable
class HasIndependentLabels(Protocol):
    """Labels that do not depend on each other once the row is known."""

    def independent_log_odds(self) -> Floats:
        """Return the log-odds of each label, (n, L); ±inf where a label is certain."""
        ...


# ---------------------------------------------------------------------- powers


@runtime_checkable
class RanksLikeItsBase(Protocol):
    """Vectors are in the order of another distribution, so that its searches serve both.

    Attributes
    ----------
    base : JointDistribution
    """

    base: JointDistribution

    def restated(self, found: Found) -> Found:
        """Return what was found in the base, with probabilities of this distribution."""
        ...


@runtime_checkable
class ClosedUnderPowers(Protocol):
    """P(y)^e, normalised, is a distribution of the same form."""

    def power(self, exponent: float) -> JointDistribution:
        """Return the distribution proportional to P(y)^exponent."""
        ...


@runtime_checkable
class ApproximatesPowers(Protocol):
    """A distribution near P(y)^e can be drawn from, and its probabilities are known."""

    def near_power(self, exponent: float) -> JointDistribution:
        """Return a distribution that is positive wherever P is, and near P(y)^exponent."""
        ...


def near_power(joint: JointDistribution, exponent: float) -> JointDistribution:
    """Return P(y)^exponent, normalised, or the nearest distribution that the form knows."""
    if isinstance(joint, ClosedUnderPowers):
        return joint.power(exponent)
    return joint.near_power(exponent) if isinstance(joint, ApproximatesPowers) else joint


def tree_mixture_of(joint: JointDistribution) -> TreeMixture | None:
    """Return ``joint`` as a mixture of trees, or None if it is not one."""
    return joint.tree_mixture() if isinstance(joint, DecomposesIntoTrees) else None


def missing_capability(
    joint: JointDistribution, strategy: object, needs: str, instead: str
) -> ValueError:
    """Return the error of a strategy that a form cannot serve and that has no fallback."""
    return ValueError(
        f"{type(strategy).__name__} needs {needs}, and {type(joint).__name__} has none: "
        f"use inference={instead}"
    )
