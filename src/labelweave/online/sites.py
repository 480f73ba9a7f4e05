r"""What parts of the rows taught, each apart from the others: the sites of expectation propagation.

The posterior of all rows is approximated by the prior times one Gaussian term per part, its site:
p(w) Π_k s_k(w). In natural parameters a product is a sum, so the sites of parts that were learned
apart add up to the posterior (`SiteSum`). To learn part k once more, one starts from what all
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
from labelweave.online.state import OnlineState

# Weights that are worked on at a time: what is made of them on the way stays in the cache.
_TOGETHER = 1 << 16
# What is counted label by label.
BY_LABEL = ("positives", "observed", "calibration")


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
        learned = Evidence(
            self.precision[rows, columns].copy(), self.precision_mean[rows, columns].copy()
        )
        own = slice(rows.start == 0, None)  # the constant feature is not scaled
        Evidence(*(part[own] for part in learned)).scaled(self.row_length / row_length)
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
        for rows in tiles(len(precision), columns):
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
    settings, target = posterior.settings, columns_of(own.labels, labels)
    start = OnlineState(len(own.features), posterior.n_labels, settings=settings)
    counts = {name: array.copy() for name, array in posterior.counts().items()}
    for name in BY_LABEL:
        counts[name][target] -= own.counts[name]
    counts["row_lengths"] -= own.counts["row_lengths"]
    start.set_counts(consistent(counts) | {"n_rows": np.array(0)})
    of_posterior = np.append(0, 1 + own.features)
    for number, columns in enumerate(panel_slices(posterior.n_labels)):
        mine, place = inside(target, columns)
        for rows in tiles(len(of_posterior), columns):
            total = posterior.weight_evidence(number, of_posterior[rows], start.row_length)
            for part, gained in zip(total, own.evidence(rows, mine, start.row_length), strict=True):
                part[:, place] -= gained
            start.set_weights(number, rows, *total.moments(settings.prior_variance))
    biases = np.array(posterior.bias_evidence())
    biases[:, slice(None) if settings.coupled else target] -= own.biases
    start.set_bias(*Evidence(*biases).moments(settings.bias_prior))
    return start


def damped(old: Site, new: Site, known_to: Indices, n_parts: int, *, coupled: bool) -> Site:
    """Return a site that has moved from its old value towards a new one.

    Parameters
    ----------
    old, new : Site
        Of the same part; the labels of the old one may be fewer and in another order.
    known_to : (D,) int array
        How many parts know each feature.
    n_parts : int
        How many parts there are, all of which know the constant feature and the biases.
    coupled : bool
        Whether all labels share one bias.
    """
    share = np.float32(1.0) / np.append(n_parts, known_to[new.features])[:, None].astype(np.float32)
    target = columns_of(old.labels, new.labels)
    everything = slice(0, len(share))
    before = old.evidence(everything, slice(None), new.row_length)
    precision, precision_mean = share * new.precision, share * new.precision_mean
    precision[:, target] += (1.0 - share) * before.precision
    precision_mean[:, target] += (1.0 - share) * before.precision_mean
    biases = new.biases / n_parts
    biases[:, slice(None) if coupled else target] += (1.0 - 1.0 / n_parts) * old.biases
    return replace(
        new,
        precision=precision,
        precision_mean=precision_mean,
        biases=biases,
    )


def tiles(n_rows: int, columns: slice) -> Iterator[slice]:
    """Return all rows in parts that are worked on at a time."""
    step = max(1, _TOGETHER // max(1, columns.stop - columns.start))
    return (slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step))


def columns_of(numbers: Sequence[int], among: Sequence[int]) -> Indices:
    """Return the column of each number."""
    column = {number: place for place, number in enumerate(among)}
    return np.array([column[number] for number in numbers], dtype=np.int64)


def inside(target: Indices, columns: slice) -> tuple[slice | Indices, slice | Indices]:
    """Return which labels of a site lie in a panel, and where in it: slices if in order."""
    mine = np.flatnonzero((target >= columns.start) & (target < columns.stop))
    place = target[mine] - columns.start
    if len(mine) and (np.diff(mine) == 1).all() and (np.diff(place) == 1).all():
        return slice(mine[0], mine[-1] + 1), slice(place[0], place[-1] + 1)
    return mine, place


def consistent(counts: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return sums and differences of counts as counts: rounding leaves nothing below zero."""
    lengths = counts["row_lengths"]
    return counts | {
        "calibration": np.maximum(counts["calibration"], 0.0),
        "row_lengths": lengths if lengths[1] > 0.5 else np.zeros(2),
    }
