"""Learn from one part of the rows, apart from all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Indices, Labels
from labelweave._common.features import canonical_csr, without_empty_columns
from labelweave.datasets.limits import Limits
from labelweave.datasets.row_stream import RowBatch, RowStream
from labelweave.online.calibration import Calibration
from labelweave.online.label_columns import LabelColumns
from labelweave.online.memory import check_room
from labelweave.online.prequential import PrequentialF1, predict_by_frequency
from labelweave.online.settings import OnlineSettings
from labelweave.online.sites import Site, cavity, columns_of, site
from labelweave.online.state import OnlineState


class Others(NamedTuple):
    """What a part learns beyond: the posterior of all parts and its labels, and its own site."""

    posterior: OnlineState
    labels: tuple[int, ...]
    own: Site


@dataclass(frozen=True)
class PartitionSummary:
    """The size of a part, and what was wrong with it.

    Parameters
    ----------
    n_rows, n_features : int
        Rows read, and features declared or seen.
    n_bad : int
        Malformed lines left out.
    complaint : str
        What is wrong with the first of them.
    declared : bool
        Whether the text declares its sizes, as XMC text does.
    """

    n_rows: int
    n_features: int
    n_bad: int = 0
    complaint: str = ""
    declared: bool = False


class LearnedPartition(NamedTuple):
    """What a part taught, how well its rows were predicted before, its size, and some rows."""

    site: Site
    quality: PrequentialF1
    summary: PartitionSummary
    sample: RowSample

    def of_sample(self) -> LearnedPartition:
        """Return what calibration needs: its sample, and what it taught of those features."""
        X, used = without_empty_columns(self.sample.X)
        return self._replace(site=self.site.of_features(used), sample=RowSample(X, self.sample.Y))


class RowSample(NamedTuple):
    """Some rows of a part: X with a column for each of its features, and Y for its labels."""

    X: Any
    Y: Labels


def learn_partition(
    source: Any,
    settings: OnlineSettings,
    others: Others | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    batch_rows: int = 1000,
    score: bool = False,
    n_sampled: int = 0,
    limits: Limits | None = None,
) -> LearnedPartition:
    """Learn from a part of the rows, which is held in memory as a whole.

    Parameters
    ----------
    source : path, or pair of arrays
        A file as `RowStream` reads it, or X and Y.
    settings : OnlineSettings
        The model and its priors.
    others : Others, optional
        What is known already; by default the part is learned from the prior.
    options : dict, optional
        How to read a file: the options of `RowStream`.
    batch_rows : int, default=1000
        Rows that are predicted and learned from at a time.
    score : bool, default=False
        Whether to predict each batch before learning from it.
    n_sampled : int, default=0
        How many of its rows to return, evenly spaced.
    limits : Limits, optional
        How much memory learning may take.

    Examples
    --------
    >>> X, Y = np.eye(3), np.array([[1, 0], [0, 1], [1, 0]])
    >>> learn_partition((X, Y), OnlineSettings()).site.features
    array([0, 1, 2])
    """
    known = () if others is None else others.labels
    limits = limits or Limits()
    X, Y, labels, summary = _read(source, known, options or {}, limits)
    X, features = without_empty_columns(canonical_csr(X))
    check_room(limits, len(features), len(labels), min(batch_rows, len(Y)), str(source))
    start = None
    if others is None:
        state = OnlineState(len(features), len(labels), settings=settings)
    else:
        if labels != known or not np.array_equal(features, others.own.features):
            raise ValueError(f"{source} has changed since the round before")
        start = cavity(others.posterior, others.labels, others.own)
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

    What a part saw while it was learned alone says little about how sure all of them are together.

    Parameters
    ----------
    state : OnlineState
        The posterior of all parts, whose calibration is replaced.
    labels : sequence of int
        The number of each of its labels.
    parts : iterable of LearnedPartition
        The parts; `LearnedPartition.of_sample` is enough of them.
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
        n_labels = stream.header[2] if stream.header else stream.options["n_labels"] or 0
        columns = LabelColumns(known or range(n_labels))
        declared = stream.header
    lengths = [np.diff(batch.label_starts) for batch in batches]
    starts = np.append(0, np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths])))
    numbers = np.concatenate([np.zeros(0, np.int32), *(batch.labels for batch in batches)])
    n_rows, n_labels = len(starts) - 1, columns.count_with(numbers)
    limits.check_memory(n_rows * n_labels, f"{n_rows:,} rows × {n_labels:,} labels", source)
    return _joined(batches, columns, numbers, starts, declared)


def _joined(
    batches: list[RowBatch],
    columns: LabelColumns,
    numbers: NDArray[np.int32],
    starts: Indices,
    declared: tuple[int, int, int] | None,
) -> tuple[Any, Labels, tuple[int, ...], PartitionSummary]:
    """Return X, Y, labels and size of a part that was read in batches."""
    none_known = not columns.numbers
    columns, Y = columns.read(numbers, starts)
    n_features = max((batch.X.shape[1] for batch in batches), default=0)
    parts: list[Any] = [batch.X for batch in batches]
    for part in parts:
        part.resize(part.shape[0], n_features)
    none: Any = sparse.csr_array((0, n_features))
    X: Any = sparse.vstack(parts, format="csr") if parts else none
    summary = PartitionSummary(
        len(Y),
        declared[1] if declared else n_features,
        sum(batch.n_bad for batch in batches),
        next((batch.complaint for batch in batches if batch.complaint), ""),
        declared is not None,
    )
    # Rows before the first label of all are of no use.
    begin = int(np.argmax((Y >= 0).any(axis=1))) if none_known and Y.size else 0
    return X[begin:], Y[begin:], columns.numbers, summary
