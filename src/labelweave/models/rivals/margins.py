"""Machines without probabilities: scores, and a threshold for each label.

A support vector machine or a passive-aggressive learner scores every row and label, and gives a
label to the rows whose score is above the label's threshold. `MarginClassifier` is the base of
these estimators. It chooses C, scores training rows by machines that have not seen them, and tunes
the thresholds on these out-of-fold scores. The FBR rule (Lewis et al., 2004) guards rare labels: a
label whose best F1 stays below the FBR value gets the highest of its out-of-fold scores as its
threshold, which few rows exceed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Indices, Labels, Positions
from labelweave._common.checks import check_number
from labelweave._common.folds import check_folds, deal, deal_kept, has_splits, presentation_order
from labelweave._common.matrices import linear_scores, native_matrix
from labelweave._core import native
from labelweave.decision import TunedThresholds
from labelweave.decision.decide import resolve_score_rule
from labelweave.decision.probabilities import Scores
from labelweave.decision.rules import ScoredRows, ThresholdRule
from labelweave.decision.tuned import best_cut
from labelweave.models.base import Estimator
from labelweave.models.cross_fitting import cross_fit

# Kernel values per block.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class LinearScorer:
    """``X weights' + intercept``, with weights (L, D) and intercepts (L,)."""

    weights: Floats
    intercept: Floats

    def scores(self, X: Any, n_threads: int) -> Floats:
        """Return the score of every row and label, (n, L), the same bits in every batch."""
        return linear_scores(X, self.weights, self.intercept, n_threads)


@dataclass(frozen=True)
class KernelScorer:
    """``Σ_s alpha_s exp(-gamma |x - x_s|²) + intercept``.

    All labels share the support vectors, (S, D) dense or sparse; alpha is (L, S).
    """

    support: Any
    alpha: Floats
    intercept: Floats
    gamma: float

    def scores(self, X: Any, n_threads: int) -> Floats:
        """Return the score of every row and label, (n, L), the same bits in every batch."""
        scores: Floats = np.empty((X.shape[0], len(self.intercept)))
        step = max(1, _BLOCK // max(1, self.support.shape[0]))
        for first in range(0, X.shape[0], step):
            rows = X[first : first + step]
            similarity: Floats = np.empty((rows.shape[0], self.support.shape[0]))
            native.kernel_matrix(
                native_matrix(rows), native_matrix(self.support), self.gamma, similarity, n_threads
            )
            scores[first : first + step] = linear_scores(
                similarity, self.alpha, self.intercept, n_threads
            )
        return scores


Scorer: TypeAlias = LinearScorer | KernelScorer


def varying(labels: Labels) -> Positions:
    """Return the labels that take both values, as only these can be learned."""
    return np.flatnonzero(labels.any(axis=0) & ~labels.all(axis=0))


#: Trains on features, labels, row weights and C; returns the scorer of the labels.
Train = Callable[[Any, Labels, Floats, float], Scorer]

# The values of the FBR rule that Lewis et al. (2004) tried.
FBR_GRID = np.round(0.1 * np.arange(9), 1)


class Rows(NamedTuple):
    """Training rows with their weights, and the folds to deal them into, as `deal` takes them."""

    X: Any
    labels: Labels
    weight: Floats
    cv: Any


@dataclass(frozen=True)
class ScoredFolds:
    """Out-of-fold scores, (n, L): machines trained without a row's fold score the row."""

    scores: Floats
    labels: Labels
    weight: Floats
    fold: Positions

    @cached_property
    def verdict(self) -> tuple[float, float]:
        """The best value of the FBR rule and its macro F1.

        The thresholds are cross-validated as well: each fold is labelled by thresholds that were
        tuned on the scores of the other folds.
        """
        per_label = [
            _macro_terms(scores, labels, self.weight, self.fold)
            for scores, labels in zip(
                np.ascontiguousarray(self.scores.T),
                np.ascontiguousarray(self.labels.T),
                strict=True,
            )
        ]
        macro = np.mean(per_label, axis=0)
        best = int(np.argmax(macro))
        return float(FBR_GRID[best]), float(macro[best])


def _macro_terms(scores: Floats, labels: Labels, weight: Floats, fold: Positions) -> Floats:
    """Return the F1 of one label by FBR value; it is 1 if no row has or is given the label."""
    order = np.argsort(-scores)  # one sort serves all folds; no threshold separates equal scores
    s, y, w, of = scores[order], labels[order], weight[order], fold[order]
    falling, positive = -s, w * y
    found, given = np.zeros(len(FBR_GRID)), np.zeros(len(FBR_GRID))
    for k in range(int(fold.max()) + 1):
        rest = np.flatnonzero(of != k)
        tuned, f1 = best_cut(s[rest], y[rest], w[rest])
        highest = s[rest[0]]
        for cut, chosen in ((tuned, f1 >= FBR_GRID), (highest, f1 < FBR_GRID)):
            above = np.flatnonzero(of[: np.searchsorted(falling, -cut)] == k)
            found[chosen] += positive[above].sum()
            given[chosen] += w[above].sum()
    both = positive.sum() + given
    return np.asarray(np.where(both == 0, 1.0, 2.0 * found / np.where(both == 0, 1.0, both)))


def hold_out(
    train: Train, rows: Rows, C: float, *, seed: int, n_threads: int
) -> ScoredFolds | None:
    """Score each row by machines trained on the other folds; None if all rows are equal."""
    X, labels, weight, cv = rows

    def fit(chosen: Positions) -> Scorer:
        return train(X[chosen], labels[chosen], weight[chosen], C)

    def score(scorer: Scorer, chosen: Positions) -> Floats:
        return scorer.scores(X[chosen], n_threads)

    held_out = cross_fit(fit, deal(cv, X, labels, weight, seed), score)
    if not held_out.folds:
        return None
    if len(held_out.folds) == 1:
        raise ValueError("cv must have at least two splits: thresholds of one are tuned on others")
    order = np.argsort(held_out.rows, kind="stable")
    found = held_out.rows[order]
    number = np.concatenate(
        [np.full(len(fold.held_out), k) for k, fold in enumerate(held_out.folds)]
    )
    scores = np.concatenate(held_out.parts)[order]
    return ScoredFolds(scores, labels[found], weight[found], number[order])


def best_held_out(
    held_out_for: Callable[[float], ScoredFolds | None], candidates: Iterable[float]
) -> tuple[float, ScoredFolds | None]:
    """Return the C of best out-of-fold macro F1 and its scores; ties go to the first."""
    tried = [(C, held_out_for(C)) for C in candidates]
    return max(tried, key=lambda one: 0.0 if one[1] is None else one[1].verdict[1])


def mean_square(X: Any, weight: Floats) -> float:
    """Return the weighted mean of |x|² over the rows; 1 if all are zero."""
    mean = float(np.average(row_squares(X), weights=weight))
    return mean if 0 < mean < np.inf else 1.0


def presentation_orders(
    X: Any, labels: Labels, passes: int, seed: int, *, shuffle: bool
) -> Indices:
    """Return the order in which an online learner takes the rows in each pass, (passes, n)."""
    if not shuffle:
        return np.tile(np.arange(len(labels), dtype=np.int64), (passes, 1))
    return np.stack([presentation_order(X, labels, seed + number) for number in range(passes)])


def row_squares(X: Any) -> Floats:
    """Return |x|² of every row, infinite if it overflows."""
    with np.errstate(over="ignore"):
        squares = (X**2).sum(axis=1) if isinstance(X, np.ndarray) else X.multiply(X).sum(axis=1)
    return np.asarray(squares).ravel()


# Candidates of C="cv", in units of one over the mean square of a row.
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0)


