"""How mixtures grow: where components start, and how many there should be.

Two ways, by the kind of mixing weights:

- weights that depend on x: the components of every size start from a partition of the label vectors
  into so many groups, one component for each group;
- constant weights, after the published algorithm: one component after the other, each learned with
  the rows weighed by 1 - P(y|x, mixture so far).

The number of components is the one with which rows that were held out are explained best; growth
ends soon after. Where a single split has judged, its components are kept, as published, and their
parameters relearned from all rows; several splits have components of their own each, so those of
the chosen size are learned anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.label_graph import LabelGraph
from labelweave._common.row_keys import assign_folds
from labelweave.logistic import PenaltyChoice
from labelweave.models.mixtures.em import EM, EXACT, ROUGH, Mixture
from labelweave.models.mixtures.gate import GateProblem
from labelweave.models.mixtures.label_clustering import partition_labels, start_responsibilities

#: Iterations of EM for each size.
N_ITERATIONS = 15
#: Sizes that are tried: in large mixtures one component more or less makes no difference.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# Rows are dealt into so many parts, of which one at a time is held out to judge sizes; with several
# splits, parts are held out until this weight of rows has been.
_N_PARTS = 5
_ENOUGH_HELD_OUT = 300
# Keeps the parts that judge sizes apart from the folds that weigh edges and choose penalties.
_SPLIT_SEED = 1_000_003


class Component(Protocol):
    """A structure of labels: a tree, or a chain's order."""

    def uses(self) -> LabelGraph:
        """Return which labels each label depends on."""


class Learner(Protocol):
    """What finds components in a set of rows."""

    @property
    def X(self) -> Any:
        """Features, (n, D)."""

    @property
    def labels(self) -> Labels:
        """Labels, (n, L)."""

    @property
    def sample_weight(self) -> Floats | None:
        """Weight of every row, if they differ."""

    @property
    def seed(self) -> int:
        """Seed of the folds."""

    @property
    def n_threads(self) -> int:
        """Threads to use."""

    def component(self, penalties: PenaltyChoice, row_weight: Floats | None, index: int) -> Any:
        """Return the best component number `index` for rows that count differently."""

    def restricted(self, rows: Positions) -> Self:
        """Return the learner for some of the rows."""


Kind = TypeVar("Kind", bound=Component)


@dataclass(frozen=True)
class GrowthStep:
    """What a mixture of some size achieved, over all splits together.

    Attributes
    ----------
    n_components : int
    train : float
        Log-likelihood a row of the rows that were fitted.
    validation : float
        Log-likelihood a row of the rows that were held out; NaN where none were.
    objectives : list of list of float
        Penalised log-likelihood before each iteration of EM and at the end, by split.
    """

    n_components: int
    train: float
    validation: float = float("nan")
    objectives: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Grown(Generic[Kind]):
    """A mixture of some size, its components and the way its objective went."""

    components: list[Kind]
    mixture: Mixture
    objectives: list[float]


@dataclass(frozen=True)
class GrowthPlan:
    """How mixtures are grown.

    Attributes
    ----------
    linear_gate : bool
        Whether the mixing weights depend on x.
    equal : bool
        Whether every component sees as much weight as there is, or its share; see `EM`.
    prior_weight : float
        How much every row counts in every component beside that.
    n_splits : int
        How many parts of the rows are held out to judge sizes, at most.
    patience : int
        Growth ends with so many sizes in a row that are worse than the best.
    """

    linear_gate: bool
    equal: bool
    prior_weight: float
    n_splits: int
    patience: int


