"""Parts of the rows that are learned apart from each other: the sites of expectation propagation.

The posterior of all rows is approximated by the prior times one Gaussian term per part, its site:
p(w) Π_k s_k(w). In natural parameters a product is a sum, so the sites of parts that were learned
apart add up to the posterior (`SiteSum`). To learn part k once more, one starts from what all
the others know, the cavity p(w) Π_{j≠k} s_j(w) (`cavity`): the rows of the part are not counted
twice. The evidence that the part adds to the cavity is its new site (`site`).

Parts that are learned again at the same time all correct the same errors, and together overshoot.
So a site moves only 1/c of the way to its new value (`damped`), c being the number of parts that
know the feature: the posterior moves by the mean of the parts' corrections.

A part knows only the features that occur in it, and its state has a column for each of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.matrices import canonical_csr, without_empty_columns
from labelweave.data.files import Limits
from labelweave.data.row_text import RowBatch, RowStream
from labelweave.models.online.calibration import Calibration
from labelweave.models.online.evidence import (
    NaturalParameters,
    bias_parameters,
    weight_parameters,
)
from labelweave.models.online.panels import WeightPanels, Weights, check_room, longer, panel_slices
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from labelweave.models.online.stream import (
    LabelColumns,
    PrequentialF1,
    columns_of,
    from_first_label,
    predict_by_frequency,
)

# Weights that are worked on at a time, so that intermediate results stay in the cache.
_TOGETHER = 1 << 16
# Names of the counts that each label has.
BY_LABEL = ("positives", "observed", "calibration")


@dataclass(frozen=True)
class Site:
    """The evidence of one part of the rows, in natural parameters.

    The weights, (1 + k, L) float32 each, begin with those of the constant feature; they belong to
    features that are divided by `row_length`. The biases are (2, 1) or (2, L).
    """

    #: The features that occur in the part, in increasing order, (k,).
    features: Indices
    #: The number of each label.
    labels: tuple[int, ...]
    precision: Weights
    precision_mean: Weights
    row_length: float
    biases: Floats
    counts: Mapping[str, NDArray[Any]]

    def parameters(
        self, rows: slice, columns: slice | Indices, row_length: float
    ) -> NaturalParameters:
        """Return the evidence on some of the labels, for features divided by `row_length`."""
        learned = NaturalParameters(
            self.precision[rows, columns].copy(), self.precision_mean[rows, columns].copy()
        )
        own = slice(rows.start == 0, None)  # the constant feature is not scaled
        NaturalParameters(*(part[own] for part in learned)).scaled(self.row_length / row_length)
        return learned

    def of_features(self, chosen: Indices) -> Site:
        """Return the site of some of its features, by their position among them."""
        rows = np.append(0, 1 + chosen)
        weights = {"precision": self.precision[rows], "precision_mean": self.precision_mean[rows]}
        return replace(self, features=self.features[chosen], **weights)


def site(
    state: OnlineState, start: OnlineState | None, features: Indices, labels: Sequence[int]
) -> Site:
    """Return the evidence that a state has gained since it was `start`, by default the prior."""
    shape = (1 + state.n_features, state.n_labels)
    precision, precision_mean = np.empty((2, *shape), dtype=np.float32)
    for number, columns in enumerate(panel_slices(state.n_labels)):
        for rows in tiles(len(precision), columns):
            learned = weight_parameters(state, number, rows, state.row_length)
            if start is not None:
                learned -= weight_parameters(start, number, rows, state.row_length)
            precision[rows, columns], precision_mean[rows, columns] = learned
    biases, counts = bias_parameters(state), dict(state.counts())
    if start is not None:
        biases -= bias_parameters(start)
        counts = {name: counts[name] - before for name, before in start.counts().items()}
    weights = precision, precision_mean
    return Site(features, tuple(labels), *weights, state.row_length, np.array(biases), counts)


def cavity(posterior: OnlineState, labels: Sequence[int], own: Site) -> OnlineState:
    """Return the posterior of a part's features from all other parts, without its own site."""
    model, target = posterior.model, columns_of(own.labels, labels)
    start = OnlineState(len(own.features), posterior.n_labels, model=model)
    counts = {name: array.copy() for name, array in posterior.counts().items()}
    for name in BY_LABEL:
        counts[name][target] -= own.counts[name]
    counts["row_lengths"] -= own.counts["row_lengths"]
    # Calibration counts from row 0: it predicts as many rows as if the part came first.
    start.set_counts(consistent(counts) | {"n_rows": np.array(0)})
    of_posterior = np.append(0, 1 + own.features)
    for number, columns in enumerate(panel_slices(posterior.n_labels)):
        mine, place = inside(target, columns)
        for rows in tiles(len(of_posterior), columns):
            total = weight_parameters(posterior, number, of_posterior[rows], start.row_length)
            gained = own.parameters(rows, mine, start.row_length)
            for moment, difference in zip(total, gained, strict=True):
                moment[:, place] -= difference
            start.set_weights(number, rows, *total.moments(posterior.settings.prior_variance))
    biases = np.array(bias_parameters(posterior))
    biases[:, slice(None) if model.coupled else target] -= own.biases
    start.set_bias(*NaturalParameters(*biases).moments(model.bias_prior))
    return start


