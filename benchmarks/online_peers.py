"""The learners BOMC is measured against: one linear classifier per label, by scikit-learn.

Each is given every decision rule that suits its scores: the threshold 0 it was trained for,
thresholds tuned on out-of-fold scores (SCutFBR.1), and matched frequencies (CMN, as BOMC has it).
Their settings were chosen in their favour, by macro F1 on the test rows of split 0 with their best
decision rule, over 1,000 and 22,090 documents: among C = 0.1, 0.3, 1, 2, 5 (PA) and alpha = 1e-4,
1e-5, averaged or not, and 3e-5 (SGD). The batch SVM has C = 1; no other was tried. FBR = 0.1 is the
best of 0, 0.1, 0.2, 0.3 by the same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from labelweave._common.arrays import Floats, Indicators
from labelweave.decision import ClassMassNormalization, FixedThreshold, TunedThresholds

Scorer = Callable[[Any], Floats]

FOLDS = 3
# Labels with a lower out-of-fold F1 get the highest score as threshold: tuned on their few rows,
# they would cost all peers much of their micro F1.
FBR = 0.1


def passive_aggressive(C: float = 2.0) -> SGDClassifier:
    """PA-I, one pass: scikit-learn's PassiveAggressiveClassifier is now a setting of its SGD."""
    return SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=C, **_one_pass())


def stochastic_gradient(alpha: float = 1e-4, average: bool = False) -> SGDClassifier:
    """Hinge loss, one pass."""
    return SGDClassifier(loss="hinge", alpha=alpha, average=average, **_one_pass())


def _one_pass() -> dict[str, Any]:
    return {"max_iter": 1, "tol": None, "shuffle": False, "random_state": 0}


def batch_svm(C: float = 1.0) -> LinearSVC:
    """Return the batch learner, which sees every row many times."""
    return LinearSVC(C=C, random_state=0)


PEERS: dict[str, Callable[[], Any]] = {
    "PA": passive_aggressive,
    "SGD": stochastic_gradient,
    "SVM": batch_svm,
}


def fit_scorer(make: Callable[[], Any], X: Any, Y: Indicators) -> Scorer:
    """Fit one classifier per label; a label with a single class gets a constant score."""
    weights, intercepts = np.zeros((Y.shape[1], X.shape[1])), np.zeros(Y.shape[1])
    for label, y in enumerate(Y.T):
        if y.min() == y.max():
            intercepts[label] = 1.0 if y[0] else -1.0
            continue
        model = make().fit(X, y)
        weights[label], intercepts[label] = model.coef_[0], model.intercept_[0]
    return lambda rows: np.asarray(rows @ weights.T + intercepts)


def out_of_fold_scores(make: Callable[[], Any], X: Any, Y: Indicators) -> Floats:
    """Scores of the training rows by classifiers that have not seen them."""
    scores = np.empty(Y.shape)
    for train, held_out in KFold(FOLDS).split(X):
        scores[held_out] = fit_scorer(make, X[train], Y[train])(X[held_out])
    return scores


def peer_labels(
    make: Callable[[], Any], X: Any, Y: Indicators, X_test: Any
) -> tuple[dict[str, NDArray[np.int8]], float]:
    """Return the labels of the test rows by each decision rule, and the CPU seconds of training.

    As in the paper, training is that of the final model; tuning by cross-validation comes on top.
    """
    start = time.process_time()
    scorer = fit_scorer(make, X, Y)
    seconds = time.process_time() - start
    rates = Y.mean(axis=0)
    tuned = TunedThresholds(fbr=FBR).informed(rates, (out_of_fold_scores(make, X, Y), Y))
    rules = {
        "0": FixedThreshold(0.0),
        "CV": tuned,
        "CMN": ClassMassNormalization(rates, fallback=0.0),
    }
    scores = scorer(X_test)
    return {name: rule.label(scores) for name, rule in rules.items()}, seconds
