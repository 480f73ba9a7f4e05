"""Where the components of a mixture start, and how many there should be (math.md, section 3.4).

If the mixing weights depend on x, label vectors are clustered into as many groups as there are
components, and each component starts from a cluster. If they are constant, components are added one
at a time, as published, each learned from rows weighted by 1 - P(y|x) under the mixture so far.

Mixtures of increasing size are fitted to part of the rows and compared by the log-likelihood of the
rest. If a single split decides, its components are kept, as published, and their parameters
refitted to all rows; several splits have different components, so those of the chosen size are
learned anew. To choose the penalty, sizes are compared at each of several penalties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.folds import assign_folds
from labelweave._common.progress import stage, steps
from labelweave.logistic.penalties import Axis, LossCurve, PenaltyChoice
from labelweave.models.conditionals import LabelStructure, StructureLearner
from labelweave.models.em import CLOSE, EM, EXACT, ROUGH, Mixture, MixtureSettings, Tolerances

# Distinct label vectors that may become the first centre of a cluster: those of largest weight.
_CANDIDATES = 300
_ITERATIONS = 100


def cluster_label_vectors(labels: Labels, weight: Floats, n_clusters: int) -> tuple[Positions, int]:
    """Return the cluster of each row by its label vector, and the number of clusters (k-means).

    The first cluster has the largest weight; there are at most as many as distinct vectors.
    The result depends neither on the order of the rows nor on whether they are repeated or
    weighted.
    """
    vectors, member = np.unique(labels, axis=0, return_inverse=True)
    member = member.ravel()
    mass: Floats = np.bincount(member, weights=weight).astype(np.float64)
    points = vectors.astype(np.float64)
    cluster = _lloyd(points, mass, _greedy_centres(points, mass, min(n_clusters, len(points))))
    sizes = np.bincount(cluster, weights=mass)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    rank = np.zeros(len(sizes), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[cluster][member], len(order)


def initial_responsibilities(cluster: Positions, n_clusters: int) -> Floats:
    """Assign every row mostly to the component of its cluster, and a little to all others."""
    # A component with no share in the other clusters could never take over one of their rows.
    shares = np.full((len(cluster), n_clusters), 0.2 / n_clusters)
    shares[np.arange(len(cluster)), cluster] += 0.8
    return shares


def _greedy_centres(points: Floats, mass: Floats, n_centres: int) -> Floats:
    """Choose centres one at a time, each the one that most reduces the weighted distances."""
    candidates = points[np.argsort(-mass, kind="stable")[:_CANDIDATES]]
    distance = _squared_distances(points, candidates)
    nearest = np.full(len(points), np.inf)
    chosen: list[int] = []
    for _ in range(min(n_centres, len(candidates))):
        potential = mass @ np.minimum(nearest[:, None], distance)
        potential[chosen] = np.inf
        chosen.append(int(potential.argmin()))
        nearest = np.minimum(nearest, distance[:, chosen[-1]])
    return candidates[chosen]


def _lloyd(points: Floats, mass: Floats, centres: Floats) -> Positions:
    cluster: Positions = _squared_distances(points, centres).argmin(axis=1)
    for _ in range(_ITERATIONS):
        inside = (cluster == np.arange(len(centres))[:, None]) * mass
        total = inside.sum(axis=1, keepdims=True)
        # The centre of an empty cluster stays where it was.
        centres = np.where(total > 0, inside @ points / np.where(total > 0, total, 1.0), centres)
        before, cluster = cluster, _squared_distances(points, centres).argmin(axis=1)
        if np.array_equal(before, cluster):
            break
    return cluster


def _squared_distances(points: Floats, centres: Floats) -> Floats:
    """Squared Euclidean distances, (U, K); between 0/1 vectors they are exact integers."""
    cross = points @ centres.T
    distances: Floats = (points**2).sum(axis=1)[:, None] - 2.0 * cross + (centres**2).sum(axis=1)
    return distances


# If there are more rows than the second number, a structure is learned from the rows of at least
# this share of the largest weight and from a sample of the others.
_FULL_WEIGHT, _FEW_ROWS = 0.25, 1000
#: Candidate sizes: in large mixtures one component more or less makes no difference.
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


@dataclass(frozen=True)
class FittedMixture:
    """A mixture after EM, and its penalised log-likelihood before each iteration and at the end."""

    components: list[Any]  # each a LabelStructure
    mixture: Mixture
    objectives: list[float]


class _Start(NamedTuple):
    """Where EM starts: the rows of each cluster, as packed bits, and the fits to them."""

    rows: list[bytes]
    components: list[LabelStructure]
    mixture: Mixture


def started_from_clusters(
    em: EM, learner: StructureLearner, n_components: int, smaller: _Start | None = None
) -> tuple[_Start, FittedMixture]:
    """Fit a mixture whose components start from clusters of similar label vectors.

    Clusters of a `smaller` mixture keep their structures, and are refitted from its parameters.
    """
    cluster, n_clusters = cluster_label_vectors(em.rows.labels, em.rows.weight, n_components)
    shares = initial_responsibilities(cluster, n_clusters)
    rows = [np.packbits(cluster == k).tobytes() for k in range(n_clusters)]
    before = {} if smaller is None else {key: k for k, key in enumerate(smaller.rows)}
    components: list[LabelStructure] = []
    for k in steps("learning components", list(range(n_clusters))):
        if smaller is not None and rows[k] in before:
            components.append(smaller.components[before[rows[k]]])
        else:
            row_weight = shares[:, k] if n_clusters > 1 else None
            components.append(learned_structure(em, learner, row_weight, k))
    mixture = em.zero(_parents(components), shares)
    if smaller is not None:
        mixture = mixture.replaced(smaller.mixture, [before.get(key, -1) for key in rows])
    mixture = em.refit(mixture, shares)
    fitted = FittedMixture(components, *em.run(mixture, em.n_iterations))
    return _Start(rows, components, mixture), fitted


def started_one_by_one(em: EM, learner: StructureLearner, most: int) -> Iterator[FittedMixture]:
    """Yield mixtures that grow by a component, each for the rows that the others explain badly."""
    components = [learned_structure(em, learner, None, 0)]
    shares = np.ones((len(em.rows.labels), 1))
    while True:
        mixture = em.start(_parents(components), shares)
        fitted = FittedMixture(list(components), *em.run(mixture, em.n_iterations))
        yield fitted
        if len(components) == most:
            return
        log_joint = fitted.mixture.log_joint(em.rows)
        evidence = logsumexp(log_joint, axis=1)
        unexplained = -np.expm1(np.minimum(evidence, 0.0))
        mean = float(em.rows.weight @ unexplained / em.rows.weight.sum())
        if not mean > 0:  # every row has probability one already
            return
        components.append(learned_structure(em, learner, unexplained / mean, len(components)))
        # The new component starts with an equal share, most of it where the others fail.
        new = np.minimum(unexplained / mean / len(components), 0.9)[:, None]
        shares = np.hstack([np.exp(log_joint - evidence[:, None]) * (1.0 - new), new])


def learned_structure(
    em: EM, learner: StructureLearner, row_weight: Floats | None, index: int
) -> LabelStructure:
    """Learn the structure of a component; if it need not be exact, from a sample of the rows.

    A row of small weight stands for others like it, with their weight: it is kept with probability
    w/t and then has weight t, so that sums over rows keep their expectations.
    """
    weight = row_weight
    if row_weight is not None and len(row_weight) > _FEW_ROWS and em.tolerances != EXACT:
        least = _FULL_WEIGHT * row_weight.max()
        rows = np.flatnonzero(em.uniforms * least < row_weight)
        learner, weight = learner.restricted(rows), np.maximum(row_weight[rows], least)
    return learner.learn(em.penalties, weight, index, em.tolerances.edges)


def _parents(components: Sequence[LabelStructure]) -> Mask:
    """Stack the parent masks of all components, (K, L, L)."""
    return np.stack([np.asarray(component.graph()) for component in components])


@dataclass(frozen=True)
class MixtureLearner:
    """Fits mixtures of any size."""

    structures: StructureLearner
    penalties: PenaltyChoice
    settings: MixtureSettings

    def em(self, tolerances: Tolerances = EXACT) -> EM:
        return EM(self.structures.rows, self.penalties, self.settings, tolerances)

    def fit(self, n_components: int) -> FittedMixture:
        """Fit a mixture of `n_components`, or of as many as there are distinct label vectors."""
        # A single component is fitted as exactly as any other single model.
        em = self.em(EXACT if n_components == 1 or self.settings.weighting == "equal" else CLOSE)
        if self.settings.gate == "linear":
            return started_from_clusters(em, self.structures, n_components)[1]
        *_, fitted = started_one_by_one(em, self.structures, n_components)
        return fitted

    def refit(self, fitted: FittedMixture) -> FittedMixture:
        """Fit the parameters of the same components to these rows."""
        em = self.em()
        log_joint = fitted.mixture.log_joint(em.rows)
        responsibilities = np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True))
        mixture = em.start(fitted.mixture.parents, responsibilities)
        return FittedMixture(fitted.components, *em.run(mixture, 2 * em.n_iterations))

    def candidates(self) -> Iterator[tuple[EM, FittedMixture]]:
        """Yield mixtures of increasing size, to be compared."""
        # A mixture that may be kept has to be exact; for a comparison a rough one will do.
        kept = self.settings.cv == 1
        structures = self.structures if kept else self.structures.for_comparison()
        em, most = self.em(EXACT if kept else ROUGH), self.settings.max_components
        if self.settings.gate == "constant":
            for fitted in started_one_by_one(em, structures, most):
                yield em, fitted
            return
        last, start = 0, None
        for size in (size for size in SIZES if size <= most):
            start, fitted = started_from_clusters(em, structures, size, None if kept else start)
            if fitted.mixture.n_components == last:  # there are no more clusters
                return
            last = fitted.mixture.n_components
            yield em, fitted


# Rows are split into this many parts, held out one at a time; with several splits, until rows of
# this total weight have been held out.
_N_PARTS = 5
_ENOUGH_HELD_OUT = 300
# Keeps these splits independent of the folds that weigh edges and choose penalties.
_SPLIT_SEED = 1_000_003
# A size that is worse than the best by more than this many standard errors ends the comparison at
# once. One is not enough: it kept two components on two of seven folds of scene where more are
# better by 0.1 nats per row (and on one of six of cal500, by 0.04).
_CLEARLY_WORSE = 3.0
# Steps of C, in half decades: the search begins with the penalty of a single component. Few rows
# are held out several times, since their likelihoods are too noisy to compare penalties.
_C_AXIS, _PENALTY_SPLITS = Axis(step=0.5, low=-4.0, high=3.0), 3


@dataclass(frozen=True)
class SelectionStep:
    """How well mixtures of one size did, over all splits together.

    `train` and `validation` are the mean log-likelihoods of the rows fitted and held out. For each
    split, `objectives` are the penalised log-likelihoods before each iteration and at the end.
    """

    n_components: int
    train: float
    validation: float
    objectives: list[list[float]]


@dataclass(frozen=True)
class Selection:
    """The sizes that were compared at one penalty, and the best of them."""

    learner: MixtureLearner
    steps: list[SelectionStep]
    best: SelectionStep
    kept: FittedMixture  # of the best size, fitted to the rows of the first split

    def fit(self) -> FittedMixture:
        """Fit a mixture of the best size to all rows."""
        if self.learner.settings.cv == 1:
            return self.learner.refit(self.kept)
        return self.learner.fit(self.best.n_components)


def compare_sizes(learner: MixtureLearner, size: int | None = None) -> Selection | None:
    """Compare mixtures of increasing size, or try only the given `size`.

    Returns None if all rows are equal, so that nothing can be held out.
    """
    splits = list(selection_splits(learner))
    outside = [held_out for _, held_out in splits]
    compared: list[SelectionStep] = []
    best, kept = 0, None
    candidates = (
        part.candidates() if size is None else [(part.em(), part.fit(size))] for part, _ in splits
    )
    with stage("choosing the number of components") as advance:
        for fitted in zip(*candidates, strict=False):
            weight = learner.structures.rows.weight[np.concatenate(outside)]
            rows = _held_out_rows(learner, outside, fitted)
            compared.append(_selection_step(fitted, float(weight @ rows / weight.sum())))
            advance()
            if kept is None or compared[-1].validation > compared[best].validation:
                best, kept, best_rows = len(compared) - 1, fitted[0][1], rows
            worse_by = in_standard_errors(best_rows - rows, weight)
            if len(compared) - 1 - best == learner.settings.patience or worse_by > _CLEARLY_WORSE:
                break
    return None if kept is None else Selection(learner, compared, compared[best], kept)


def best_penalty(learner: MixtureLearner, size: int | None) -> float:
    """Return the C of the highest held-out log-likelihood, searched from the learner's own C."""
    settings = replace(learner.settings, cv=_PENALTY_SPLITS)

    def losses(powers: Floats) -> Floats:
        found = []
        for power in powers.tolist():
            penalties = replace(learner.penalties, C=10.0**power)
            at_power = replace(learner, penalties=penalties, settings=settings)
            selection = compare_sizes(at_power, size)
            found.append(np.inf if selection is None else -selection.best.validation)
        return np.array([found])

    curve = LossCurve.follow(_C_AXIS, float(np.log10(learner.penalties.C)), losses)
    return float(10.0 ** curve.powers[curve.best()])


