r"""What parts of the rows taught, each apart from the others: the sites of expectation propagation.

The posterior of all rows is approximated by the prior times one Gaussian term per part, its site:
p(w) Π_k s_k(w). In natural parameters a product is a sum, so the sites of parts that were learned
apart add up to the posterior (`posterior_of`). To learn part k once more, one starts from what all
the others know, the cavity p(w) Π_{j≠k} s_j(w) (`cavity`): the rows of the part are not counted
twice. What it has learned then, beyond the cavity, is its new site (`site`).

Parts that are learned again at the same time all mend the same errors, and together overshoot. So a
site moves only 1/c of the way to its new value (`damped`), c being the number of parts that know
the feature: the posterior moves by the mean of what these parts ask for.

A part knows only the features that occur in it, and its state has a column for each of those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats, Indices
from labelweave.online.natural import Evidence
from labelweave.online.panels import Weights, panel_slices
from labelweave.online.settings import OnlineSettings
from labelweave.online.state import OnlineState

# Weights that are worked on at a time, to bound what is held in float64.
_TOGETHER = 1 << 16
# What is counted label by label.
_BY_LABEL = ("positives", "observed", "calibration")


@dataclass(frozen=True)
class Site:
    """What one part of the rows taught, in natural parameters.

    Parameters
    ----------
    features : (k,) int64 array
        The features that occur in it, in increasing order.
    labels : tuple of int
        The number of each label.
    precision, precision_mean : (1 + k, L) float32 arrays
        Of the weights, first those of the constant feature, for features divided by `row_length`.
    row_length : float
        What its features were divided by.
    biases : (2, 1) or (2, L) array
        Precision and precision × mean of the biases.
    counts : dict of str to array
        What was counted, as `OnlineState.counts` has it.
    """

    features: Indices
    labels: tuple[int, ...]
    precision: Weights
    precision_mean: Weights
    row_length: float
    biases: Floats
    counts: Mapping[str, NDArray[Any]]

    def evidence(self, rows: slice, columns: slice | Indices, row_length: float) -> Evidence:
        """Return what was taught about some of the labels, for features divided by `row_length`."""
        scale = self.row_length / row_length
        learned = Evidence(
            np.multiply(self.precision[rows, columns], scale**2, dtype=np.float64),
            np.multiply(self.precision_mean[rows, columns], scale, dtype=np.float64),
        )
        if rows.start == 0:  # the constant feature is not scaled
            learned.precision[0] = self.precision[0, columns]
            learned.precision_mean[0] = self.precision_mean[0, columns]
        return learned

    def of_features(self, chosen: Indices) -> Site:
        """Return the site of some of its features, by their position among them."""
        rows = np.append(0, 1 + chosen)
        return replace(
            self,
            features=self.features[chosen],
            precision=self.precision[rows],
            precision_mean=self.precision_mean[rows],
        )


def site(
    state: OnlineState, start: OnlineState | None, features: Indices, labels: Sequence[int]
) -> Site:
    """Return what a state has learned since it was `start`, by default the prior.

    Examples
    --------
    >>> state = OnlineState(1, 1)
    >>> state.update(np.array([[1.0]]), np.array([[1]], dtype=np.int8))
    >>> site(state, None, np.array([7]), [0]).precision.shape
    (2, 1)
    """
    shape = (1 + state.n_features, state.n_labels)
    precision, precision_mean = np.empty((2, *shape), dtype=np.float32)
    for number, columns in enumerate(panel_slices(state.n_labels)):
        for rows in _tiles(len(precision), columns):
            learned = state.weight_evidence(number, rows, state.row_length)
            if start is not None:
                learned -= start.weight_evidence(number, rows, state.row_length)
            precision[rows, columns], precision_mean[rows, columns] = learned
    biases, counts = state.bias_evidence(), dict(state.counts())
    if start is not None:
        biases -= start.bias_evidence()
        counts = {name: counts[name] - before for name, before in start.counts().items()}
    return Site(
        features,
        tuple(labels),
        precision,
        precision_mean,
        state.row_length,
        np.array(biases),
        counts,
    )


def cavity(posterior: OnlineState, labels: Sequence[int], own: Site) -> OnlineState:
    """Return what all other parts know of a part's features: the posterior without its site.

    Rows are counted from 0 again, so that as many of them are predicted for calibration as if the
    part came first.

    Parameters
    ----------
    posterior : OnlineState
        Of all parts, over all features.
    labels : sequence of int
        The number of each of its labels.
    own : Site
        The site of the part.
    """
    settings, target = posterior.settings, _columns(own.labels, labels)
    start = OnlineState(len(own.features), posterior.n_labels, settings=settings)
    counts = {name: array.copy() for name, array in posterior.counts().items()}
    for name in _BY_LABEL:
        counts[name][target] -= own.counts[name]
    counts["row_lengths"] -= own.counts["row_lengths"]
    start.set_counts(_consistent(counts) | {"n_rows": np.array(0)})
    of_posterior = np.append(0, 1 + own.features)
    for number, columns in enumerate(panel_slices(posterior.n_labels)):
        mine, place = _inside(target, columns)
        for rows in _tiles(len(of_posterior), columns):
            total = posterior.weight_evidence(number, of_posterior[rows], start.row_length)
            for part, gained in zip(total, own.evidence(rows, mine, start.row_length), strict=True):
                part[:, place] -= gained
            start.set_weights(number, rows, *total.moments(settings.prior_variance))
    biases = np.array(posterior.bias_evidence())
    biases[:, slice(None) if settings.coupled else target] -= own.biases
    start.set_bias(*Evidence(*biases).moments(settings.bias_prior))
    return start


def damped(old: Site, new: Site, known_to: Indices, n_parts: int) -> Site:
    """Return a site that has moved from its old value towards a new one.

    Parameters
    ----------
    old, new : Site
        Of the same part; the labels of the old one may be fewer and in another order.
    known_to : (D,) int array
        How many parts know each feature.
    n_parts : int
        How many parts there are, all of which know the constant feature and the biases.
    """
    share = 1.0 / np.append(n_parts, known_to[new.features])[:, None]
    target = _columns(old.labels, new.labels)
    everything = slice(0, len(share))
    before = old.evidence(everything, slice(None), new.row_length)
    precision, precision_mean = share * new.precision, share * new.precision_mean
    precision[:, target] += (1.0 - share) * before.precision
    precision_mean[:, target] += (1.0 - share) * before.precision_mean
    biases = new.biases / n_parts
    coupled = old.biases.shape[1] != len(old.labels) or len(old.labels) == 1
    biases[:, slice(None) if coupled else target] += (1.0 - 1.0 / n_parts) * old.biases
    return replace(
        new,
        precision=precision.astype(np.float32),
        precision_mean=precision_mean.astype(np.float32),
        biases=biases,
    )


def posterior_of(
    sites: Sequence[Site], settings: OnlineSettings, n_features: int = 0
) -> tuple[OnlineState, tuple[int, ...]]:
    """Return the posterior of all parts together, and the numbers of its labels.

    Sites are added in the order given, to the last bit. Labels come in the order in which the parts
    met them.

    Parameters
    ----------
    sites : sequence of Site
        One for each part.
    settings : OnlineSettings
        With which they were learned.
    n_features : int, default=0
        The least number of features of the posterior.
    """
    labels = tuple(dict.fromkeys(number for each in sites for number in each.labels))
    widest = max((int(each.features[-1]) + 1 for each in sites if len(each.features)), default=0)
    state = OnlineState(max(n_features, widest), len(labels), settings=settings)
    targets = [_columns(each.labels, labels) for each in sites]
    state.set_counts(_summed_counts(sites, targets, state))
    for number, columns in enumerate(panel_slices(len(labels))):
        for rows in _tiles(1 + state.n_features, columns):
            total = np.zeros((2, rows.stop - rows.start, columns.stop - columns.start))
            for each, target in zip(sites, targets, strict=True):
                _add(each, total, rows, *_inside(target, columns), state.row_length)
            state.set_weights(number, rows, *Evidence(*total).moments(settings.prior_variance))
    biases = np.zeros((2, 1 if settings.coupled else len(labels)))
    for each, target in zip(sites, targets, strict=True):
        biases[:, slice(None) if settings.coupled else target] += each.biases
    state.set_bias(*Evidence(*biases).moments(settings.bias_prior))
    state.mark_current()
    return state, labels


def _tiles(n_rows: int, columns: slice) -> Iterator[slice]:
    step = max(1, _TOGETHER // max(1, columns.stop - columns.start))
    return (slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step))


def _columns(numbers: Sequence[int], among: Sequence[int]) -> Indices:
    """Return the column of each number."""
    column = {number: place for place, number in enumerate(among)}
    return np.array([column[number] for number in numbers], dtype=np.int64)


def _inside(target: Indices, columns: slice) -> tuple[slice | Indices, slice | Indices]:
    """Return which labels of a site lie in a panel, and where in it: slices if in order."""
    mine = np.flatnonzero((target >= columns.start) & (target < columns.stop))
    place = target[mine] - columns.start
    if len(mine) and (np.diff(mine) == 1).all() and (np.diff(place) == 1).all():
        return slice(mine[0], mine[-1] + 1), slice(place[0], place[-1] + 1)
    return mine, place


def _add(
    each: Site,
    total: Floats,
    rows: slice,
    mine: slice | Indices,
    place: slice | Indices,
    row_length: float,
) -> None:
    """Add what a site teaches about a tile of all features."""
    first, last = np.searchsorted(each.features, [rows.start - 1, rows.stop - 1])
    own = slice(first + (rows.start > 0), last + 1)  # row 0 is the constant feature
    tile_rows = 1 + each.features[first:last] - rows.start
    if rows.start == 0:
        tile_rows = np.append(0, tile_rows)
    for part, gained in zip(total, each.evidence(own, mine, row_length), strict=True):
        if isinstance(place, slice):
            part[tile_rows, place] += gained
        else:
            part[np.ix_(tile_rows, place)] += gained


def _summed_counts(
    sites: Sequence[Site], targets: Sequence[Indices], state: OnlineState
) -> dict[str, NDArray[Any]]:
    total = {name: np.zeros_like(array) for name, array in state.counts().items()}
    for each, target in zip(sites, targets, strict=True):
        for name, array in each.counts.items():
            if name in _BY_LABEL:
                total[name][target] += array
            else:
                total[name] += array
    return _consistent(total)


def _consistent(counts: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return sums and differences of counts as counts: rounding leaves nothing below zero."""
    lengths = counts["row_lengths"]
    return counts | {
        "calibration": np.maximum(counts["calibration"], 0.0),
        "row_lengths": lengths if lengths[1] > 0.5 else np.zeros(2),
    }
