"""Choose the number of components of a mixture by held-out log-likelihood.

Mixtures of increasing size are fitted to part of the rows and compared on the rest, until the
held-out log-likelihood has stopped rising. If a single split decides, its components are kept, as
published, and their parameters refitted to all rows; several splits have different components, so
those of the chosen size are learned anew from all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Positions
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds
from labelweave.models.mixtures.em import EM
from labelweave.models.mixtures.mixture_learner import FittedMixture, Kind, MixtureLearner

# Rows are split into this many parts, held out one at a time; with several splits, until rows of
# this total weight have been held out.
_N_PARTS = 5
_ENOUGH_HELD_OUT = 300
# Keeps these splits independent of the folds that weigh edges and choose penalties.
_SPLIT_SEED = 1_000_003


@dataclass(frozen=True)
class SelectionStep:
    """How well mixtures of one size did, over all splits together.

    Attributes
    ----------
    n_components : int
    train : float
        Mean log-likelihood of the rows that were fitted.
    validation : float
        Mean log-likelihood of the rows that were held out; NaN if there were none.
    objectives : list of list of float
        Penalised log-likelihood before each iteration of EM and at the end, one list per split.
    """

    n_components: int
    train: float
    validation: float = float("nan")
    objectives: list[list[float]] = field(default_factory=list)


def select_components(
    learner: MixtureLearner[Kind], max_components: int
) -> tuple[FittedMixture[Kind], list[SelectionStep]]:
    """Return the mixture of the size with the best held-out log-likelihood, and all steps."""
    splits = list(selection_splits(learner))
    steps: list[SelectionStep] = []
    best, kept = 0, None
    with stage("choosing the number of components") as advance:
        for fitted in zip(*(part.candidates(max_components) for part, _ in splits), strict=False):
            steps.append(_selection_step(learner, splits, fitted))
            advance()
            if kept is None or steps[-1].validation > steps[best].validation:
                best, kept = len(steps) - 1, fitted[0][1]
            if len(steps) - 1 - best == learner.settings.patience:
                break
    if kept is None:  # all rows are equal: nothing can be held out
        return learner.fit(1), steps
    if learner.settings.n_splits == 1:
        return learner.refit(kept), steps
    return learner.fit(steps[best].n_components), steps


def selection_splits(
    learner: MixtureLearner[Kind],
) -> Iterator[tuple[MixtureLearner[Kind], Positions]]:
    """Yield, for each split, the learner on its training rows and the rows held out."""
    rows, weight = learner.learner, learner.weight
    fold, n_folds = assign_folds(rows.X, weight, _N_PARTS, rows.seed + _SPLIT_SEED)
    if n_folds < 2:
        return
    wanted = int(np.ceil(_ENOUGH_HELD_OUT * n_folds / weight.sum()))
    for split in range(min(max(1, wanted), learner.settings.n_splits, n_folds)):
        inside = rows.restricted(np.flatnonzero(fold != split))
        yield replace(learner, learner=inside), np.flatnonzero(fold == split)


def _selection_step(
    learner: MixtureLearner[Kind],
    splits: list[tuple[MixtureLearner[Kind], Positions]],
    fitted: tuple[tuple[EM, FittedMixture[Kind]], ...],
) -> SelectionStep:
    rows, weight = learner.learner, learner.weight
    sums = np.zeros((2, 2))  # log-likelihood and weight of the rows fitted and held out
    for (_, outside), (em, part) in zip(splits, fitted, strict=True):
        inside = logsumexp(em.log_joint(part.mixture), axis=1)
        held_out = em.log_joint(part.mixture, rows.X[outside], rows.labels[outside])
        sums[0] += em.weight @ inside, em.weight.sum()
        sums[1] += weight[outside] @ logsumexp(held_out, axis=1), weight[outside].sum()
    train, validation = sums[:, 0] / sums[:, 1]
    return SelectionStep(
        n_components=max(part.mixture.n_components for _, part in fitted),
        train=float(train),
        validation=float(validation),
        objectives=[part.objectives for _, part in fitted],
    )