@dataclass(eq=False, repr=False, kw_only=True)
class MarginClassifier(Estimator):
    """Base of classifiers that give a label where its score is above the label's threshold.

    A subclass trains in ``_scorer``. A label that no training row had is never predicted, and a
    label that all of them had always is.
    """

    C: float | str = "cv"
    decision: str | ThresholdRule = "macro_f1"
    cv: Any = 5

    @abstractmethod
    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> Scorer:
        """Train on rows and C; only the `final` machines may warn or set attributes."""

    def _learn(self, X: Any, labels: Labels, weight: Floats) -> None:
        self.scorer_ = self._scorer(X, labels, weight, self.C_, final=True)

    def _scores(self, X: Any) -> Floats:
        return self._machines().scores(X, self._n_threads())

    def _machines(self) -> Scorer:
        machines: Scorer = self.scorer_
        return machines

    @property
    def coef_(self) -> Floats:
        """The weights of linear machines, (L, D)."""
        machines = self._machines()
        if not isinstance(machines, LinearScorer):
            raise AttributeError("only machines with the linear kernel have coef_")
        return machines.weights

    @property
    def intercept_(self) -> Floats:
        """The intercepts, (L,)."""
        return self._machines().intercept

    def decision_function(self, X: Any) -> Floats:
        """Return how far the score of each label is above its threshold, (n, L).

        The margin is positive where `predict` gives the label. A label that was constant in
        training has the margin 1 or -1 in every row. For a one-dimensional y, there is one value
        per row, (n,).
        """
        check_is_fitted(self)
        scores = self._scores(self._features(X, reset=False))
        margins = scores - _finite(self._rule().thresholds(scores), scores)
        margins[:, self._rates == 0] = -1.0
        margins[:, self._rates == 1] = 1.0
        return margins[:, 0] if self._encoding.single else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels whose scores are above their thresholds, (n, L) of 0/1."""
        margins = self.decision_function(X).reshape(-1, self.n_labels_)
        return self._encoding.decode((margins > 0).astype(np.int8))

    def threshold_rule(self) -> ThresholdRule | None:
        """Return the rule that sets the thresholds for the rows of a test set."""
        return self._rule()

    def scored(self, X: Any) -> ScoredRows:
        """Return the scores of the rows of X."""
        check_is_fitted(self)
        return ScoredRows(self._scores(self._features(X, reset=False)))

    def predict_above(self, X: Any, thresholds: Scores) -> NDArray[Any]:
        """Return the labels whose scores are above these thresholds.

        Labels that were constant in training stay constant.
        """
        thresholds = np.where(self._rates == 0, np.inf, np.asarray(thresholds))
        return super().predict_above(X, np.where(self._rates == 1, -np.inf, thresholds))

    @property
    def thresholds_(self) -> Floats:
        """The threshold of each label, (L,), if `decision` tunes thresholds on training rows."""
        rule = self._rule()
        if not isinstance(rule, TunedThresholds) or rule.values is None:
            raise AttributeError("this decision chooses thresholds anew for each test set")
        return np.asarray(rule.values)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        self.seed_ = self._seed()
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        rows = self._training_rows(X, labels, weight)
        self.C_, held_out = self._choose_C(rows)
        self._tell(f"C = {self.C_:.4g}")
        self._learn(rows.X, rows.labels, rows.weight)
        self.rule_ = self._inform(self._held_out(rows, held_out))

    def _training_rows(self, X: Any, labels: Labels, weight: Floats) -> Rows:
        """Return the rows of positive weight, equal ones merged if the splits allow it."""
        if has_splits(self.cv):
            kept, folds = deal_kept(self.cv, X, labels, weight, self.seed_)
            return Rows(X[kept], labels[kept], weight[kept], folds)
        return Rows(*self._merged(X, labels, weight), self.cv)

    def _merged(self, X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
        """Return the rows as the machines are trained on them."""
        return X, labels, weight

    def _rule(self) -> ThresholdRule:
        rule: ThresholdRule = self.rule_
        return rule

    def _choose_C(self, rows: Rows) -> tuple[float, ScoredFolds | None]:
        """Return C, and the out-of-fold scores by which it was chosen, if there are any."""
        if self.C == "cv":
            return best_held_out(
                lambda C: self._hold_out(self._scorer, rows, C), self._candidates(rows)
            )
        if self.C == "scale":
            return 1.0 / self._mean_square(rows), None
        return float(self.C), None

    def _candidates(self, rows: Rows) -> Sequence[float]:
        unit = self._mean_square(rows)
        return [c / unit for c in C_GRID]

    def _mean_square(self, rows: Rows) -> float:
        X, _, weight = self._merged(rows.X, rows.labels, rows.weight)
        return mean_square(X, weight)

    def _held_out(self, rows: Rows, known: ScoredFolds | None) -> ScoredFolds | None:
        """Return out-of-fold scores if the thresholds are tuned on them."""
        if not self._tunes():
            return None
        return known or self._hold_out(self._scorer, rows, self.C_)

    def _hold_out(self, train: Train, rows: Rows, C: float) -> ScoredFolds | None:
        return hold_out(train, rows, C, seed=self.seed_, n_threads=self._n_threads())

    def _inform(self, held_out: ScoredFolds | None) -> ThresholdRule:
        rule = self._resolved_rule()
        if not self._tunes():
            return rule.informed(self._rates)
        if held_out is None:  # all rows are equal, so there is nothing to tune on
            return TunedThresholds(values=np.zeros(self.n_labels_))
        if self.decision == "macro_f1" and isinstance(rule, TunedThresholds):
            self.fbr_ = held_out.verdict[0]
            rule = replace(rule, fbr=self.fbr_)
        return tuned_rule(rule, self._rates, held_out.scores, held_out.labels, held_out.weight)

    def _tunes(self) -> bool:
        return "held_out" in self._resolved_rule().needs

    def _resolved_rule(self) -> ThresholdRule:
        return resolve_score_rule(self.decision)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._resolved_rule()
        check_folds(self.cv)
        if not (isinstance(self.C, str) and self.C in ("scale", "cv")):
            check_number(self.C, "C", above=0, otherwise="'scale', 'cv'")


def tuned_rule(
    rule: ThresholdRule, rates: Floats, scores: Floats, labels: Labels, weight: Floats
) -> TunedThresholds:
    """Return fixed thresholds, as the rule tunes them on these rows."""
    tuned = rule.informed(rates, (scores, labels, weight)).thresholds(scores)
    return TunedThresholds(values=_finite(tuned, scores))


def _finite(chosen: Scores, scores: Floats) -> Floats:
    """Replace infinite thresholds by finite ones beyond all scores.

    Differences between scores and thresholds then stay finite and keep the order of the scores.
    """
    thresholds = np.asarray(chosen)
    if len(scores) == 0 or np.isfinite(thresholds).all():
        return thresholds
    low, high = scores.min(axis=0), scores.max(axis=0)
    beyond = 1.0 + (high - low)
    outside = np.where(thresholds > 0, high + beyond, low - beyond)
    return np.where(np.isfinite(thresholds), thresholds, outside)
