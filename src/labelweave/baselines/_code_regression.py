"""Ridge regressions of all labels, and their out-of-fold predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import Ridge

from labelweave._common.arrays import Floats, Positions

#: Candidate penalties.
RIDGE_GRID = tuple(10.0 ** np.arange(-1, 5.1, 0.5))


def fit_ridge(X: Any, Y: Floats, weight: Floats, penalty: float) -> Ridge:
    """Fit Σ_n ω_n ‖y_n − Wx_n − b‖² + penalty ‖W‖² for all labels at once."""
    return Ridge(alpha=penalty, tol=1e-10).fit(X, Y, sample_weight=weight)


def out_of_fold_predictions(
    X: Any, Y: Floats, weight: Floats, penalty: float | str, fold: Positions
) -> tuple[Floats, float]:
    """Return the predicted labels of each row, fitted without its fold, and the penalty used.

    Parameters
    ----------
    X, Y, weight
        Training rows.
    penalty : float or "cv"
        "cv" takes the penalty of smallest out-of-fold squared error.
    fold : (n,) array of int
        If there is only one fold, nothing is left out.
    """
    candidates = RIDGE_GRID if penalty == "cv" else (float(penalty),)
    if not fold.any():
        middle = candidates[len(candidates) // 2]
        return _predict(fit_ridge(X, Y, weight, middle), X, Y), middle
    best, best_error, chosen = Y, np.inf, candidates[0]
    for candidate in candidates:
        predictions = np.empty_like(Y)
        for k in np.unique(fold):
            rest, here = fold != k, fold == k
            model = fit_ridge(X[rest], Y[rest], weight[rest], candidate)
            predictions[here] = _predict(model, X[here], Y)
        error = float((weight[:, None] * (predictions - Y) ** 2).sum())
        if error < best_error:
            best, best_error, chosen = predictions, error, candidate
    return best, chosen


def _predict(model: Ridge, X: Any, Y: Floats) -> Floats:
    return np.asarray(model.predict(X)).reshape(X.shape[0], Y.shape[1])
