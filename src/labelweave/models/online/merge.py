"""Models.online.merge.

Merge posteriors that were learned apart.

Weights that change over time: filtering and smoothing over periods (section 3.2).

Between two periods every weight takes a step of a random walk, w_{t+1} = w_t + N(0, drift).
Learning goes forward: a period begins with the posterior of the one before, its variances raised by
the drift (`drifted`). Going back (`smooth`) lets each period learn from those after it: the
Rauch–Tung–Striebel recursion, exact for Gaussians, one weight at a time because the posterior is
diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number
from labelweave.models.online.classifier import BayesianOnlineClassifier
from labelweave.models.online.evidence import Evidence, added
from labelweave.models.online.state import OnlineState

# Features that are merged at a time: float64 copies of all states' weights would be large.
_TILE = 4096


def merge(
    *models: BayesianOnlineClassifier, prior: BayesianOnlineClassifier | None = None
) -> BayesianOnlineClassifier:
    """Return one model of what several learned from different rows.

    Evidence adds up in natural parameters, so rows can be learned in parts, for example on several
    machines. Merging all models at once gives the same bits in any order of them.

    Parameters
    ----------
    *models : BayesianOnlineClassifier
        With the same parameters and labels. Not changed.
    prior : BayesianOnlineClassifier, optional
        The model that all of them were copies of when they began to learn; by default they began
        from nothing.

    Examples
    --------
    >>> from labelweave import load
    >>> from labelweave import BayesianOnlineClassifier
    >>> from labelweave.models.online import merge
    >>> data = load("emotions")
    >>> halves = [
    ...     BayesianOnlineClassifier().partial_fit(data.X[half], data.Y[half])
    ...     for half in (slice(0, 300), slice(300, 593))
    ... ]
    >>> merge(*halves).state_.n_rows
    593
    """
    if not models:
        raise ValueError("there is nothing to merge: pass at least one model")
    together = models if prior is None else (*models, prior)
    for model in together:
        check_is_fitted(model)
    widest = max(together, key=lambda model: model.state_.n_labels)
    longest = max(together, key=lambda model: model.state_.n_features)
    for model in together:
        _check_same_labels(model, widest)
        if not _agree(_feature_names(model), _feature_names(longest)):
            raise ValueError("models that are merged must have the same features in the same order")
    merged = type(models[0])(**models[0].get_params(deep=False))
    return merged.adopt(
        merge_states([model.state_ for model in models], None if prior is None else prior.state_),
        _label_names(widest),
        classes=widest.classes_,
        feature_names=_feature_names(longest),
        seed=models[0].seed_,
    )


def _check_same_labels(model: BayesianOnlineClassifier, other: BayesianOnlineClassifier) -> None:
    mine, others = model.classes_, other.classes_
    # One-dimensional classes are the two values of one label, else there is a pair per label.
    if (
        mine.ndim != others.ndim
        or not _agree(mine, others)
        or (mine.ndim == 1 and len(mine) != len(others))
    ):
        raise ValueError("models that are merged must have the same classes")
    if not _agree(_label_names(model), _label_names(other)):
        raise ValueError("models that are merged must have the same labels")


def _label_names(model: BayesianOnlineClassifier) -> Any:
    return getattr(model, "label_names_in_", None)


def _feature_names(model: BayesianOnlineClassifier) -> Any:
    return getattr(model, "feature_names_in_", None)


def _agree(part: Any, whole: Any) -> bool:
    """Whether both are unknown, or `part` is how `whole` begins."""
    if part is None or whole is None:
        return part is whole
    return np.array_equal(part, whole[: len(part)])


def merge_states(states: Sequence[OnlineState], prior: OnlineState | None = None) -> OnlineState:
    """Return the posterior of all the rows that the states learned from.

    What a state learned is its posterior minus the prior, in natural parameters (1/σ², μ/σ²);
    that of several states adds up. The sum is the same bits in whatever order the states come.
    """
    if not states:
        raise ValueError("there is nothing to merge: pass at least one model")
    settings = states[0].settings
    if any(state.settings != settings for state in (*states, *([prior] if prior else []))):
        raise ValueError("models that are merged must have been made with the same parameters")
    n_features = max(state.n_features for state in states)
    n_labels = max(state.n_labels for state in states)
    start = OnlineState(settings=settings) if prior is None else prior.copy()
    start.grow(max(n_features, start.n_features), max(n_labels, start.n_labels))
    known = [_grown(state, start) for state in states]
    merged = start.copy()
    merged.set_counts(_merged_counts(known, start))
    for panel in range(merged.n_panels):
        for first in range(0, 1 + merged.n_features, _TILE):
            tile = slice(first, first + _TILE)
            # What was learned of rows divided by one length, for rows divided by another.
            evidence, common = (
                [state.weight_evidence(panel, tile, merged.row_length) for state in group]
                for group in (known, [start])
            )
            together = Evidence.sum(evidence, common[0])
            merged.set_weights(panel, tile, *together.moments(settings.prior_variance))
    biases = Evidence.sum([state.bias_evidence() for state in known], start.bias_evidence())
    merged.set_bias(*biases.moments(settings.bias_prior))
    merged.mark_current()
    return merged


def _merged_counts(states: Sequence[OnlineState], start: OnlineState) -> dict[str, NDArray[Any]]:
    """Return the counts of all states together, those of the common start once."""
    counts = [state.counts() for state in states]
    merged = {
        name: added([each[name] for each in counts], before).astype(before.dtype)
        for name, before in start.counts().items()
    }
    # Each state may have forgotten counts of the start.
    merged["calibration"] = np.maximum(merged["calibration"], 0.0)
    return merged


def _grown(state: OnlineState, target: OnlineState) -> OnlineState:
    """Return the state with all features and labels of the target, a copy if any are missing."""
    if (state.n_features, state.n_labels) == (target.n_features, target.n_labels):
        return state
    grown = state.copy()
    grown.grow(target.n_features, target.n_labels)
    return grown


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
    """Return mean and variance given the smoothed ones of the next period."""
    mean, variance = (np.asarray(values, dtype=np.float64) for values in filtered)
    gain = variance / (variance + drift)
    return mean + gain * (after[0] - mean), variance + gain**2 * (after[1] - variance - drift)
