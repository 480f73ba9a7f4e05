"""Weights of a mixture of models: those under which held-out rows are most probable.

The mixture Σ_k w_k P_k(y|x) of models that have not seen the rows is never worse on them than the
best of the models, and better where each is right about other rows (Breiman 1996; Yao, Vehtari,
Simpson and Gelman 2018, who call it stacking of predictive distributions). The mean log-likelihood
is concave in w, and EM climbs it; its gradient bounds what is left to gain.
"""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats

__all__ = ["pool_weights"]

# Nats per row that the weights may be from the best ones: far below what folds can tell.
_TOLERANCE = 1e-5
_MAX_ITERATIONS = 10_000


def pool_weights(log_probs: Floats, sample_weight: Floats | None = None) -> Floats:
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
    largest = log_probs.max(axis=1)
    possible = np.isfinite(largest)
    relative = np.exp(log_probs[possible] - largest[possible, None])
    share = np.ones(len(log_probs)) if sample_weight is None else sample_weight
    share = share[possible] / share[possible].sum() if possible.any() else share[possible]
    weights = np.full(log_probs.shape[1], 1 / log_probs.shape[1])
    for _ in range(_MAX_ITERATIONS):
        # The derivatives of the mean log-likelihood; their maximum is 1 at the best weights, and
        # by concavity no weights gain more than what it is above 1.
        gradient = (share / (relative @ weights)) @ relative
        if gradient.max(initial=0.0) <= 1 + _TOLERANCE:
            break
        weights = weights * gradient
    normalised: Floats = weights / weights.sum()
    return normalised
