"""Posteriors as evidence: merging those that were learned apart, and weights that drift.

In natural parameters (precision 1/σ², and μ/σ²) evidence adds up: the posterior of independent rows
is the prior plus what each part of them has taught. So posteriors that were learned apart, from the
same start, are merged by one sum.

Weights that change over time take a step of a random walk between two periods, w_{t+1} = w_t +
N(0, drift) (section 3.2 of the paper). Learning goes forward: a period begins with the posterior of
the one before, its variances raised by the drift (`drifted`). Going back, each period learns from
those after it (`smooth`): the Rauch–Tung–Striebel recursion, exact for Gaussians, one weight at a
time because the posterior is diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Indices
from labelweave._common.checks import check_number
from labelweave.models.online.classifier import BayesianOnlineClassifier
from labelweave.models.online.state import OnlineState

Reals = NDArray[np.floating]
Moments = tuple[Reals, Reals]
# Features that are merged at a time: float64 copies of all states' weights would be large.
_TILE = 4096
# Evidence that contradicts itself, as with wrongly recorded labels, leaves at least this share of
# the prior's precision.
_LEAST_PRECISION = 1e-3


class NaturalParameters(NamedTuple):
    """Evidence beyond a prior N(0, v): 1/σ² − 1/v and μ/σ², arrays of one shape."""

    precision: Reals
    precision_mean: Reals

    @classmethod
    def of(
        cls, mean: Reals, variance: Reals, prior_variance: float, scale: float | Reals = 1.0
    ) -> NaturalParameters:
        """Return the evidence in a Gaussian, for a weight whose feature is divided by `scale`."""
        precision = np.reciprocal(variance)
        precision_mean = mean * precision
        # Rounded as the precision is, so that a weight that learned nothing has none.
        precision -= np.reciprocal(precision.dtype.type(prior_variance))
        return cls(precision, precision_mean).scaled(scale)

    def scaled(self, scale: float | Reals) -> NaturalParameters:
        """Return the evidence for a weight whose feature is divided by `scale`, in place."""
        if np.any(scale != 1.0):
            self.precision[...] *= np.square(scale)
            self.precision_mean[...] *= scale
        return self

    @classmethod
    def sum(
        cls, evidence: Sequence[NaturalParameters], common: NaturalParameters
    ) -> NaturalParameters:
        """Add up the evidence of several learners, counting their `common` start once."""
        return cls(*map(added, zip(*evidence, strict=True), common))

    def __sub__(self, other: NaturalParameters) -> NaturalParameters:
        return NaturalParameters(
            self.precision - other.precision, self.precision_mean - other.precision_mean
        )

    def moments(self, prior_variance: float) -> Moments:
        precision = np.maximum(
            1 / prior_variance + self.precision, _LEAST_PRECISION / prior_variance
        )
        variance = np.reciprocal(precision, out=precision)
        return self.precision_mean * variance, variance


def added(values: Sequence[NDArray[Any]], start: NDArray[Any]) -> Floats:
    """Add the differences of the values from `start` to it, with the same bits in any order."""
    total = np.zeros(np.shape(start))
    for term in np.sort(np.stack(values) - start, axis=0):  # the smallest first
        total += term
    return np.asarray(start + total)


def weight_parameters(
    state: OnlineState, panel: int, rows: slice | Indices, row_length: float
) -> NaturalParameters:
    """Return the evidence about weights of one panel, for features divided by `row_length`."""
    moments = state.panel_moments(panel, rows)
    numbers = np.arange(1 + state.n_features)[rows, None] if state.row_length != row_length else 0
    # The constant feature is not scaled.
    scale = np.where(numbers, state.row_length / row_length, 1.0)
    return NaturalParameters.of(*moments, state.settings.prior_variance, scale)


def bias_parameters(state: OnlineState) -> NaturalParameters:
    """Return the evidence about all biases, (1,) or (L,)."""
    return NaturalParameters.of(*state.bias_moments, state.model.bias_prior)


def merge(
    *models: BayesianOnlineClassifier, prior: BayesianOnlineClassifier | None = None
) -> BayesianOnlineClassifier:
    """Return one model of all the rows that several models learned from.

    Rows can be learned in parts, for example on several machines: the evidence adds up. Merging all
    models at once gives the same bits in any order of them.

    Parameters
    ----------
    *models : BayesianOnlineClassifier
        Models with the same parameters and labels, fitted to different rows; they do not change.
    prior : BayesianOnlineClassifier, optional
        The model that all of them were copies of when they began to learn; by default they began
        from nothing.

    Returns
    -------
    BayesianOnlineClassifier
        A new model, which can go on learning.

    Examples
    --------
    >>> from labelweave import BayesianOnlineClassifier, load
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
        # One-dimensional classes are the two values of one label, else there is a pair per label.
        same = model.classes_.ndim == widest.classes_.ndim and _agree(model, widest, "classes_")
        if not same or (model.classes_.ndim == 1 and len(model.classes_) != len(widest.classes_)):
            raise ValueError("models that are merged must have the same classes")
        if not _agree(model, widest, "label_names_in_"):
            raise ValueError("models that are merged must have the same labels")
        if not _agree(model, longest, "feature_names_in_"):
            raise ValueError("models that are merged must have the same features in the same order")
    merged = type(models[0])(**models[0].get_params(deep=False))
    return merged.adopt(
        merge_states([model.state_ for model in models], None if prior is None else prior.state_),
        getattr(widest, "label_names_in_", None),
        classes=widest.classes_,
        feature_names=getattr(longest, "feature_names_in_", None),
        seed=models[0].seed_,
    )