def damped(old: Site, new: Site, known_to: Indices, n_parts: int, *, coupled: bool) -> Site:
    """Return a site that has moved from its old value towards a new one."""
    share = np.float32(1.0) / np.append(n_parts, known_to[new.features])[:, None].astype(np.float32)
    target = columns_of(old.labels, new.labels)
    everything = slice(0, len(share))
    before = old.parameters(everything, slice(None), new.row_length)
    precision, precision_mean = share * new.precision, share * new.precision_mean
    precision[:, target] += (1.0 - share) * before.precision
    precision_mean[:, target] += (1.0 - share) * before.precision_mean
    biases = new.biases / n_parts
    biases[:, slice(None) if coupled else target] += (1.0 - 1.0 / n_parts) * old.biases
    return replace(new, precision=precision, precision_mean=precision_mean, biases=biases)


def tiles(n_rows: int, columns: slice) -> Iterator[slice]:
    step = max(1, _TOGETHER // max(1, columns.stop - columns.start))
    return (slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step))


def inside(target: Indices, columns: slice) -> tuple[slice | Indices, slice | Indices]:
    """Return which labels of a site lie in a panel, and where in it: slices if in order."""
    mine = np.flatnonzero((target >= columns.start) & (target < columns.stop))
    place = target[mine] - columns.start
    if len(mine) and (np.diff(mine) == 1).all() and (np.diff(place) == 1).all():
        return slice(mine[0], mine[-1] + 1), slice(place[0], place[-1] + 1)
    return mine, place


