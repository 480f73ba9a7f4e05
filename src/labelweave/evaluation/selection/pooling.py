"""Weights of a mixture of models: those under which held-out rows are most probable.

The mixture Σ_k w_k P_k(y|x) of models that have not seen the rows is never worse on them than the
best of the models, and better where each is right about other rows (Breiman 1996; Yao, Vehtari,
Simpson and Gelman 2018, who call it stacking of predictive distributions). The mean log-likelihood
is concave in w.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, minimize

from labelweave._common.arrays import Floats

__all__ = ["pool_weights"]

# Every model keeps this much, so that no row becomes impossible on the way.
_LEAST = 1e-12
# Weights are rounded to this many decimals: the order of the rows must not matter.
_DECIMALS = 6


def pool_weights(log_probs: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> Floats:
    """Return the weights of a mixture that maximise the mean log-likelihood of rows, (K,).

    Parameters
    ----------
    log_probs : (n, K) array
        Log-probability of the labels of each row under each model. Rows that are impossible under
        all of them have no say.
    sample_weight : (n,) array, optional

    Examples
    --------
    Two models that are right about other rows, and one that is never the best:

    >>> log_probs = np.log([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.8, 0.1, 0.2]])
    >>> pool_weights(log_probs).round(2)
    array([0.71, 0.29, 0.  ])
    """
    values, weight = _checked(log_probs, sample_weight)
    largest = values.max(axis=1)
    counts = np.isfinite(largest) & (weight > 0)
    n_models = values.shape[1]
    if n_models == 1 or not counts.any():
        return np.full(n_models, 1 / n_models)
    relative = np.exp(values[counts] - largest[counts, None])
    share = weight[counts] / weight[counts].sum()

    def loss(weights: Floats) -> float:
        return -float(share @ np.log(relative @ weights))

    def gradient(weights: Floats) -> Floats:
        return -np.asarray((share / (relative @ weights)) @ relative)

    found = minimize(
        loss,
        np.full(n_models, 1 / n_models),
        jac=gradient,
        bounds=[(_LEAST, 1)] * n_models,
        constraints=LinearConstraint(np.ones(n_models), 1, 1),
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    rounded = np.maximum(found.x, 0.0).round(_DECIMALS)
    weights: Floats = rounded / rounded.sum()
    return weights


def _checked(
    log_probs: npt.ArrayLike, sample_weight: npt.ArrayLike | None
) -> tuple[Floats, Floats]:
    values = np.asarray(log_probs, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"log_probs must be (n, K), K models; got shape {values.shape}")
    if np.isnan(values).any() or np.isposinf(values).any():
        raise ValueError("log_probs must be log-probabilities: finite, or -inf")
    n_rows = len(values)
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any():
        raise ValueError(
            f"sample_weight must be one finite, non-negative number for each of the {n_rows} rows"
        )
    return values, weight