def _agree(part: Any, whole: Any, name: str) -> bool:
    """Whether both models lack the attribute, or the whole's begins with the part's."""
    mine, others = getattr(part, name, None), getattr(whole, name, None)
    if mine is None or others is None:
        return mine is others
    return np.array_equal(mine, others[: len(mine)])


def merge_states(states: Sequence[OnlineState], prior: OnlineState | None = None) -> OnlineState:
    """Return the posterior of all the rows that the states learned from since the `prior`."""
    model = states[0].model
    start = OnlineState(model=model) if prior is None else prior.copy()
    if any(state.model != model for state in (*states, start)):
        raise ValueError("models that are merged must have been made with the same parameters")
    start.grow(*_widest([*states, start]))
    known = [_grown(state, start) for state in states]
    merged = start.copy()
    merged.set_counts(_merged_counts(known, start))
    for panel in range(merged.n_panels):
        for first in range(0, 1 + merged.n_features, _TILE):
            tile = slice(first, first + _TILE)
            # The states divided features by different lengths.
            common, *parts = (
                weight_parameters(state, panel, tile, merged.row_length)
                for state in (start, *known)
            )
            together = NaturalParameters.sum(parts, common)
            merged.set_weights(panel, tile, *together.moments(merged.settings.prior_variance))
    biases = NaturalParameters.sum(list(map(bias_parameters, known)), bias_parameters(start))
    merged.set_bias(*biases.moments(model.bias_prior))
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


def _widest(states: Sequence[OnlineState]) -> tuple[int, int]:
    return max(state.n_features for state in states), max(state.n_labels for state in states)


def drifted(state: OnlineState, drift: float) -> OnlineState:
    """Return the posterior at the beginning of the next period, as a copy.

    Parameters
    ----------
    state : OnlineState
        The posterior at the end of a period: ``model.state_``.
    drift : float
        Variance of the change of every weight and bias from one period to the next.

    Returns
    -------
    OnlineState
        The same means, with larger variances. `BayesianOnlineClassifier.adopt` takes it over, to go
        on learning from it.

    Examples
    --------
    >>> from labelweave import BayesianOnlineClassifier
    >>> from labelweave.models.online import drifted
    >>> model = BayesianOnlineClassifier().partial_fit([[0.0], [0.0]], [[1, 0], [0, 1]])
    >>> model.variance_[0, 0], drifted(model.state_, 0.5).variance[0, 0]
    (np.float32(0.1), np.float32(0.6))
    """
    later = state.copy()
    check_number(drift, "drift", minimum=0)
    for panel in range(later.n_panels):
        mean, variance = state.panel_moments(panel)
        later.set_weights(panel, slice(None), mean, variance + np.float32(drift))
    if state.model.likelihood == "bias":
        later.set_bias(state.bias_moments[0], state.bias_moments[1] + drift)
    later.mark_current()
    return later


def smooth(states: Sequence[OnlineState], drift: float) -> list[OnlineState]:
    """Return the posterior of each period given the rows of all periods.

    Parameters
    ----------
    states : sequence of OnlineState
        The posteriors at the ends of consecutive periods; each period began with `drifted` of the
        one before. They do not change.
    drift : float
        Variance of the change from one period to the next, as in `drifted`.

    Returns
    -------
    list of OnlineState
        Copies, of which only the moments of weights and biases differ; the last one is unchanged.

    Examples
    --------
    The weight of a feature that occurs in the second period only:

    >>> from labelweave import BayesianOnlineClassifier
    >>> from labelweave.models.online import drifted, smooth
    >>> first = BayesianOnlineClassifier().partial_fit([[0.0], [0.0]], [[1, 0], [0, 1]])
    >>> second = BayesianOnlineClassifier().adopt(drifted(first.state_, 0.01))
    >>> for _ in range(3):
    ...     second = second.partial_fit([[1.0]], [[1, 0]])
    >>> earlier, later = smooth([first.state_, second.state_], 0.01)
    >>> bool(earlier.mean[0, 0] > first.mean_[0, 0] == 0.0)
    True
    >>> bool(earlier.variance[0, 0] < first.variance_[0, 0])
    True
    """
    check_number(drift, "drift", minimum=0)
    if not states:
        raise ValueError("there is nothing to smooth: pass at least one state")
    if any(state.model != states[0].model for state in states):
        raise ValueError("states that are smoothed must have been made with the same parameters")
    smoothed = [state.copy() for state in states]
    for state in smoothed:
        state.grow(*_widest(states))
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
    if now.model.likelihood == "bias":
        now.set_bias(*smoothed_moments(now.bias_moments, later.bias_moments, drift))
    now.mark_current()


def smoothed_moments(filtered: Moments, after: Moments, drift: float) -> tuple[Floats, Floats]:
    """Return mean and variance given the smoothed ones of the next period."""
    mean, variance = (np.asarray(values, dtype=np.float64) for values in filtered)
    gain = variance / (variance + drift)
    return mean + gain * (after[0] - mean), variance + gain**2 * (after[1] - variance - drift)