def consistent(counts: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return sums and differences of counts as counts, without rounding errors below zero."""
    lengths = counts["row_lengths"]
    return counts | {
        "calibration": np.maximum(counts["calibration"], 0.0),
        "row_lengths": lengths if lengths[1] > 0.5 else np.zeros(2),
    }


@dataclass(frozen=True)
class PartitionSummary:
    """The size of a part, and the malformed lines in it."""

    n_rows: int
    #: Features declared or seen.
    n_features: int
    n_bad: int = 0
    #: The error in the first malformed line.
    complaint: str = ""
    #: Whether the text declares its sizes, as XMC text does.
    declared: bool = False


class LearnedPartition(NamedTuple):
    """The site of a part, how well its rows were predicted beforehand, its size, and some rows."""

    site: Site
    quality: PrequentialF1
    summary: PartitionSummary
    sample: RowSample

    def of_sample(self) -> LearnedPartition:
        """Return the part for calibration: its sample, and its site for the sample's features."""
        X, used = without_empty_columns(self.sample.X)
        return self._replace(site=self.site.of_features(used), sample=RowSample(X, self.sample.Y))


class RowSample(NamedTuple):
    """Some rows of a part: X with a column for each of its features, and Y for its labels."""

    X: Any
    Y: Labels


def learn_partition(
    source: Any,
    model: ProbitModel,
    others: tuple[OnlineState, tuple[int, ...]] | None = None,
    own: Site | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    batch_rows: int = 1000,
    score: bool = False,
    n_sampled: int = 0,
    limits: Limits | None = None,
) -> LearnedPartition:
    """Learn from a part of the rows, a file or a pair of arrays, held in memory as a whole.

    If a part is learned again, `others` holds the posterior of all parts and its labels, and `own`
    the site of this part.
    """
    known = () if others is None else others[1]
    limits = limits or Limits()
    X, Y, labels, summary = _read(source, known, options or {}, limits)
    X, features = without_empty_columns(canonical_csr(X))
    check_room(limits, len(features), len(labels), min(batch_rows, len(Y)), str(source))
    start = None
    if others is None or own is None:
        state = OnlineState(len(features), len(labels), model=model)
    else:
        if labels != known or not np.array_equal(features, own.features):
            raise ValueError(f"{source} has changed since the round before")
        start = cavity(*others, own)
        state = start.copy()
    quality = PrequentialF1()
    for first in range(0, len(Y) if labels else 0, batch_rows):
        rows = slice(first, first + batch_rows)
        if score and state.positives.any():
            quality.add(Y[rows] == 1, predict_by_frequency(state, X[rows]))
        state.update(X[rows], Y[rows])
    chosen = np.unique(np.linspace(0, len(Y) - 1, min(n_sampled, len(Y)), dtype=np.int64))
    sample = RowSample(X[chosen], np.asarray(Y[chosen], dtype=np.int8))
    return LearnedPartition(site(state, start, features, labels), quality, summary, sample)


def calibrate(state: OnlineState, labels: Sequence[int], parts: Iterable[LearnedPartition]) -> None:
    """Calibrate the posterior of several parts by sampled rows, each predicted by other parts only.

    Calibration of a part that was learned alone says little about how sure all parts are together.
    """
    counts = {name: array.copy() for name, array in state.counts().items()}
    calibration = Calibration()
    calibration.grow(state.n_labels)
    for part in parts:
        others = cavity(state, labels, part.site)
        X, known = part.sample
        Y = np.full((X.shape[0], state.n_labels), -1, dtype=np.int8)
        Y[:, columns_of(part.site.labels, labels)] = known
        calibration.add(others.latent_of(*others.moments(X)).z, Y)
    state.set_counts(counts | {"calibration": calibration.counts})


def _read(
    source: Any, known: tuple[int, ...], options: Mapping[str, Any], limits: Limits
) -> tuple[Any, Labels, tuple[int, ...], PartitionSummary]:
    if isinstance(source, tuple):
        X, Y = source
        X, Y = sparse.csr_array(X), np.asarray(Y)
        return X, Y, tuple(range(Y.shape[1])), PartitionSummary(*X.shape)
    with RowStream(source, **options) as stream:
        batches = list(stream.batches(1000))
        declared = stream.header
        _, n_features, n_labels = declared or (0, 0, stream.options["n_labels"] or 0)
    labels = np.concatenate([np.zeros(0, np.int32), *(batch.labels for batch in batches)])
    starts = np.cumsum(np.concatenate([[0], *(np.diff(batch.label_starts) for batch in batches)]))
    n_rows, columns = len(starts) - 1, LabelColumns(known or range(n_labels))
    n_labels = columns.count_with(labels)
    limits.check_memory(n_rows * n_labels, f"{n_rows:,} rows × {n_labels:,} labels", source)
    none_known = not columns.numbers
    columns, Y = columns.read(labels, starts)
    X = _joined(batches, n_features)
    summary = PartitionSummary(
        n_rows,
        X.shape[1],
        sum(batch.n_bad for batch in batches),
        next((batch.complaint for batch in batches if batch.complaint), ""),
        declared is not None,
    )
    X, Y = from_first_label(X, Y) if none_known else (X, Y)
    return X, Y, columns.numbers, summary


def _joined(batches: Sequence[RowBatch], n_features: int) -> Any:
    """Return the rows of all batches, with at least so many features."""
    width = max([n_features, *(batch.X.shape[1] for batch in batches)])
    parts: list[Any] = [sparse.csr_array((0, width)), *(batch.X for batch in batches)]
    for part in parts:
        part.resize(part.shape[0], width)
    return sparse.vstack(parts, format="csr")


class SiteSum:
    """Sites of parts, added one by one: they need not all be held in memory.

    The sum depends on their order, to the last bit. It is kept in float32, as the posterior is: a
    thousand equal parts, the worst case, change a weight by 3e-5 of itself.
    """

    def __init__(self, model: ProbitModel, limits: Limits | None = None) -> None:
        self.model, self.limits = model, limits
        #: The numbers of the labels of all parts, in the order in which the parts met them.
        self.labels: tuple[int, ...] = ()
        self._n_features = 0
        self._panels = WeightPanels(prior_variance=0.0)  # sums that begin with nothing
        self._row_length: float | None = None
        self._biases = np.zeros((2, 1 if model.coupled else 0))
        self._counts = {name: array.copy() for name, array in OnlineState().counts().items()}

    def add(self, site: Site) -> None:
        self._make_room(site)
        target = columns_of(site.labels, self.labels)
        for name, array in site.counts.items():
            if name in BY_LABEL:
                self._counts[name][target] += array
            else:
                self._counts[name] = self._counts[name] + array
        self._biases[:, slice(None) if self.model.coupled else target] += site.biases
        if not site.counts["n_rows"]:
            return
        # Sums are for features divided by the row length of the first part, whatever its size.
        self._row_length = self._row_length or site.row_length
        panels = zip(self._panels.views(), panel_slices(len(self.labels)), strict=True)
        for panel, columns in panels:
            mine, place = inside(target, columns)
            for rows in tiles(len(site.precision), columns):
                into = np.append(0, 1 + site.features)[rows]
                into = into if isinstance(place, slice) else into[:, None]
                for moment, gained in enumerate(site.parameters(rows, mine, self._row_length)):
                    panel[into, moment, place] += gained

    def posterior(self, n_features: int = 0) -> OnlineState:
        """Return the posterior of all parts together, with `n_features` or more features."""
        sizes = max(n_features, self._n_features), len(self.labels)
        state = OnlineState(*sizes, model=self.model)
        state.set_counts(consistent(self._counts))
        scale = (self._row_length or 1.0) / state.row_length
        for number, panel in enumerate(self._panels.views()):
            for rows in tiles(len(panel), panel_slices(sizes[1])[number]):
                total = NaturalParameters(*np.moveaxis(panel[rows], 1, 0).copy())
                constant = rows.start == 0
                NaturalParameters(*(part[constant:] for part in total)).scaled(scale)
                state.set_weights(number, rows, *total.moments(state.settings.prior_variance))
        state.set_bias(*NaturalParameters(*self._biases).moments(self.model.bias_prior))
        state.mark_current()
        return state

    def _make_room(self, site: Site) -> None:
        labels = tuple(dict.fromkeys((*self.labels, *site.labels)))
        last = int(site.features[-1]) + 1 if len(site.features) else 0
        n_features = max(self._n_features, last)
        if self.limits is not None:
            check_room(self.limits, n_features, len(labels), 0, "all partitions together")
        self.labels, self._n_features = labels, n_features
        self._panels.grow(1 + self._n_features, len(self.labels))
        for name in BY_LABEL:
            self._counts[name] = longer(self._counts[name], len(self.labels))
        if not self.model.coupled:
            self._biases = longer(self._biases.T, len(self.labels)).T


def posterior_of(
    sites: Iterable[Site], model: ProbitModel, n_features: int = 0
) -> tuple[OnlineState, tuple[int, ...]]:
    """Return the posterior of some parts together, and the numbers of its labels."""
    total = SiteSum(model)
    for site in sites:
        total.add(site)
    return total.posterior(n_features), total.labels
