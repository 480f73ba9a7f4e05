"""Merge posteriors that were learned apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave.online.classifier import BayesianOnlineClassifier
from labelweave.online.natural import Evidence, added
from labelweave.online.state import OnlineState

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

    Parameters
    ----------
    states : sequence of OnlineState
        Learned on different rows from the same prior, with the same settings. One that knows fewer
        features or labels has no evidence about the others.
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
