"""Fit mixtures of a given number of components: where the components start.

Two initialisations, by the kind of mixing weights:

- mixing weights that depend on x: the label vectors are clustered into as many groups as there are
  components, and each component starts from one cluster;
- constant mixing weights, after the published algorithm: components are added one at a time, each
  learned from rows weighted by 1 - P(y|x) under the mixture so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.label_graph import LabelGraph
from labelweave._common.progress import steps
from labelweave._common.row_keys import row_uniforms
from labelweave.logistic import PenaltyChoice
from labelweave.models.mixtures.em import CLOSE, EM, EXACT, ROUGH, Tolerances
from labelweave.models.mixtures.label_clustering import (
    cluster_label_vectors,
    initial_responsibilities,
)
from labelweave.models.mixtures.mixture import Mixture

# Iterations of EM: with lengthened steps, of mixtures that are kept or only compared, and with
# plain ones (weighting="equal"). Seven lengthened steps lead at least as far as fifteen plain ones.
_N_LENGTHENED, _N_COMPARED, _N_PLAIN = 7, 2, 15
# Structures are learned from all rows of at least this share of the largest weight and a sample of
# the others, if there are more rows than this.
_FULL_WEIGHT, _FEW_ROWS = 0.25, 1000
# Keeps that sample independent of all folds.
_SAMPLE_SEED = 2_000_003
#: Candidate sizes: in large mixtures one component more or less makes no difference.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


class Component(Protocol):
    """The structure of a component: a tree, or the order of a chain."""

    def graph(self) -> LabelGraph:
        """Return which labels each label depends on."""


class ComponentLearner(Protocol):
    """Learns the structures of components from a set of rows."""

    @property
    def X(self) -> Any:
        """Features, (n, D)."""

    @property
    def labels(self) -> Labels:
        """Labels, (n, L)."""

    @property
    def sample_weight(self) -> Floats | None:
        """Weight of each row, or None if all are equal."""

    @property
    def seed(self) -> int:
        """Seed of the folds."""

    @property
    def n_threads(self) -> int:
        """Number of threads."""

    def component(
        self, penalties: PenaltyChoice, row_weight: Floats | None, index: int, tolerance: float
    ) -> Any:
        """Return the best structure of component `index` for rows weighted by `row_weight`.

        Candidates are weighed with errors up to `tolerance`, as a share of their weights.
        """

    def restricted(self, rows: Positions) -> Self:
        """Return the learner for a subset of the rows."""

    def for_comparison(self) -> Self:
        """Return a cheaper learner, of components that are compared and not kept."""


Kind = TypeVar("Kind", bound=Component)


@dataclass(frozen=True)
class MixtureSettings:
    """How mixtures are fitted and their size is selected.

    Attributes
    ----------
    linear_gate : bool
        Whether the mixing weights depend on x.
    equal : bool
        Whether every component is refitted with the same total weight, or with its share; see `EM`.
    prior_weight : float
        Additional weight of every row in every component.
    n_splits : int
        Maximum number of held-out parts by which sizes are compared.
    patience : int
        Selection stops after this many consecutive sizes that are worse than the best.
    """

    linear_gate: bool
    equal: bool
    prior_weight: float
    n_splits: int
    patience: int


@dataclass(frozen=True)
class FittedMixture(Generic[Kind]):
    """A mixture after EM: the structures of its components, its parameters, and the objective.

    Attributes
    ----------
    components : list
    mixture : Mixture
    objectives : list of float
        Penalised log-likelihood before each iteration of EM and at the end.
    """

    components: list[Kind]
    mixture: Mixture
    objectives: list[float]


class _Start(NamedTuple, Generic[Kind]):
    """Where EM starts: the rows of each cluster, as packed bits, and what was fitted to them."""

    rows: list[bytes]
    components: list[Kind]
    mixture: Mixture


@dataclass(frozen=True)
class MixtureLearner(Generic[Kind]):
    """Fits mixtures to the rows of a component learner.

    Attributes
    ----------
    learner : ComponentLearner
    penalties : PenaltyChoice
        Of the components; the gate's weights have the features' penalty.
    settings : MixtureSettings
    compared : bool
        Whether mixtures are only compared, and may be rough.
    """

    learner: ComponentLearner
    penalties: PenaltyChoice
    settings: MixtureSettings
    compared: bool = False

    @property
    def weight(self) -> Floats:
        """Weight of every row."""
        given = self.learner.sample_weight
        return np.ones(len(self.learner.labels)) if given is None else given

    def em(self, tolerances: Tolerances = EXACT) -> EM:
        """Return EM on these rows."""
        rows, settings = self.learner, self.settings
        return EM(
            X=rows.X,
            labels=rows.labels,
            weight=self.weight,
            penalties=self.penalties,
            linear_gate=settings.linear_gate,
            n_threads=rows.n_threads,
            equal=settings.equal,
            prior_weight=settings.prior_weight,
            tolerances=tolerances,
        )

    def fit(self, n_components: int) -> FittedMixture[Kind]:
        """Fit a mixture of `n_components`, or of as many as there are distinct label vectors."""
        # A single component is a model like any other.
        em = self.em(EXACT if n_components == 1 or self.settings.equal else CLOSE)
        if self.settings.linear_gate:
            return self._from_clusters(em, n_components)[1]
        *_, fitted = self._one_by_one(em, n_components)
        return fitted

    def refit(self, fitted: FittedMixture[Kind]) -> FittedMixture[Kind]:
        """Fit the parameters of the same components to these rows."""
        em = self.em()
        log_joint = em.log_joint(fitted.mixture)
        responsibilities = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
        mixture = em.start(fitted.mixture.parents, responsibilities)
        return FittedMixture(fitted.components, *em.run(mixture, 2 * self._n_iterations()))

    def candidates(self, max_components: int) -> Iterator[tuple[EM, FittedMixture[Kind]]]:
        """Yield mixtures of increasing size, to be compared."""
        # What may be kept has to be exact; for a comparison rough mixtures will do.
        kept = self.settings.n_splits == 1
        learner = self if kept else self._for_comparison()
        em = learner.em(EXACT if kept else ROUGH)
        if not self.settings.linear_gate:
            for fitted in learner._one_by_one(em, max_components):
                yield em, fitted
            return
        last, start = 0, None
        for size in (size for size in SIZES if size <= max_components):
            start, fitted = learner._from_clusters(em, size, None if kept else start)
            if fitted.mixture.n_components == last:  # there are no more clusters
                return
            last = fitted.mixture.n_components
            yield em, fitted

    def _for_comparison(self) -> Self:
        return replace(self, learner=self.learner.for_comparison(), compared=True)

    def _from_clusters(
        self, em: EM, n_components: int, smaller: _Start[Kind] | None = None
    ) -> tuple[_Start[Kind], FittedMixture[Kind]]:
        """Start every component from a cluster of similar label vectors.

        Clusters that were there in a smaller mixture keep their structures, and are refitted from
        the parameters they had.
        """
        cluster, n_clusters = cluster_label_vectors(em.labels, em.weight, n_components)
        shares = initial_responsibilities(cluster, n_clusters)
        rows = [np.packbits(cluster == k).tobytes() for k in range(n_clusters)]
        before = {} if smaller is None else {key: k for k, key in enumerate(smaller.rows)}
        components: list[Kind] = []
        for k in steps("learning components", list(range(n_clusters))):
            if smaller is not None and rows[k] in before:
                components.append(smaller.components[before[rows[k]]])
            else:
                components.append(self._component(em, shares[:, k] if n_clusters > 1 else None, k))
        mixture = em.zero(_parents(components), shares)
        if smaller is not None:
            mixture = mixture.replaced(smaller.mixture, [before.get(key, -1) for key in rows])
        mixture = em.refit(mixture, shares)
        fitted = FittedMixture(components, *em.run(mixture, self._n_iterations()))
        return _Start(rows, components, mixture), fitted

    def _one_by_one(self, em: EM, max_components: int) -> Iterator[FittedMixture[Kind]]:
        """Add components one at a time, each for the rows that the others explain badly."""
        components = [self._component(em, None, 0)]
        shares = np.ones((len(em.labels), 1))
        while True:
            mixture = em.start(_parents(components), shares)
            fitted = FittedMixture(list(components), *em.run(mixture, self._n_iterations()))
            yield fitted
            if len(components) == max_components:
                return
            log_joint = em.log_joint(fitted.mixture)
            evidence = logsumexp(log_joint, axis=1)
            unexplained = -np.expm1(np.minimum(evidence, 0.0))
            mean = float(em.weight @ unexplained / em.weight.sum())
            if not mean > 0:  # every row has probability one already
                return
            components.append(self._component(em, unexplained / mean, len(components)))
            # The new component starts with an equal share, most of it where the others fail.
            new = np.minimum(unexplained / mean / len(components), 0.9)[:, None]
            shares = np.hstack([np.exp(log_joint - evidence[:, None]) * (1.0 - new), new])

    def _component(self, em: EM, row_weight: Floats | None, index: int) -> Kind:
        """Learn the structure of a component; if it need not be exact, from a sample of the rows.

        A row of small weight stands for others like it, with their weight: it is kept with
        probability w/t and then has weight t, so that sums over rows keep their expectations.
        """
        learner, weight = self.learner, row_weight
        if row_weight is not None and len(row_weight) > _FEW_ROWS and em.tolerances != EXACT:
            least = _FULL_WEIGHT * row_weight.max()
            rows = np.flatnonzero(self._uniforms * least < row_weight)
            learner, weight = learner.restricted(rows), np.maximum(row_weight[rows], least)
        component: Kind = learner.component(self.penalties, weight, index, em.tolerances.edges)
        return component

    @cached_property
    def _uniforms(self) -> Floats:
        return row_uniforms(self.learner.X, self.learner.seed + _SAMPLE_SEED)

    def _n_iterations(self) -> int:
        """Return the number of iterations of EM for each number of components."""
        if self.settings.equal:
            return _N_PLAIN
        return _N_COMPARED if self.compared else _N_LENGTHENED


def _parents(components: Sequence[Component]) -> Mask:
    """Stack the parent masks of all components, (K, L, L)."""
    return np.stack([np.asarray(component.graph()) for component in components])