@dataclass(frozen=True)
class Growth(Generic[Kind]):
    """Grows mixtures on the rows of a learner.

    Attributes
    ----------
    learner : Learner
    penalties : PenaltyChoice
        Of the components; the gate's weights are penalised as their features' are.
    plan : GrowthPlan
    """

    learner: Learner
    penalties: PenaltyChoice
    plan: GrowthPlan

    @property
    def weight(self) -> Floats:
        """Weight of every row."""
        given = self.learner.sample_weight
        return np.ones(len(self.learner.labels)) if given is None else given

    def em(self, tol: float = EXACT) -> EM:
        """Return EM on these rows, with refits to a tolerance."""
        rows, plan = self.learner, self.plan
        gate_C = self.penalties.C if plan.linear_gate else None
        return EM(
            X=rows.X,
            labels=rows.labels,
            weight=self.weight,
            penalties=self.penalties,
            gate=GateProblem.of(rows.X, gate_C, rows.n_threads),
            n_threads=rows.n_threads,
            equal=plan.equal,
            prior_weight=plan.prior_weight,
            tol=tol,
        )

    def grow(self, n_components: int) -> Grown[Kind]:
        """Return the mixture of so many components, or of as many as can be told apart."""
        em = self.em()
        if self.plan.linear_gate:
            return self._partitioned(em, n_components)
        *_, grown = self._boosted(em, n_components)
        return grown

    def relearn(self, grown: Grown[Kind]) -> Grown[Kind]:
        """Return the mixture of the same components with parameters learned from these rows."""
        em = self.em()
        log_joint = em.log_joint(grown.mixture)
        shares = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
        mixture = em.start(grown.mixture.parents, shares)
        return Grown(grown.components, *em.run(mixture, 2 * N_ITERATIONS))

    def sizes(self, max_components: int) -> Iterator[tuple[EM, Grown[Kind]]]:
        """Yield mixtures of growing size, to be compared."""
        # What may be kept has to be exact, what is compared need not be.
        em = self.em(EXACT if self.plan.n_splits == 1 else ROUGH)
        if not self.plan.linear_gate:
            for grown in self._boosted(em, max_components):
                yield em, grown
            return
        last = 0
        for size in (size for size in SIZES if size <= max_components):
            grown = self._partitioned(em, size)
            if grown.mixture.n_components == last:  # there are no more groups
                return
            last = grown.mixture.n_components
            yield em, grown

    def _partitioned(self, em: EM, n_components: int) -> Grown[Kind]:
        """Start every component from a group of similar label vectors."""
        group, n_groups = partition_labels(em.labels, em.weight, n_components)
        shares = start_responsibilities(group, n_groups)
        components: list[Kind] = [
            self.learner.component(self.penalties, shares[:, k] if n_groups > 1 else None, k)
            for k in range(n_groups)
        ]
        mixture = em.start(_masks(components), shares)
        return Grown(components, *em.run(mixture, N_ITERATIONS))

    def _boosted(self, em: EM, max_components: int) -> Iterator[Grown[Kind]]:
        """Add one component after the other, each for the rows the others explain badly."""
        components: list[Kind] = [self.learner.component(self.penalties, None, 0)]
        shares = np.ones((len(em.labels), 1))
        while True:
            mixture = em.start(_masks(components), shares)
            grown = Grown(list(components), *em.run(mixture, N_ITERATIONS))
            yield grown
            if len(components) == max_components:
                return
            log_joint = em.log_joint(grown.mixture)
            evidence = logsumexp(log_joint, axis=1)
            unexplained = -np.expm1(np.minimum(evidence, 0.0))
            mean = float(em.weight @ unexplained / em.weight.sum())
            if not mean > 0:  # every row is certain
                return
            components.append(
                self.learner.component(self.penalties, unexplained / mean, len(components))
            )
            # The newcomer starts with an equal share, most of it where the others fail.
            new = np.minimum(unexplained / mean / len(components), 0.9)[:, None]
            shares = np.hstack([np.exp(log_joint - evidence[:, None]) * (1.0 - new), new])


def grow_judged(growth: Growth[Kind], max_components: int) -> tuple[Grown[Kind], list[GrowthStep]]:
    """Return the mixture of the size that explains held-out rows best, and what sizes achieved."""
    splits = list(_splits(growth))
    steps: list[GrowthStep] = []
    best, kept = 0, None
    for grown in zip(*(inside.sizes(max_components) for inside, _ in splits), strict=False):
        steps.append(_judged(growth, splits, grown))
        if kept is None or steps[-1].validation > steps[best].validation:
            best, kept = len(steps) - 1, grown[0][1]
        if len(steps) - 1 - best == growth.plan.patience:
            break
    if kept is None:  # rows that do not differ cannot judge
        return growth.grow(1), steps
    if growth.plan.n_splits == 1:
        return growth.relearn(kept), steps
    return growth.grow(steps[best].n_components), steps


def _splits(growth: Growth[Kind]) -> Iterator[tuple[Growth[Kind], Positions]]:
    """Yield growth on the rows of each split, and the rows that are held out."""
    rows, weight = growth.learner, growth.weight
    fold, n_folds = assign_folds(rows.X, weight, _N_PARTS, rows.seed + _SPLIT_SEED)
    if n_folds < 2:
        return
    wanted = int(np.ceil(_ENOUGH_HELD_OUT * n_folds / weight.sum()))
    for split in range(min(max(1, wanted), growth.plan.n_splits, n_folds)):
        inside = rows.restricted(np.flatnonzero(fold != split))
        yield replace(growth, learner=inside), np.flatnonzero(fold == split)


def _judged(
    growth: Growth[Kind],
    splits: list[tuple[Growth[Kind], Positions]],
    grown: tuple[tuple[EM, Grown[Kind]], ...],
) -> GrowthStep:
    rows, weight = growth.learner, growth.weight
    sums = np.zeros((2, 2))  # log-likelihood and weight of the rows fitted and held out
    for (_, outside), (em, part) in zip(splits, grown, strict=True):
        fitted = logsumexp(em.log_joint(part.mixture), axis=1)
        judged = em.log_joint(part.mixture, rows.X[outside], rows.labels[outside])
        sums[0] += em.weight @ fitted, em.weight.sum()
        sums[1] += weight[outside] @ logsumexp(judged, axis=1), weight[outside].sum()
    train, validation = sums[:, 0] / sums[:, 1]
    return GrowthStep(
        n_components=max(part.mixture.n_components for _, part in grown),
        train=float(train),
        validation=float(validation),
        objectives=[part.objectives for _, part in grown],
    )


def _masks(components: Sequence[Component]) -> Mask:
    return np.stack([np.asarray(component.uses()) for component in components])
