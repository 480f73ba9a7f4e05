"""Conditionals given the features and estimates of the labels: the second layer of a stack."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from labelweave.logistic.conditionals import (
    FINAL_TOLERANCE,
    LinearConditionals,
    linear_scores,
    warn_unless_converged,
)
from labelweave.logistic.path import choose_penalties
from labelweave.logistic.problem import (
    Floats,
    LogisticProblems,
    as_features,
    as_labels,
    as_weights,
)
from labelweave.logistic.row_keys import assign_folds
from labelweave.logistic.solver import solve_problems


def fit_on_estimates(
    X: Any,
    estimates: Floats,
    Y: ArrayLike,
    *,
    C: float | str = "cv",
    label_penalty: float | str = "cv",
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> LinearConditionals:
    """Fit P(y_j | x, estimates of all labels) for every label j by logistic regression.

    Parameters
    ----------
    X : (n, D) array or sparse matrix
    estimates : (n, L) array
        What is held of each label, its own included: probabilities, guesses of 0/1, frequencies
        among neighbours.
    Y : (n, L) array of 0/1
    C, label_penalty, sample_weight, seed, n_threads
        As in `fit_conditionals`; `label_penalty` is that of the estimates.

    Returns
    -------
    LinearConditionals
        Ask it for ``scores(X, estimates)``.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.logistic import fit_on_estimates
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0], [1], [0], [1]])
    >>> guess = np.array([[0.0], [1.0], [0.0], [1.0]])
    >>> model = fit_on_estimates(X, guess, Y, C=1.0, label_penalty=0.01)
    >>> (model.scores(X, guess) > 0).T.astype(int)
    array([[0, 1, 0, 1]])
    """
    labels, weights = as_labels(Y), as_weights(sample_weight)
    n_labels = labels.shape[1]
    problems = LogisticProblems(
        X=as_features(X),
        targets=labels,
        target_of=np.arange(n_labels, dtype=np.int32),
        C=np.ones((n_labels, 1)),
        extras=sp.csr_array(estimates),
        weights=None if weights is None else weights[:, None],
        total_weight=weights,
    )
    chosen = choose_penalties(
        problems, C=C, label_penalty=label_penalty, seed=seed, n_threads=n_threads
    )
    problems = replace(
        problems,
        C=np.full((n_labels, 1), chosen.C),
        extra_penalty=np.full((n_labels, 1), chosen.label_penalty),
    )
    solutions = solve_problems(problems, tol=FINAL_TOLERANCE, n_threads=n_threads)
    warn_unless_converged(solutions)
    return LinearConditionals(
        solutions.coef,
        solutions.intercept,
        solutions.extra_coef,
        chosen.C,
        chosen.label_penalty,
    )


def out_of_fold_scores(
    X: Any,
    Y: ArrayLike,
    *,
    C: float,
    n_folds: int = 5,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    n_threads: int = 1,
) -> Floats:
    """Log-odds of every label for every row, from a fit that has not seen the row, (n, L).

    Parameters
    ----------
    X : (n, D) array or sparse matrix
    Y : (n, L) array of 0/1
    C : float
        Inverse penalty of the features.
    n_folds : int
        Into how many parts the rows are dealt. Equal rows share a fold; where all rows are equal,
        there is one fold, and it sees all of them.
    sample_weight : (n,) array, optional
    seed : int
        Of the folds.
    n_threads : int
        Threads; 0 uses all cores. The result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.logistic import out_of_fold_scores
    >>> X = np.arange(20.0)[:, None]
    >>> scores = out_of_fold_scores(X, X > 9, C=1.0)
    >>> bool(((scores > 0) == (X > 9)).mean() > 0.85)
    True
    """
    features, labels, weights = as_features(X), as_labels(Y), as_weights(sample_weight)
    n_rows, n_labels = labels.shape
    total = np.ones(n_rows) if weights is None else weights
    fold, n_folds = assign_folds(features, total, n_folds, seed)
    inside = (fold[:, None] != np.arange(n_folds)) | (n_folds == 1)
    # A row left out of a fold has no weight there, so the problems of all folds share X.
    solutions = solve_problems(
        LogisticProblems(
            X=features,
            targets=labels,
            target_of=np.tile(np.arange(n_labels, dtype=np.int32), n_folds),
            C=np.full((n_folds * n_labels, 1), C),
            weights=np.where(inside, total[:, None], 0.0),
            weight_of=np.repeat(np.arange(n_folds, dtype=np.int32), n_labels),
            total_weight=total,
        ),
        tol=FINAL_TOLERANCE,
        n_threads=n_threads,
    )
    warn_unless_converged(solutions)
    scores = np.empty(labels.shape)
    for part in range(n_folds):
        rows = np.flatnonzero(fold == part)
        own = slice(part * n_labels, (part + 1) * n_labels)
        scores[rows] = linear_scores(
            features[rows], solutions.coef[own], solutions.intercept[own], n_threads
        )
    return scores