def selection_splits(learner: MixtureLearner) -> Iterator[tuple[MixtureLearner, Positions]]:
    """Yield, for each split, the learner on its training rows and the rows held out."""
    rows, weight = learner.structures.rows, learner.structures.rows.weight
    fold, n_folds = assign_folds(rows.X, weight, _N_PARTS, rows.seed + _SPLIT_SEED)
    if n_folds < 2:
        return
    wanted = int(np.ceil(_ENOUGH_HELD_OUT * n_folds / weight.sum()))
    for split in range(min(max(1, wanted), learner.settings.cv, n_folds)):
        inside = learner.structures.restricted(np.flatnonzero(fold != split))
        yield replace(learner, structures=inside), np.flatnonzero(fold == split)


def _held_out_rows(
    learner: MixtureLearner, outside: list[Positions], fitted: tuple[tuple[EM, FittedMixture], ...]
) -> Floats:
    """Return the log-likelihood of every row held out, one split after the other."""
    rows = learner.structures.rows
    log_joint = [
        part.mixture.log_joint(rows.restricted(held_out))
        for held_out, (_, part) in zip(outside, fitted, strict=True)
    ]
    return np.concatenate([logsumexp(each, axis=1) for each in log_joint])


def _selection_step(
    fitted: tuple[tuple[EM, FittedMixture], ...], validation: float
) -> SelectionStep:
    log_likelihood, total = 0.0, 0.0
    for em, part in fitted:
        log_likelihood += float(em.rows.weight @ logsumexp(part.mixture.log_joint(em.rows), axis=1))
        total += float(em.rows.weight.sum())
    return SelectionStep(
        n_components=max(part.mixture.n_components for _, part in fitted),
        train=float(log_likelihood / total),
        validation=validation,
        objectives=[part.objectives for _, part in fitted],
    )


def in_standard_errors(gain: Floats, weight: Floats) -> float:
    """Return the mean of a gain over weighted rows, in standard errors; 0 if all gain the same."""
    total = weight.sum()
    mean = weight @ gain / total
    error = np.sqrt(weight @ (gain - mean) ** 2) / total
    return float(mean / error) if error > 0 else 0.0
