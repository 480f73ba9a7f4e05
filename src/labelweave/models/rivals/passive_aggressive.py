"""PassiveAggressive.

Weights of passive-aggressive learners, feature-major, and their updates.

The array has one row per feature and a last one for the intercepts, and one column per label,
padded to a multiple of eight for the vector registers.

A sliding window over a stream: the last rows, with their scores before they were learned.

Passive-aggressive learning: every row makes the smallest change that gets it right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice
from labelweave._common.folds import presentation_order
from labelweave._common.matrices import native_matrix
from labelweave._common.row_keys import merge_equal_rows
from labelweave._core import native
from labelweave.decision.rules import ThresholdRule
from labelweave.models.rivals.margins import (
    LinearScorer,
    ScoredFolds,
    ThresholdClassifier,
    best_held_out,
    mean_square,
    tuned_rule,
)
from labelweave.models.rivals.svm import train_svms

_LANES = 8


def no_weights(n_features: int, n_labels: int) -> Floats:
    """Return zero weights, (D + 1, L rounded up)."""
    return np.zeros((n_features + 1, -(-n_labels // _LANES) * _LANES))


def scorer_of(weights: Floats, n_labels: int) -> LinearScorer:
    """Return the decision function of these weights."""
    coef = np.ascontiguousarray(weights[:-1, :n_labels].T)
    return LinearScorer(coef, weights[-1, :n_labels].copy())


def learn(
    weights: Floats,
    X: Any,
    labels: Labels,
    limits: Floats,
    order: Indices,
    *,
    intercept: bool,
    n_threads: int,
    scores: Floats | None = None,
) -> None:
    """Update the weights by rows in turn, in place."""
    native.passive_aggressive(
        native_matrix(X), labels, limits, order, intercept, weights, scores, n_threads
    )


@dataclass(frozen=True)
class Window:
    """Scores, labels and weights of the last rows.

    Attributes
    ----------
    scores, labels : (n, L) arrays
    weight : (n,) array
    """

    scores: Floats
    labels: Labels
    weight: Floats

    @classmethod
    def empty(cls, n_labels: int) -> Self:
        """Return a window without rows."""
        return cls(np.zeros((0, n_labels)), np.zeros((0, n_labels), dtype=np.int8), np.zeros(0))

    def extended(self, scores: Floats, labels: Labels, weight: Floats, most: int) -> Self:
        """Return a window with these rows appended, but no more than the last `most`."""
        return type(self)(
            np.concatenate([self.scores, scores])[-most:].copy(),
            np.concatenate([self.labels, labels])[-most:].copy(),
            np.concatenate([self.weight, weight])[-most:].copy(),
        )


# Rows that the kernel learns between two looks at Ctrl-C.
_UNINTERRUPTED = 64


class PassiveAggressive(ThresholdClassifier):
    """One passive-aggressive classifier per label (PA-I; Crammer et al., 2006), all in one pass.

    Each row moves the weights of the labels that it does not yet get right by a margin of 1: as
    little as is enough, and never further than C allows. Thresholds are tuned on held-out rows,
    scored by the same learner (PA_OnlineCV) or by batch SVMs (PA_BatchCV). `partial_fit` learns
    from a stream; thresholds are then tuned on its last rows, each scored before it was learned
    from. There are no probabilities, only `predict` and `decision_function`.

    Parameters
    ----------
    C : float, "scale" or "cv", default="cv"
        The longest step; "scale" is one over the mean square of a row, "cv" chooses from 0.1 to 10
        times that by the macro F1 of held-out rows. If learning begins with `partial_fit`, there is
        nothing to choose by, and both stand for 1, which suits rows of unit length.
    decision : {"macro_f1", "micro_f1", "cmn", ...} or ThresholdRule, default="macro_f1"
        "macro_f1" tunes one threshold per label on held-out rows (see `ThresholdedSVM`),
        "micro_f1" one for all labels. "cmn" predicts each label on the share of rows that had it in
        training, "lcard" as many labels a row, on average, as in training, "fixed" cuts at 0.
    tuned_with : {"online", "batch"}, default="online"
        What scores the rows that thresholds are tuned on: this learner, or linear SVMs trained on
        all rows but those held out.
    n_folds : int, default=5
        Number of folds of the training rows that are held out in turn.
    window : int, default=2000
        The last rows of a stream whose scores, as they were before the rows were learned from,
        tune the thresholds after `partial_fit`.
    fit_intercept : bool, default=True
        Whether there is a feature that is always 1.
    passes : int, default=1
        How often `fit` goes through the rows.
    tol : float, default=1e-4
        Where the SVMs of "batch" stop.
    shuffle : bool, default=True
        Whether `fit` takes them in random order: one that depends on their content and
        `random_state`, not on the order they come in.
    n_jobs : int, optional
        Threads that share the labels (processes for the SVMs of "batch"); -1 uses all cores.
        Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the folds. None counts as 0.
    verbose : int, default=0
        If positive, print what `fit` chose.

    Attributes
    ----------
    coef_ : (L, D) array
        Weights.
    intercept_ : (L,) array
        Before the thresholds are subtracted.
    thresholds_ : (L,) array
        If `decision` tunes them.
    C_, fbr_ : float
        The values used, given or chosen.
    seed_ : int
        What was drawn from `random_state`.

    Notes
    -----
    A row of weight k may move the weights k times as far: it is the row k times in a row.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from labelweave import PassiveAggressive
    >>> from labelweave import load
    >>> data = load("emotions")
    >>> X = scale(data.X)
    >>> model = PassiveAggressive().fit(X[:400], data.Y[:400])
    >>> model.predict(X[400:402])
    array([[0, 1, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])

    The same as a stream; batches of any size give the same model:

    >>> stream = PassiveAggressive(C=0.001)
    >>> for first in range(0, 400, 50):
    ...     batch = slice(first, first + 50)
    ...     stream = stream.partial_fit(X[batch], data.Y[batch])
    >>> stream.thresholds_.shape
    (6,)
    """

    def __init__(
        self,
        *,
        C: float | str = "cv",
        decision: str | ThresholdRule = "macro_f1",
        tuned_with: str = "online",
        n_folds: int = 5,
        window: int = 2000,
        fit_intercept: bool = True,
        passes: int = 1,
        tol: float = 1e-4,
        shuffle: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.decision = decision
        self.tuned_with = tuned_with
        self.n_folds = n_folds
        self.window = window
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.tol = tol
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def coef_(self) -> Floats:
        """Weights, (L, D)."""
        return self.weights_[:-1, : self.n_labels_].T

    @property
    def intercept_(self) -> Floats:
        """Intercepts, (L,)."""
        return self.weights_[-1, : self.n_labels_]

    def _check_can_stream(self) -> None:
        if self.tuned_with == "batch" and self._tunes():
            raise AttributeError(
                "tuned_with='batch' needs all rows at once: call fit, or set tuned_with='online'"
            )

    def _begin(self, n_features: int) -> None:
        self.C_ = 1.0 if isinstance(self.C, str) else float(self.C)
        self.weights_ = no_weights(n_features, self.n_labels_)
        self.tallies_ = np.zeros(self.n_labels_ + 1)
        self.window_ = Window.empty(self.n_labels_)

    def _learn_batch(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        scores = self._present(X, labels, weight)
        self._tally(labels, weight)
        if self._tunes():
            self.window_ = self.window_.extended(scores, labels, weight, self.window)
        self.streamed_ = True

    def _present(self, X: Any, labels: Labels, weight: Floats) -> Floats:
        """Learn from the rows in turn, and return their scores before they were learned from."""
        # An interruption must not leave half a batch behind; it cannot come within a few rows.
        weights = self.weights_.copy() if len(labels) > _UNINTERRUPTED else self.weights_
        scores = np.empty(labels.shape)
        order = np.arange(len(labels), dtype=np.int64)
        self._take(weights, X, labels, weight * self.C_, order, scores)
        self.weights_ = weights
        return scores

    def _tally(self, labels: Labels, weight: Floats) -> None:
        self.tallies_ = self.tallies_ + np.append(weight @ labels, weight.sum())
        self._rates = self.tallies_[:-1] / self.tallies_[-1]

    def _rule(self) -> ThresholdRule:
        if not self.streamed_:
            return super()._rule()
        rule = self._resolved_rule()
        if not self._tunes():
            return rule.informed(self._rates)
        window = self.window_
        return tuned_rule(rule, self._rates, window.scores, window.labels, window.weight)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        self.streamed_, self.window_ = False, Window.empty(self.n_labels_)
        self.tallies_ = np.zeros(self.n_labels_ + 1)
        self._tally(labels, weight)
        super()._fit(X, labels, weight)

    def _learn(self, X: Any, labels: Labels, weight: Floats) -> None:
        self.weights_ = self._trained(X, labels, weight, self.C_)

    def _scores(self, X: Any) -> Floats:
        return scorer_of(self.weights_, self.n_labels_).scores(X, self._n_threads())

    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> LinearScorer:
        del final
        return scorer_of(self._trained(X, labels, weight, C), labels.shape[1])

    def _trained(self, X: Any, labels: Labels, weight: Floats, C: float) -> Floats:
        """Weights after the passes of `fit`."""
        n, seeds = len(labels), range(self.seed_, self.seed_ + self.passes)
        orders = [
            presentation_order(X, labels, seed) if self.shuffle else np.arange(n, dtype=np.int64)
            for seed in seeds
        ]
        weights = no_weights(X.shape[1], labels.shape[1])
        self._take(weights, X, labels, weight * C, np.concatenate(orders))
        return weights

    def _take(
        self,
        weights: Floats,
        X: Any,
        labels: Labels,
        limits: Floats,
        order: Indices,
        scores: Floats | None = None,
    ) -> None:
        options: Any = {"intercept": bool(self.fit_intercept), "n_threads": self._n_threads()}
        learn(weights, X, labels, limits, order, scores=scores, **options)

    def _held_out(
        self, X: Any, labels: Labels, weight: Floats, known: ScoredFolds | None
    ) -> ScoredFolds | None:
        if not self._tunes():
            return None
        if self.tuned_with == "batch":

            def train(X: Any, labels: Labels, weight: Floats, C: float) -> LinearScorer:
                common: Any = {"tol": self.tol, "seed": self.seed_, "n_jobs": self.n_jobs}
                return train_svms(X, labels, weight, C, **common).scorer

            # SVMs stop short of the optimum: at the same place, however the rows come.
            X, labels, weight = merge_equal_rows(X, labels, weight)
            return best_held_out(
                lambda C: self._hold_out(train, X, labels, weight, C),
                self._candidates(X, weight) if self.C == "cv" else [1 / mean_square(X, weight)],
            )[1]
        held_out = super()._held_out(X, labels, weight, known)
        if held_out is not None:  # where a stream would go on from
            self.window_ = self.window_.extended(
                held_out.scores, held_out.labels, held_out.weight, self.window
            )
        return held_out

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.tuned_with, "tuned_with", ("online", "batch"))
        self._count("passes")
        self._count("window")
