"""Weights that change over time: filtering and smoothing over periods (section 3.2).

Between two periods every weight takes a step of a random walk, w_{t+1} = w_t + N(0, drift).
Learning goes forward: a period begins with the posterior of the one before, its variances raised by
the drift (`drifted`). Going back (`smooth`) lets each period learn from those after it: the
Rauch–Tung–Striebel recursion, exact for Gaussians, one weight at a time because the posterior is
diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number
from labelweave.online.state import OnlineState


def drifted(state: OnlineState, drift: float) -> OnlineState:
    """Return the state at the beginning of the next period, as a copy.

    Parameters
    ----------
    state : OnlineState
        At the end of a period.
    drift : float
        Variance of the change of every weight and bias from one period to the next.

    Examples
    --------
    >>> state = OnlineState(n_features=1, n_labels=1)
    >>> drifted(state, 0.5).variance
    array([[0.6]], dtype=float32)
    """
    later = state.copy()
    check_number(drift, "drift", minimum=0)
    for panel in range(later.n_panels):
        mean, variance = state.panel_moments(panel)
        later.set_weights(panel, slice(None), mean, variance + np.float32(drift))
    if state.settings.likelihood == "bias":
        later.set_bias(state.bias_moments[0], state.bias_moments[1] + drift)
    later.mark_current()
    return later


def smooth(states: Sequence[OnlineState], drift: float) -> list[OnlineState]:
    """Return the posterior of each period given the rows of all periods.

    Parameters
    ----------
    states : sequence of OnlineState
        The posteriors at the ends of consecutive periods; each period began with `drifted` of the
        one before. Not changed.
    drift : float
        Variance of the change from one period to the next.

    Returns
    -------
    list of OnlineState
        Copies that know more about their weights and the same otherwise; the last is as it was.

    Examples
    --------
    A weight that is learned in the second period only:

    >>> first = OnlineState(n_features=1, n_labels=1)
    >>> second = drifted(first, 0.01)
    >>> for y in (1, 1, 1):
    ...     second.update(np.ones((1, 1)), np.array([[y]]))
    >>> known = smooth([first, second], 0.01)[0]
    >>> bool(known.mean[0, 0] > 0), bool(known.variance[0, 0] < first.variance[0, 0])
    (True, True)
    """
    check_number(drift, "drift", minimum=0)
    if not states:
        raise ValueError("there is nothing to smooth: pass at least one state")
    if any(state.settings != states[0].settings for state in states):
        raise ValueError("states that are smoothed must have been made with the same parameters")
    smoothed = [state.copy() for state in states]
    n_features = max(state.n_features for state in states)
    n_labels = max(state.n_labels for state in states)
    for state in smoothed:
        state.grow(n_features, n_labels)
    for now, later in zip(smoothed[-2::-1], smoothed[:0:-1], strict=True):
        _learn_from_later(now, later, drift)
    return smoothed


def _learn_from_later(now: OnlineState, later: OnlineState, drift: float) -> None:
    # Weights belong to features divided by the mean length of rows so far, which differs.
    unit = np.full((1 + now.n_features, 1), now.row_length / later.row_length)
    unit[0] = 1.0  # the constant feature is not scaled
    for panel in range(now.n_panels):
        mean, variance = later.panel_moments(panel)
        after = mean * unit, variance * unit**2
        smoothed = smoothed_moments(now.panel_moments(panel), after, drift)
        now.set_weights(panel, slice(None), *smoothed)
    if now.settings.likelihood == "bias":
        now.set_bias(*smoothed_moments(now.bias_moments, later.bias_moments, drift))
    now.mark_current()


def smoothed_moments(
    filtered: tuple[NDArray[np.floating], NDArray[np.floating]],
    after: tuple[NDArray[np.floating], NDArray[np.floating]],
    drift: float,
) -> tuple[Floats, Floats]:
    """Return mean and variance given the smoothed ones of the next period.

    Examples
    --------
    >>> smoothed_moments((np.zeros(1), np.ones(1)), (np.ones(1), np.full(1, 0.5)), drift=1.0)
    (array([0.5]), array([0.625]))
    """
    mean, variance = (np.asarray(values, dtype=np.float64) for values in filtered)
    gain = variance / (variance + drift)
    return mean + gain * (after[0] - mean), variance + gain**2 * (after[1] - variance - drift)
