"""A categorical distribution over labels: exactly one applies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax

from labelweave._common.arrays import Floats
from labelweave.joint import ChainJoint

# Log-odds that are as good as certain, and leave other log-odds their digits.
_CERTAIN = 100.0


def categorical_log_odds(log_odds: Floats) -> Floats:
    """Return the log-odds of each label given that exactly one of independent labels applies.

    Parameters
    ----------
    log_odds : (n, L) array
        Log-odds of each label on its own.

    Examples
    --------
    >>> categorical_log_odds(np.log([[1.0, 2.0, 5.0]])).round(3)  # 1:7, 2:6 and 5:3
    array([[-1.946, -1.099,  0.511]])
    """
    before, after = np.full((2, *log_odds.shape), -np.inf)
    before[:, 1:] = np.logaddexp.accumulate(log_odds, axis=1)[:, :-1]
    after[:, :-1] = np.logaddexp.accumulate(log_odds[:, ::-1], axis=1)[:, -2::-1]
    return np.asarray(log_odds - np.logaddexp(before, after))


def categorical_joint(log_odds: Floats, **options: Any) -> ChainJoint:
    """Return the distribution of independent labels, given that exactly one of them applies.

    P(only c) is proportional to the odds of label c. As a chain, label c is conditioned on no
    earlier label applying.

    Parameters
    ----------
    log_odds : (n, L) array
        Log-odds of each label on its own.
    **options
        As in `ChainJoint`.

    Examples
    --------
    >>> joint = categorical_joint(np.log([[1.0, 2.0, 5.0]]))
    >>> joint.marginals()
    array([[0.125, 0.25 , 0.625]])
    """
    log_p = log_softmax(log_odds, axis=1)
    # The probability that it is this label or a later one.
    left = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, ::-1]
    later = np.full_like(left, -np.inf)
    later[:, :-1] = left[:, 1:]
    scores = np.clip(log_p - later, -_CERTAIN, _CERTAIN)
    n_labels = log_odds.shape[1]
    coupling = np.tril(np.full((n_labels, n_labels), -2 * _CERTAIN), k=-1)
    return ChainJoint(scores, coupling, **options)
