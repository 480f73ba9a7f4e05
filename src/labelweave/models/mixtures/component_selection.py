"""Choose the number of components of a mixture, and its penalty, by held-out log-likelihood.

Mixtures of increasing size are fitted to part of the rows and compared on the rest, until the
held-out log-likelihood has stopped rising or has clearly fallen. If a single split decides, its
components are kept, as published, and their parameters refitted to all rows; several splits have
different components, so those of the chosen size are learned anew from all rows. The penalty can
be chosen by the same held-out rows: sizes are then compared at each of several penalties.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Positions
from labelweave._common.paired_gain import in_standard_errors
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds
from labelweave.logistic.loss_curve import Axis, LossCurve
from labelweave.models.mixtures.em import EM
from labelweave.models.mixtures.mixture_learner import FittedMixture, Kind, MixtureLearner

# Rows are split into this many parts, held out one at a time; with several splits, until rows of
# this total weight have been held out.
_N_PARTS = 5
_ENOUGH_HELD_OUT = 300
# Keeps these splits independent of the folds that weigh edges and choose penalties.
_SPLIT_SEED = 1_000_003
# A size that is worse than the best by more than this many standard errors, over the rows held out,
# ends the comparison at once. One is not enough: it kept two components on two of seven folds of
# scene where more are better by 0.1 nats per row (and on one of six of cal500, by 0.04).
_CLEARLY_WORSE = 3.0
# Half decades of C: the mixture's penalty is followed from that of a single component.
# Few rows are held out several times, since their likelihoods are too noisy to tell C from C.
_C_AXIS, _PENALTY_SPLITS = Axis(step=0.5, low=-4.0, high=3.0), 3


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


@dataclass(frozen=True)
class Selection(Generic[Kind]):
    """The sizes that were compared at one penalty, and the best of them.

    Attributes
    ----------
    learner : MixtureLearner
    steps : list of SelectionStep
    best : int
        The place of the best size in `steps`.
    kept : FittedMixture
        The mixture of that size, fitted to the rows of the first split.
    """

    learner: MixtureLearner[Kind]
    steps: list[SelectionStep]
    best: int
    kept: FittedMixture[Kind]

    @property
    def validation(self) -> float:
        """Mean log-likelihood of the rows held out, at the best size."""
        return self.steps[self.best].validation

    def fit(self) -> FittedMixture[Kind]:
        """Fit a mixture of the best size to all rows."""
        if self.learner.settings.n_splits == 1:
            return self.learner.refit(self.kept)
        return self.learner.fit(self.steps[self.best].n_components)


def compare_sizes(
    learner: MixtureLearner[Kind], max_components: int, size: int | None = None
) -> Selection[Kind] | None:
    """Compare mixtures of up to `max_components`, or only that of a given `size`.

    Returns None if all rows are equal, so that nothing can be held out.
    """
    splits = list(selection_splits(learner))
    steps: list[SelectionStep] = []
    best, kept, weight = 0, None, _held_out_weight(learner, splits)
    candidates = (_candidates(part, max_components, size) for part, _ in splits)
    with stage("choosing the number of components") as advance:
        for fitted in zip(*candidates, strict=False):
            rows = _held_out_rows(learner, splits, fitted)
            steps.append(_selection_step(fitted, float(weight @ rows / weight.sum())))
            advance()
            if kept is None or steps[-1].validation > steps[best].validation:
                best, kept, best_rows = len(steps) - 1, fitted[0][1], rows
            worse_by = in_standard_errors(best_rows - rows, weight)
            if len(steps) - 1 - best == learner.settings.patience or worse_by > _CLEARLY_WORSE:
                break
    return None if kept is None else Selection(learner, steps, best, kept)


def best_penalty(learner: MixtureLearner[Kind], max_components: int, size: int | None) -> float:
    """Return the C of the highest held-out log-likelihood, following it from the learner's own.

    At every C mixtures of up to `max_components` are compared, or only that of a given `size`.
    """
    settings = replace(learner.settings, n_splits=_PENALTY_SPLITS)

    def losses(powers: Floats) -> Floats:
        found = []
        for power in powers.tolist():
            penalties = replace(learner.penalties, C=10.0**power)
            at_power = replace(learner, penalties=penalties, settings=settings)
            selection = compare_sizes(at_power, max_components, size)
            found.append(np.inf if selection is None else -selection.validation)
        return np.array([found])

    curve = LossCurve.follow(_C_AXIS, float(np.log10(learner.penalties.C)), losses)
    return float(10.0 ** curve.powers[curve.best()])


def _candidates(
    part: MixtureLearner[Kind], max_components: int, size: int | None
) -> Iterable[tuple[EM, FittedMixture[Kind]]]:
    return part.candidates(max_components) if size is None else [(part.em(), part.fit(size))]


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


def _held_out_weight(
    learner: MixtureLearner[Kind], splits: list[tuple[MixtureLearner[Kind], Positions]]
) -> Floats:
    """Return the weight of the rows held out, one split after the other."""
    return np.concatenate([learner.weight[outside] for _, outside in splits] or [np.zeros(0)])


def _held_out_rows(
    learner: MixtureLearner[Kind],
    splits: list[tuple[MixtureLearner[Kind], Positions]],
    fitted: tuple[tuple[EM, FittedMixture[Kind]], ...],
) -> Floats:
    """Return the log-likelihood of every row held out, one split after the other."""
    X, labels = learner.learner.X, learner.learner.labels
    return np.concatenate(
        [
            logsumexp(em.log_joint(part.mixture, X[outside], labels[outside]), axis=1)
            for (_, outside), (em, part) in zip(splits, fitted, strict=True)
        ]
    )


def _selection_step(
    fitted: tuple[tuple[EM, FittedMixture[Kind]], ...], validation: float
) -> SelectionStep:
    log_likelihood, total = 0.0, 0.0
    for em, part in fitted:
        log_likelihood += float(em.weight @ logsumexp(em.log_joint(part.mixture), axis=1))
        total += float(em.weight.sum())
    return SelectionStep(
        n_components=max(part.mixture.n_components for _, part in fitted),
        train=float(log_likelihood / total),
        validation=validation,
        objectives=[part.objectives for _, part in fitted],
    )
