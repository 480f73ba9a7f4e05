"""Posteriors learned apart, made into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats
from labelweave.online.classifier import BayesianOnlineClassifier
from labelweave.online.state import OnlineState

# Features that are merged at a time: float64 copies of all states' weights would be large.
_TILE = 4096
# Evidence that contradicts itself (possible with wrongly recorded labels) takes no more than this
# share of the prior's precision away.
_LEAST_PRECISION = 1e-3


def merge(
    *models: BayesianOnlineClassifier, prior: BayesianOnlineClassifier | None = None
) -> BayesianOnlineClassifier:
    """Return one model of what several learned from different rows.

    Evidence adds up in natural parameters, so rows can be learned in parts, on several machines
    say. Merging all models at once gives the same bits in any order of them.

    Parameters
    ----------
    *models : BayesianOnlineClassifier
        With the same parameters and labels. Not changed.
    prior : BayesianOnlineClassifier, optional
        The model that all of them were copies of when they began to learn; by default they began
        from nothing.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.online import BayesianOnlineClassifier, merge
    >>> data = load_emotions()
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
    states = [model.state_ for model in models]
    state = merge_states(states, None if prior is None else prior.state_)
    merged.adopt(state, widest._encoding.names)
    merged._learned(state, widest._encoding, models[0]._draws)
    if (names := _feature_names(longest)) is not None:
        merged.feature_names_in_ = names
    return merged


def _check_same_labels(model: BayesianOnlineClassifier, other: BayesianOnlineClassifier) -> None:
    mine, others = model._encoding, other._encoding
    same_classes = mine.single == others.single and _agree(mine.classes, others.classes)
    if not same_classes or (mine.single and len(mine.classes) != len(others.classes)):
        raise ValueError("models that are merged must have the same classes")
    if not _agree(mine.names, others.names):
        raise ValueError("models that are merged must have the same labels")


def _feature_names(model: BayesianOnlineClassifier) -> Any:
    return getattr(model, "feature_names_in_", None)


def _agree(part: Any, whole: Any) -> bool:
    """Whether both are unknown, or `part` is how `whole` begins."""
    if part is None or whole is None:
        return part is whole
    return np.array_equal(np.asarray(part), np.asarray(whole)[: len(part)])


def merge_states(states: Sequence[OnlineState], prior: OnlineState | None = None) -> OnlineState:
    """Return the posterior of all the rows that the states learned from.

    What a state learned is its posterior minus the prior, in natural parameters (1/σ², μ/σ²);
    that of several states adds up. The sum is the same bits in whatever order the states come.

    Parameters
    ----------
    states : sequence of OnlineState
        Learned on different rows from the same prior, with the same settings. One that knows fewer
        features or labels has nothing to say about the others.
    prior : OnlineState, optional
        What all states started from; by default the prior of the settings.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.eye(2), np.array([[1], [0]], dtype=np.int8)
    >>> shards = [OnlineState(2, 1), OnlineState(2, 1)]
    >>> for shard, row in zip(shards, (0, 1)):
    ...     shard.update(X[[row]], Y[[row]])
    >>> merge_states(shards).n_rows
    2
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
    merged._row_scale.sums = _added([s._row_scale.sums for s in known], start._row_scale.sums)
    counts = _added([s._calibration.counts for s in known], start._calibration.counts)
    merged._calibration.counts = np.maximum(counts, 0.0)  # each may have forgotten the start's
    # What was learned of rows divided by one length, for rows divided by another.
    scales = [s.row_length / merged.row_length for s in (*known, start)]
    for number, panel in enumerate(merged.panels()):
        for first in range(0, len(panel), _TILE):
            tile = slice(first, first + _TILE)
            panel[tile, 0], panel[tile, 1] = _combined(
                [
                    _evidence(s.panel_moments(number, tile), settings.prior_variance, scale, first)
                    for s, scale in zip((*known, start), scales, strict=True)
                ],
                settings.prior_variance,
            )
    biases = [_evidence(s.bias_moments, settings.bias_prior) for s in (*known, start)]
    merged.set_bias(*_combined(biases, settings.bias_prior))
    for name in ("positives", "observed"):
        before = getattr(start, name)
        setattr(merged, name, before + sum(getattr(state, name) - before for state in known))
    merged.n_rows = start.n_rows + sum(state.n_rows - start.n_rows for state in known)
    merged.mark_current()
    return merged


def _grown(state: OnlineState, target: OnlineState) -> OnlineState:
    """Return the state with all features and labels of the target, a copy if any are missing."""
    if (state.n_features, state.n_labels) == (target.n_features, target.n_labels):
        return state
    grown = state.copy()
    grown.grow(target.n_features, target.n_labels)
    return grown


def _evidence(
    moments: tuple[NDArray[np.floating], NDArray[np.floating]],
    prior_variance: float,
    scale: float = 1.0,
    first: int = 1,
) -> tuple[Floats, Floats]:
    """Precision and weighted mean beyond the prior's, for features `scale` times as small.

    The constant feature, number 0, is not scaled; `first` is the number of the first feature here.
    """
    mean, variance = (values.astype(np.float64) for values in moments)
    scales = np.full((len(mean),) + (1,) * (mean.ndim - 1), scale)
    if first == 0:
        scales[0] = 1.0
    return (1 / variance - 1 / prior_variance) * scales**2, mean / variance * scales


def _combined(
    evidence: Sequence[tuple[Floats, Floats]], prior_variance: float
) -> tuple[Floats, Floats]:
    """Mean and variance by the evidence of several states and, last, of what all began with."""
    *precisions, common_precision = (precision for precision, _ in evidence)
    *weighted, common_weighted = (mean for _, mean in evidence)
    precision = 1 / prior_variance + _added(precisions, common_precision)
    precision = np.maximum(precision, _LEAST_PRECISION / prior_variance)
    return _added(weighted, common_weighted) / precision, 1 / precision


def _added(values: Sequence[Floats], start: Floats) -> Floats:
    """Add to the start what each of the values has beyond it."""
    return start + _sum(np.stack(values) - start)


def _sum(terms: Floats) -> Floats:
    """Sum over the first axis, smallest first: the same bits for any order of the terms."""
    total = np.zeros(terms.shape[1:])
    for term in np.sort(terms, axis=0):
        total += term
    return total
