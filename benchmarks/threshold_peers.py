"""Support vector machines and their online kin as a user of scikit-learn would put them together.

One machine of scikit-learn per label; C by the macro F1 of held-out rows, thresholds by SCut and
the value of the FBR rule by nested cross-validation. Only the folds are labelweave's, so that both
sides hold out the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC, LinearSVC

from labelweave._common.arrays import Floats, Indicators, Indices
from labelweave._common.folds import assign_folds

MakeMachine = Callable[[float], Any]

# Of C times the mean square of a row, and of the FBR rule (Lewis et al., 2004).
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0)
FBR_GRID = tuple(0.1 * k for k in range(9))


def linear_svm(C: float) -> LinearSVC:
    """Return a linear machine of liblinear."""
    return LinearSVC(C=C, random_state=0)


def libsvm(C: float) -> SVC:
    """Return a linear machine of libsvm."""
    return SVC(kernel="linear", C=C)


class PassiveAggressiveRows:
    """One pass of PA-I by scikit-learn's SGDClassifier; the intercept is a feature that is 1."""

    def __init__(self, C: float) -> None:
        self.machine = SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate="pa1",
            eta0=C,
            shuffle=False,
            max_iter=1,
            tol=None,
            fit_intercept=False,
        )

    def fit(self, X: Floats, y: Indicators) -> Self:
        """Learn from the rows in turn."""
        self.machine.fit(_with_one(X), y)
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Scores, (n,)."""
        return np.asarray(self.machine.decision_function(_with_one(X)))


class ThresholdedMachines:
    """One classifier and one threshold per label, tuned on held-out rows.

    Parameters
    ----------
    machine
        From C to a classifier of scikit-learn's manners.
    tuned_with
        What scores the held-out rows; by default the machine itself.
    grid
        Candidates of C, times the mean square of a row.
    n_folds
        0 cuts at zero, without held-out rows, at the first candidate.
    n_jobs
        Processes that share all machines.
    """

    def __init__(
        self,
        machine: MakeMachine,
        *,
        tuned_with: MakeMachine | None = None,
        grid: tuple[float, ...] = C_GRID,
        n_folds: int = 5,
        n_jobs: int = 1,
    ) -> None:
        self.machine, self.tuned_with = machine, tuned_with
        self.grid, self.n_folds, self.n_jobs = grid, n_folds, n_jobs

    def fit(self, X: Floats, Y: Indicators) -> Self:
        """Choose C, tune the thresholds on held-out rows, and fit to all rows."""
        C, self.thresholds_ = self._candidates(X)[0], np.zeros(Y.shape[1])
        if self.n_folds:
            fold, _ = assign_folds(X, np.ones(len(X)), self.n_folds, 0)
            C, scores = self._choose(self.machine, X, Y, fold)
            if self.tuned_with is not None:
                _, scores = self._choose(self.tuned_with, X, Y, fold)
            self.thresholds_ = _scut(scores, Y, _judge(scores, Y, fold)[0])
        fit = delayed(_fitted)
        rows = np.arange(len(X))
        self.machines_ = Parallel(self.n_jobs)(
            fit(self.machine(C), X, Y[:, j], rows) for j in range(Y.shape[1])
        )
        return self

    def decision_function(self, X: Floats) -> Floats:
        """How far each score is above its threshold, (n, L)."""
        scores = np.column_stack([machine.decision_function(X) for machine in self.machines_])
        return np.asarray(scores - self.thresholds_)

    def predict(self, X: Floats) -> Indicators:
        """Labels whose scores are above their thresholds, (n, L)."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def _candidates(self, X: Floats) -> list[float]:
        return [c / (X**2).sum(axis=1).mean() for c in self.grid]

    def _choose(
        self, make: MakeMachine, X: Floats, Y: Indicators, fold: Indices
    ) -> tuple[float, Floats]:
        """Return the C of the best macro F1, and the held-out scores it was chosen by."""
        candidates = self._candidates(X)
        folds, labels = range(self.n_folds), range(Y.shape[1])
        score = delayed(_held_out_scores)
        parts = Parallel(self.n_jobs)(
            score(make(C), X, Y[:, j], fold, k) for C in candidates for k in folds for j in labels
        )
        held_out = np.empty((len(candidates), *Y.shape))
        results = iter(parts)
        for c in range(len(candidates)):
            for k in folds:
                for j in labels:
                    held_out[c, fold == k, j] = next(results)
        best = int(np.argmax([_judge(scores, Y, fold)[1] for scores in held_out]))
        return candidates[best], held_out[best]


def _with_one(X: Floats) -> Floats:
    return np.column_stack([X, np.ones(len(X))])


def _fitted(machine: Any, X: Floats, y: Indicators, rows: Indices) -> Any:
    return machine.fit(X[rows], y[rows])


def _held_out_scores(machine: Any, X: Floats, y: Indicators, fold: Indices, k: int) -> Floats:
    fitted = _fitted(machine, X, y, np.flatnonzero(fold != k))
    return np.asarray(fitted.decision_function(X[fold == k]))


def _f1(truth: Indicators, given: Indicators) -> Floats:
    both = truth.sum(axis=0) + given.sum(axis=0)
    found = (truth & given).sum(axis=0)
    return np.where(both == 0, 1.0, 2 * found / np.where(both == 0, 1, both))


def _scut(scores: Floats, Y: Indicators, fbr: float) -> Floats:
    """Cut each label where its F1 is best, or at its highest score where that is below `fbr`."""
    thresholds = np.empty(scores.shape[1])
    for j, (score, truth) in enumerate(zip(scores.T, Y.T, strict=True)):
        order = np.argsort(-score, kind="stable")
        n_given = np.arange(1, len(order) + 1)
        f1 = 2 * np.cumsum(truth[order]) / (n_given + truth.sum())
        last = int(np.argmax(f1))
        following = score[order[last + 1]] if last + 1 < len(order) else -np.inf
        cut = (score[order[last]] + following) / 2
        thresholds[j] = cut if f1[last] >= fbr else score.max()
    return thresholds


def _judge(scores: Floats, Y: Indicators, fold: Indices) -> tuple[float, float]:
    """Return the best value of the FBR rule and its macro F1, each fold cut by the others."""
    given = np.zeros((len(FBR_GRID), *Y.shape), dtype=np.int64)
    for k in np.unique(fold):
        rest, here = fold != k, fold == k
        tuned = _scut(scores[rest], Y[rest], 0.0)
        f1 = _f1(Y[rest], (scores[rest] > tuned).astype(np.int64))
        for at, fbr in enumerate(FBR_GRID):
            cut = np.where(f1 >= fbr, tuned, scores[rest].max(axis=0))
            given[at][here] = scores[here] > cut
    macro = [float(_f1(Y, labels).mean()) for labels in given]
    return FBR_GRID[int(np.argmax(macro))], max(macro)
