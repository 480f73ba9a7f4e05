"""Machines without probabilities: scores, and one threshold per label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_number, check_whole_number
from labelweave.baselines._decision_functions import Scorer
from labelweave.baselines._out_of_fold import HeldOut, best_held_out, hold_out, mean_square
from labelweave.decision import TunedThresholds
from labelweave.decision.decide import resolve_score_rule
from labelweave.decision.probabilities import Scores
from labelweave.decision.rules import ScoredRows, ThresholdRule
from labelweave.models.label_classifier import LabelClassifier

# C times the mean square of a row: what "cv" chooses from. For rows of unit length C itself.
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0)


class ThresholdClassifier(LabelClassifier):
    """Base of classifiers that give a label where its score is above the label's threshold.

    A subclass implements ``_scorer``, which trains. Here C is chosen, rows are held out and
    thresholds tuned on them.

    A label that no row had in training is given to none, one that all had to all of them.
    """

    # Parameters every such classifier has.
    C: float | str
    decision: str | ThresholdRule
    n_folds: int

    @abstractmethod
    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> Scorer:
        """Train; `final` is the machine the user gets, and complaints are for that one only."""

    def _learn(self, X: Any, labels: Labels, weight: Floats) -> None:
        """Train on all rows, with the penalty ``C_``."""
        self.scorer_ = self._scorer(X, labels, weight, self.C_, final=True)

    def _scores(self, X: Any) -> Floats:
        """Scores of validated rows, (n, L)."""
        return self.scorer_.scores(X, self._n_threads())

    def decision_function(self, X: Any) -> Floats:
        """How far the score of each label is above its threshold, (n, L).

        Positive where `predict` gives the label. A label that was constant in training has 1 or -1
        throughout. For a one-dimensional y: one value for each row, (n,).
        """
        check_is_fitted(self)
        scores = self._scores(self._features(X, reset=False))
        margins = scores - _finite(self._rule().thresholds(scores), scores)
        margins[:, self._rates == 0] = -1.0
        margins[:, self._rates == 1] = 1.0
        return margins[:, 0] if self._encoding.single else margins

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels whose scores are above their thresholds, (n, L) of 0/1."""
        margins = self.decision_function(X).reshape(-1, self.n_labels_)
        return self._encoding.decode((margins > 0).astype(np.int8))

    def threshold_rule(self) -> ThresholdRule | None:
        """Return the rule that chooses the thresholds of a test set."""
        return self._rule()

    def scored(self, X: Any) -> ScoredRows:
        """Return the scores of the rows of X."""
        check_is_fitted(self)
        return ScoredRows(self._scores(self._features(X, reset=False)))

    def predict_above(self, X: Any, thresholds: Scores) -> NDArray[Any]:
        """Return the labels above these thresholds; those that were constant stay constant."""
        thresholds = np.where(self._rates == 0, np.inf, np.asarray(thresholds))
        return super().predict_above(X, np.where(self._rates == 1, -np.inf, thresholds))

    @property
    def thresholds_(self) -> Floats:
        """The threshold of each label, (L,), if `decision` tunes them on training rows."""
        rule = self._rule()
        if not isinstance(rule, TunedThresholds) or rule.values is None:
            raise AttributeError("thresholds_ are chosen for each test set by this decision")
        return np.asarray(rule.values)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        self.seed_ = self._seed()
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        self.C_, held_out = self._choose_C(X, labels, weight)
        self._tell(f"C = {self.C_:.4g}")
        self._learn(X, labels, weight)
        self.rule_ = self._inform(self._held_out(X, labels, weight, held_out))

    def _rule(self) -> ThresholdRule:
        rule: ThresholdRule = self.rule_
        return rule

    def _choose_C(self, X: Any, labels: Labels, weight: Floats) -> tuple[float, HeldOut | None]:
        """Return the penalty, and the held-out rows it was chosen by if it was."""
        if self.C == "cv":
            return best_held_out(
                lambda C: self._hold_out(self._scorer, X, labels, weight, C),
                self._candidates(X, weight),
            )
        if self.C == "scale":
            return 1.0 / self._mean_square(X, weight), None
        return float(self.C), None

    def _candidates(self, X: Any, weight: Floats) -> Sequence[float]:
        return [c / self._mean_square(X, weight) for c in C_GRID]

    def _mean_square(self, X: Any, weight: Floats) -> float:
        return mean_square(X, weight)

    def _held_out(
        self, X: Any, labels: Labels, weight: Floats, known: HeldOut | None
    ) -> HeldOut | None:
        """Held-out rows to tune thresholds on, if there is a need."""
        if not self._tunes():
            return None
        return known or self._hold_out(self._scorer, X, labels, weight, self.C_)

    def _hold_out(
        self, train: Any, X: Any, labels: Labels, weight: Floats, C: float
    ) -> HeldOut | None:
        return hold_out(
            train,
            X,
            labels,
            weight,
            C,
            folds=self.n_folds,
            seed=self.seed_,
            n_threads=self._n_threads(),
        )

    def _inform(self, held_out: HeldOut | None) -> ThresholdRule:
        rule = self._resolved_rule()
        if not self._tunes():
            return rule.informed(self._rates)
        if held_out is None:  # rows that are all alike: nothing to tune on
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
        check_whole_number(self.n_folds, "n_folds", 2)  # rows are held out from the others
        if not (isinstance(self.C, str) and self.C in ("scale", "cv")):
            check_number(self.C, "C", above=0, otherwise="'scale', 'cv'")


def tuned_rule(
    rule: ThresholdRule, rates: Floats, scores: Floats, labels: Labels, weight: Floats
) -> TunedThresholds:
    """Return the thresholds that a rule tunes on these rows."""
    tuned = rule.informed(rates, (scores, labels, weight)).thresholds(scores)
    return TunedThresholds(values=_finite(tuned, scores))


def _finite(chosen: Scores, scores: Floats) -> Floats:
    """Put infinite thresholds so far outside the scores that they mean the same.

    Differences to them stay numbers then, and keep the order of the scores.
    """
    thresholds = np.asarray(chosen)
    if len(scores) == 0 or np.isfinite(thresholds).all():
        return thresholds
    low, high = scores.min(axis=0), scores.max(axis=0)
    beyond = 1.0 + (high - low)
    outside = np.where(thresholds > 0, high + beyond, low - beyond)
    return np.where(np.isfinite(thresholds), thresholds, outside)
