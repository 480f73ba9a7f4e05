"""Learning from a stream of rows in bounded memory.

The posterior depends on the rows and their order alone: neither batches and threads nor how often
the run was stopped and resumed change a bit of it. So a checkpoint holds the posterior, the place
in the input and the counts of predictions, in a file that is always whole.

Each batch is predicted before it is learned from, as a test set of its own with the label
frequencies seen so far; the F1 of these predictions is called prequential.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Counts, Floats, Indices, Labels
from labelweave._common.checks import check_whole_number
from labelweave._common.files import check_sizes, damage_named, replacing, require_writable
from labelweave._common.matrices import LARGEST_FEATURE, first_too_large
from labelweave.data.files import Limits
from labelweave.data.row_text import Place, RowBatch, RowStream
from labelweave.decision import ClassMassNormalization
from labelweave.decision.probabilities import Probabilities
from labelweave.models.online.classifier import BayesianOnlineClassifier
from labelweave.models.online.panels import check_room
from labelweave.models.online.state import OnlineState

_LAYOUT = 4


class CheckpointError(OSError):
    """A checkpoint cannot be written."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything that a run needs to continue as if it had never stopped."""

    #: Settings, the place in the input and counters, as JSON can hold them.
    facts: Mapping[str, Any]
    #: The posterior and other counts.
    arrays: Mapping[str, NDArray[Any]]

    def save(self, path: Path) -> None:
        """Replace the file, as a whole or not at all."""
        text = json.dumps({"layout": _LAYOUT, "facts": dict(self.facts)})
        facts = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
        with (
            _cannot_be_written(path),
            replacing(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
        ):
            for name, array in {"__facts__": facts, **self.arrays}.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        with path.open("rb") as file, damage_named(path):
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive)
            file.seek(0)
            with np.load(file, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            written = json.loads(arrays.pop("__facts__").tobytes())
            if written["layout"] != _LAYOUT:
                raise ValueError(f"layout {written['layout']!r} is not known to this version")
            return cls(dict(written["facts"]), arrays)


@contextmanager
def _cannot_be_written(path: Path) -> Iterator[None]:
    """Turn a disk error into one that names the checkpoint, since the input is open too."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {path} cannot be written: {error.strerror or error}"
        ) from error


class LabelColumns:
    """The column of each label number, in the order in which the numbers appear in the stream.

    In rows before its first appearance a label is unknown (-1), so that nothing depends on batches.
    The object does not change: reading a batch with new labels returns another one.
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.numbers = tuple(numbers)
        self._column = {number: column for column, number in enumerate(self.numbers)}

    def count_with(self, numbers: NDArray[np.integer]) -> int:
        """Return how many labels there are with those of a batch."""
        return len(self.numbers) + len(set(numbers.tolist()) - self._column.keys())

    def read(
        self, numbers: NDArray[np.integer], row_starts: Indices
    ) -> tuple[LabelColumns, Labels]:
        """Return the columns after a batch, and the (n, L) int8 label matrix of the batch."""
        n = len(row_starts) - 1
        rows = np.repeat(np.arange(n), np.diff(row_starts))
        distinct, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
        new = [k for k in np.argsort(first) if int(distinct[k]) not in self._column]
        after = LabelColumns((*self.numbers, *distinct[new].tolist())) if new else self
        columns = np.array([after._column[int(number)] for number in distinct], dtype=np.int64)
        Y = np.zeros((n, len(after.numbers)), dtype=np.int8)
        for k in new:
            Y[: rows[first[k]], columns[k]] = -1
        Y[rows, columns[inverse]] = 1
        return after, Y


def from_first_label(X: Any, Y: Labels) -> tuple[Any, Labels]:
    """Drop the rows before the first one that has a label: they are of no use."""
    begin = int(np.argmax((Y >= 0).any(axis=1))) if Y.size else len(Y)
    return X[begin:], Y[begin:]


class PrequentialF1:
    """Macro and micro F1 over all rows counted so far; labels may join on the way."""

    def __init__(self) -> None:
        #: True positives, rows that have the label, and rows predicted to have it, (3, L).
        self.counts = np.zeros((3, 0), dtype=np.int64)

    def add(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count a batch: (n, L) arrays of 0/1."""
        missing = truth.shape[1] - self.counts.shape[1]
        self.counts = np.pad(self.counts, ((0, 0), (0, max(missing, 0))))
        both = truth.astype(bool) & predicted.astype(bool)
        self.counts += [np.count_nonzero(each, axis=0) for each in (both, truth, predicted)]

    @classmethod
    def sum(cls, parts: Sequence[tuple[Sequence[int], PrequentialF1]]) -> PrequentialF1:
        """Return the counts of several streams, each with the numbers of its labels."""
        total, numbers = cls(), tuple(dict.fromkeys(n for labels, _ in parts for n in labels))
        total.counts = np.zeros((3, len(numbers)), dtype=np.int64)
        for labels, quality in parts:
            known = labels[: quality.counts.shape[1]]  # labels may join after the last batch
            total.counts[:, columns_of(known, numbers)] += quality.counts
        return total

    def macro(self) -> float:
        """Mean F1 of the labels that occurred or were predicted; nan before any did."""
        both = self.counts[1] + self.counts[2]
        f1 = 2 * self.counts[0, both > 0] / both[both > 0]
        return float(f1.mean()) if len(f1) else float("nan")

    def micro(self) -> float:
        """F1 over all labels together; nan before any occurred."""
        found, both = self.totals()
        return 2 * found / both if both else float("nan")

    def totals(self) -> tuple[int, int]:
        """Return the true positives, and the labels that rows have or are predicted to have."""
        found, true, given = self.counts.sum(axis=1).tolist()
        return found, true + given

    @classmethod
    def of(cls, counts: NDArray[Any]) -> PrequentialF1:
        """Return the quality with stored counts, checked."""
        if counts.dtype != np.int64 or counts.ndim != 2 or len(counts) != 3:
            raise ValueError("the counts of prequential F1 must be a (3, L) int64 array")
        if (counts[0] > counts[1:]).any():
            raise ValueError("the counts of prequential F1 contradict each other")
        quality = cls()
        quality.counts = counts.copy()
        return quality


def columns_of(numbers: Sequence[int], among: Sequence[int]) -> Indices:
    column = {number: place for place, number in enumerate(among)}
    return np.array([column[number] for number in numbers], dtype=np.int64)


def predict_by_frequency(state: OnlineState, X: Any, n_threads: int = 1) -> Labels:
    """Predict a batch as a test set of its own, each label as often as it occurred so far."""
    rates = state.positives / np.maximum(state.observed, 1)
    scores = Probabilities(state.log_odds(X, n_threads))
    return ClassMassNormalization(rates).label(scores)


class StreamLearner:
    r"""Learn a posterior from a stream of rows, in bounded memory and with checkpoints.

    The posterior depends on the rows and their order alone: not on batches, threads, or how often
    the run was stopped and resumed. In the first pass, each batch except the first is predicted
    before it is learned from. Features and labels join when they first appear, unless the text or
    the stream's options say how many there are; rows before a label's first appearance say nothing
    about it.

    Parameters
    ----------
    stream : path or RowStream
        A file of svmlight or XMC text, plain or compressed, or a reader of one.
    model : BayesianOnlineClassifier, optional
        The classifier whose likelihood and settings to learn with. It is not changed:
        ``model.adopt(learner.state, learner.label_names)`` takes over the posterior.
    passes : int, default=1
        How often to read the rows; see `BayesianOnlineClassifier`.
    batch_lines : int, default=1000
        Lines that are read, predicted and learned from at a time.
    checkpoint : path, optional
        The file for checkpoints. If it exists, the run goes on from it. Two runs must not share it;
        `labelweave stream` ensures this with a lock.
    checkpoint_every : int, default=100000
        Lines between two checkpoints, hence the most that have to be learned again.
    score : bool, default=True
        Whether to predict each batch before learning from it, which takes about as much time.
    n_threads : int, default=1
        Number of threads.
    limits : Limits, optional
        How much memory learning may take, up to the saved model.

    Attributes
    ----------
    state : OnlineState
        The posterior.
    quality : PrequentialF1
        The F1 of the predictions: ``quality.macro()`` and ``quality.micro()``.
    n_rows, n_bad, n_resumed : int
        Rows read, malformed lines left out, and rows read before `run` resumed from a checkpoint.
    complaint : str
        The error in the first malformed line.

    Examples
    --------
    >>> import io
    >>> from labelweave.data.row_text import RowStream
    >>> from labelweave.models.online import StreamLearner
    >>> text = b"0 1:1\n1 2:1\n" * 50
    >>> learner = StreamLearner(RowStream(io.BytesIO(text)), batch_lines=10)
    >>> learner.run()
    >>> learner.n_rows, learner.label_names, learner.quality.micro()
    (100, ('0', '1'), 1.0)
    """

    def __init__(
        self,
        stream: RowStream | str | Path,
        model: BayesianOnlineClassifier | None = None,
        *,
        passes: int = 1,
        batch_lines: int = 1000,
        checkpoint: Path | str | None = None,
        checkpoint_every: int = 100_000,
        score: bool = True,
        n_threads: int = 1,
        limits: Limits | None = None,
    ) -> None:
        self.stream = stream = stream if isinstance(stream, RowStream) else RowStream(stream)
        if passes > 1 and stream.source.path is None:
            raise ValueError("passes must be 1 for a stream that can be read only once")
        check_whole_number(passes, "passes")
        check_whole_number(batch_lines, "batch_lines")
        check_whole_number(checkpoint_every, "checkpoint_every")
        self.passes, self.batch_lines = passes, min(batch_lines, checkpoint_every)
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.checkpoint_every = checkpoint_every
        self.score, self.n_threads = score, n_threads
        _, n_features, n_labels = stream.header or (0, 0, stream.options["n_labels"] or 0)
        self.limits = limits or Limits()
        self._check_room(n_features, n_labels, n_rows=1)
        model = BayesianOnlineClassifier() if model is None else model
        self.state = OnlineState(n_features, n_labels, model=model.probit_model())
        self.quality = PrequentialF1()
        self.n_rows = self.n_bad = self.n_resumed = 0
        self.complaint = ""
        self._labels = LabelColumns(range(n_labels))
        self._place: Place | None = None
        self._passes_done = 0

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels as the readers of whole files give them: ``l0`` or ``0``."""
        prefix = "l" if self.stream.header else ""
        return tuple(f"{prefix}{number}" for number in self._labels.numbers)

    def run(self, progress: Callable[[StreamLearner], None] | None = None) -> None:
        """Learn from the rest of the stream; `progress` gets the learner after every batch."""
        if self.checkpoint is not None:
            require_writable(self.checkpoint)
        self.resume()
        unsaved = 0
        for batch in self._batches():
            self._learn(batch)
            unsaved += self.batch_lines
            if self.checkpoint is not None and unsaved + self.batch_lines > self.checkpoint_every:
                self._as_checkpoint().save(self.checkpoint)
                unsaved = 0
            if progress is not None:
                progress(self)

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one and nothing was learned yet."""
        if self.checkpoint is not None and self.n_rows == 0 and self.checkpoint.exists():
            self._take_up(self.checkpoint)

    def _batches(self) -> Iterator[RowBatch]:
        while self._passes_done < self.passes:
            yield from self.stream.batches(self.batch_lines, self._place)
            self._passes_done += 1
            self._place = None

    def _learn(self, batch: RowBatch) -> None:
        """Learn from a batch; a batch that is refused changes nothing."""
        n_rows = len(batch.label_starts) - 1
        self._check_size(batch.X)
        n_features = max(self.state.n_features, batch.X.shape[1])
        self._check_room(n_features, self._labels.count_with(batch.labels), n_rows)
        labels, Y = self._labels.read(batch.labels, batch.label_starts)
        X, Y = (batch.X, Y) if self._labels.numbers else from_first_label(batch.X, Y)
        self.state.admit(X, Y)
        self._labels, self._place = labels, self.stream.source.place
        self.n_rows += n_rows
        self.n_bad += batch.n_bad
        self.complaint = self.complaint or batch.complaint
        if not len(Y):
            return
        if self.score and self._passes_done == 0 and self.state.n_rows:
            self.quality.add(Y == 1, predict_by_frequency(self.state, X, self.n_threads))
        self.state.update(X, Y, self.n_threads, seen=self._passes_done > 0)

    def _check_size(self, X: Any) -> None:
        """Raise ValueError if a feature is too large to compute with."""
        found = first_too_large(X)
        if found is not None:
            row, column = self.n_rows + found[0] + 1, found[1] + self.stream.first_feature
            raise ValueError(
                f"{self.stream.source.name}: feature {column} is beyond {LARGEST_FEATURE:g} in "
                f"row {row}: correct it or drop such rows first"
            )

    def _check_room(self, n_features: int, n_labels: int, n_rows: int) -> None:
        check_room(self.limits, n_features, n_labels, n_rows, self.stream.source.name)

    def _settings(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("passes", "score", "batch_lines")}
        return self.state.model.as_dict() | self.stream.options | own

    def _as_checkpoint(self) -> Checkpoint:
        facts = {
            "settings": self._settings(),
            "source": self.stream.source.name,
            "head": self.stream.source.head(),
            "place": asdict(self._place or Place()),
            "passes_done": self._passes_done,
            "labels": list(self._labels.numbers),
            "n_rows": self.n_rows,
            "n_bad": self.n_bad,
            "complaint": self.complaint,
        }
        return Checkpoint(facts, self.state.to_arrays() | {"quality": self.quality.counts})

    def _take_up(self, path: Path) -> None:
        saved = Checkpoint.load(path)
        with damage_named(path):
            was, now = dict(saved.facts["settings"]), self._settings()
            n_bytes, digest = saved.facts["head"]
            same_input = self.stream.source.head(int(n_bytes)) == (n_bytes, digest)
        changed = [f"{k} was {was.get(k)!r}, is {v!r}" for k, v in now.items() if was.get(k) != v]
        if changed:
            raise ValueError(f"{path} belongs to a run with other settings: {', '.join(changed)}")
        if not same_input:
            raise ValueError(f"{path} belongs to a run over another input, {saved.facts['source']}")
        with damage_named(path):
            self._restore(saved.facts, dict(saved.arrays))

    def _restore(self, facts: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        quality = PrequentialF1.of(arrays.pop("quality"))
        state = OnlineState.from_arrays(arrays, self.state.model.as_dict())
        labels = LabelColumns(map(_count, facts["labels"]))
        place = Place(**{name: _count(value) for name, value in facts["place"].items()})
        counts = tuple(_count(facts[name]) for name in ("passes_done", "n_rows", "n_bad"))
        if len(labels.numbers) != state.n_labels:
            raise ValueError(f"{len(labels.numbers)} labels have names, {state.n_labels} weights")
        self.state, self.quality, self._labels, self._place = state, quality, labels, place
        self._passes_done, self.n_rows, self.n_bad = counts
        self.n_resumed, self.complaint = self.n_rows, str(facts["complaint"])


def _count(value: Any) -> int:
    """Return a stored count, which is an int and not negative."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


class StreamHistory:
    r"""The quality of a stream's predictions batch by batch: the `progress` of `StreamLearner.run`.

    `labelweave.plots.StreamDisplay` draws it.

    Examples
    --------
    >>> import io
    >>> from labelweave.data.row_text import RowStream
    >>> from labelweave.models.online import StreamLearner
    >>> history = StreamHistory()
    >>> stream = RowStream(io.BytesIO(b"0 1:1\n1 2:1\n" * 20))
    >>> StreamLearner(stream, batch_lines=10).run(history)
    >>> history.n_rows
    array([10, 20, 30, 40])
    >>> history.micro
    array([nan,  1.,  1.,  1.])
    """

    def __init__(self) -> None:
        #: Rows, macro F1, true positives, and labels that rows have or are predicted to have.
        self._batches: list[tuple[int, float, int, int]] = []

    def __call__(self, learner: StreamLearner) -> None:
        """Record the progress of the learner."""
        quality = learner.quality
        self._batches.append((learner.n_rows, quality.macro(), *quality.totals()))

    def __len__(self) -> int:
        return len(self._batches)

    @property
    def n_rows(self) -> Counts:
        """Rows read after each batch, (batches,)."""
        return np.array([batch[0] for batch in self._batches], dtype=np.int64)

    @property
    def macro(self) -> Floats:
        """Prequential macro F1 over all rows so far; nan before any was predicted."""
        return np.array([batch[1] for batch in self._batches], dtype=np.float64)

    @property
    def micro(self) -> Floats:
        """Prequential micro F1 over all rows so far; nan before any was predicted."""
        return _f1(self._totals())

    def _totals(self) -> Counts:
        return np.array([batch[2:] for batch in self._batches], dtype=np.int64).reshape(-1, 2)

    def recent_micro(self, window: int) -> Floats:
        """Return the micro F1 of the last rows before each point, nan while there are too few.

        The `window` is a number of rows, rounded up to whole batches.
        """
        window = check_whole_number(window, "window")
        rows, totals = self.n_rows, self._totals()
        before = np.searchsorted(rows, rows - window, side="right") - 1
        recent = _f1(totals - totals[np.maximum(before, 0)])
        return np.where(before >= 0, recent, np.nan)


def _f1(totals: Counts) -> Floats:
    found, both = totals.T
    f1 = np.full(len(both), np.nan)
    return np.asarray(np.divide(2.0 * found, both, out=f1, where=both > 0))
