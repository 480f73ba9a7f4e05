"""Passive-aggressive learning: each row makes the smallest change that gets it right.

For a label with target t = ±1 and the hinge loss ℓ = max(0, 1 - t (w·x + b)), a row moves the
weights by τ t x with τ = min(C, ℓ / |x|²) (PA-I; Crammer et al., 2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice
from labelweave._common.folds import has_splits
from labelweave._common.matrices import native_matrix
from labelweave._common.row_keys import merge_equal_rows
from labelweave._core import native
from labelweave.decision.rules import ThresholdRule
from labelweave.models.rivals.margins import (
    LinearScorer,
    MarginClassifier,
    Rows,
    ScoredFolds,
    best_held_out,
    presentation_orders,
    tuned_rule,
)
from labelweave.models.rivals.svm import train_svms

# The kernel's weights have one row per feature, a last row of intercepts, and one column per label,
# padded to a multiple of the lanes of a vector register.
_LANES = 8
# The kernel is interrupted by Ctrl-C only between this many rows.
_UNINTERRUPTED = 64


def no_weights(n_features: int, n_labels: int) -> Floats:
    """Return zero weights as the kernel lays them out, (D + 1, L rounded up)."""
    return np.zeros((n_features + 1, -(-n_labels // _LANES) * _LANES))


def scorer_of(weights: Floats, n_labels: int) -> LinearScorer:
    """Return the decision function of weights as the kernel lays them out."""
    coef = np.ascontiguousarray(weights[:-1, :n_labels].T)
    return LinearScorer(coef, weights[-1, :n_labels].copy())


@dataclass(frozen=True)
class Window:
    """The last rows of a stream, with their scores from before they were learned, (n, L)."""

    scores: Floats
    labels: Labels
    weight: Floats

    @classmethod
    def empty(cls, n_labels: int) -> Self:
        return cls(np.zeros((0, n_labels)), np.zeros((0, n_labels), dtype=np.int8), np.zeros(0))

    def extended(self, scores: Floats, labels: Labels, weight: Floats, most: int) -> Self:
        """Return the last `most` rows of the window with these rows appended."""
        return type(self)(
            np.concatenate([self.scores, scores])[-most:].copy(),
            np.concatenate([self.labels, labels])[-most:].copy(),
            np.concatenate([self.weight, weight])[-most:].copy(),
        )


@dataclass(eq=False, repr=False, kw_only=True)
class PassiveAggressive(MarginClassifier):
    """One passive-aggressive classifier per label (PA-I; Crammer et al., 2006), all in one pass.

    A row moves the weights of each label that does not yet reach a margin of 1, by the smallest
    step that does, and never further than C allows. Thresholds are tuned on held-out rows, scored
    by the same learner (PA_OnlineCV) or by batch SVMs (PA_BatchCV). `partial_fit` learns from a
    stream; thresholds are then tuned on its last rows, with their scores from before they were
    learned. There are no probabilities, only `predict` and `decision_function`.

    Parameters
    ----------
    C : float, "scale" or "cv", default="cv"
        The longest step; "scale" is one over the mean square of a row, and "cv" chooses from 0.1 to
        10 times that by the macro F1 of held-out rows. If learning begins with `partial_fit`, no
        rows are there to choose by, and both stand for 1, which suits rows of unit length.
    decision : {"macro_f1", "micro_f1", "cmn", ...} or ThresholdRule, default="macro_f1"
        "macro_f1" tunes one threshold per label on held-out rows (see `ThresholdedSVM`), and
        "micro_f1" one for all labels. "cmn" gives each label to the share of rows that had it in
        training, "lcard" gives rows as many labels on average as in training, and "fixed" cuts at
        0.
    tuned_with : {"online", "batch"}, default="online"
        The machines that score held-out rows for tuning thresholds: this learner ("online"), or
        linear SVMs ("batch").
    cv : int, splitter or list of (train, test), default=5
        Folds of the training rows, which are held out in turn: their number, or splits as in
        scikit-learn.
    window : int, default=2000
        Number of the last rows of a stream that tune the thresholds after `partial_fit`.
    fit_intercept : bool, default=True
        Whether to add a feature that is always 1.
    passes : int, default=1
        Number of times `fit` goes through the rows.
    shuffle : bool, default=True
        Whether `fit` takes the rows in random order. The order depends on the content of the rows
        and `random_state`, not on the order in which rows are given.
    n_jobs : int, optional
        Number of threads that share the labels (of processes, for the SVMs of "batch"); -1 uses all
        cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the folds. None means 0.
    verbose : int, default=0
        If positive, print the chosen C.

    Attributes
    ----------
    coef_ : (L, D) array
        Weights.
    intercept_ : (L,) array
        Intercepts, before the thresholds are subtracted.
    thresholds_ : (L,) array
        Thresholds, if `decision` tunes them on training rows.
    C_, fbr_ : float
        The values used, given or chosen.
    seed_ : int
        The seed drawn from `random_state`.

    Notes
    -----
    A row of weight k may move the weights k times as far, as k copies of the row in turn do.

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

    tuned_with: str = "online"
    window: int = 2000
    fit_intercept: bool = True
    passes: int = 1
    shuffle: bool = True

    def _machines(self) -> LinearScorer:
        return scorer_of(self.weights_, self.n_labels_)

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
        kept = np.flatnonzero(weight)  # batches have no folds, which would count all rows
        if len(kept) < len(weight):
            X, labels, weight = X[kept], labels[kept], weight[kept]
        scores = self._present(X, labels, weight)
        self._tally(labels, weight)
        if self._tunes():
            self.window_ = self.window_.extended(scores, labels, weight, self.window)
        self.streamed_ = True

    def _present(self, X: Any, labels: Labels, weight: Floats) -> Floats:
        """Learn from the rows in turn; return their scores from before they were learned."""
        # An interruption must not leave half a batch learned; so few rows are not interrupted.
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

    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> LinearScorer:
        del final
        return scorer_of(self._trained(X, labels, weight, C), labels.shape[1])

    def _trained(self, X: Any, labels: Labels, weight: Floats, C: float) -> Floats:
        """Return the weights after the passes of `fit`."""
        orders = presentation_orders(X, labels, self.passes, self.seed_, shuffle=self.shuffle)
        weights = no_weights(X.shape[1], labels.shape[1])
        self._take(weights, X, labels, weight * C, orders.ravel())
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
        """Update the weights by rows in turn, in place."""
        native.passive_aggressive(
            native_matrix(X),
            labels,
            limits,
            order,
            bool(self.fit_intercept),
            weights,
            scores,
            self._n_threads(),
        )

    def _held_out(self, rows: Rows, known: ScoredFolds | None) -> ScoredFolds | None:
        if not self._tunes():
            return None
        if self.tuned_with == "batch":

            def train(X: Any, labels: Labels, weight: Floats, C: float) -> LinearScorer:
                # SVMs stop before the optimum, but then at the same point in any order of the rows.
                merged = merge_equal_rows(X, labels, weight)
                return train_svms(*merged, C, seed=self.seed_, n_jobs=self.n_jobs).scorer

            if not has_splits(self.cv):
                rows = Rows(*merge_equal_rows(rows.X, rows.labels, rows.weight), self.cv)
            return best_held_out(
                lambda C: self._hold_out(train, rows, C),
                self._candidates(rows) if self.C == "cv" else [1 / self._mean_square(rows)],
            )[1]
        held_out = super()._held_out(rows, known)
        if held_out is not None:  # `partial_fit` goes on with these rows in its window
            self.window_ = self.window_.extended(
                held_out.scores, held_out.labels, held_out.weight, self.window
            )
        return held_out

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.tuned_with, "tuned_with", ("online", "batch"))
        self._count("passes")
        self._count("window")
