"""Learn from a stream of rows in bounded memory; a stopped run resumes as if it never had been."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.archives import damage_named
from labelweave._common.checks import check_whole_number
from labelweave._common.features import LARGEST_FEATURE, first_too_large
from labelweave._common.files import require_writable
from labelweave.datasets.limits import Limits
from labelweave.datasets.line_reader import Place
from labelweave.datasets.row_stream import RowBatch, RowStream
from labelweave.online.checkpoint import Checkpoint
from labelweave.online.label_columns import LabelColumns
from labelweave.online.memory import check_room
from labelweave.online.prequential import PrequentialF1, predict_by_frequency
from labelweave.online.settings import OnlineSettings
from labelweave.online.state import OnlineState
from labelweave.online.validation import as_count


class StreamLearner:
    r"""A Bayesian online learner that reads its rows from a stream.

    The posterior depends on the rows and their order alone: not on batches, threads, or how often
    the run was stopped and resumed. Each batch of the first pass is predicted before it is learned
    from, as a test set of its own with the label frequencies seen so far
    (`ClassMassNormalization`); only the first batch has no model to predict it. Features and labels
    join when they first appear, unless the text or the stream's options say how many there are;
    rows before a label's first appearance say nothing about it.

    Parameters
    ----------
    stream : RowStream
        Where the rows come from.
    settings : OnlineSettings, optional
        The model and its priors.
    passes : int, default=1
        How often to read the rows. More than one counts the same evidence again: the posterior
        becomes overconfident.
    batch_lines : int, default=1000
        Lines that are read, predicted and learned from at a time.
    checkpoint : path, optional
        Where to keep how far the run has come. If the file exists, the run goes on from it. Two
        runs must not share it; `labelweave stream` sees to that with a lock.
    checkpoint_every : int, default=100000
        Lines between two checkpoints, hence the most that have to be learned again.
    score : bool, default=True
        Whether to predict each batch before learning from it; it costs about as much time.
    n_threads : int, default=1
        Threads.
    limits : Limits, optional
        How much memory learning may take, up to the saved model.

    Attributes
    ----------
    state : OnlineState
        The posterior.
    quality : PrequentialF1
        How good the predictions were.
    n_rows, n_bad, n_resumed : int
        Rows read, malformed lines left out, rows that the checkpoint `run` began from had read.
    complaint : str
        What is wrong with the first malformed line.

    Examples
    --------
    >>> import io
    >>> text = b"0 1:1\n1 2:1\n" * 50
    >>> learner = StreamLearner(RowStream(io.BytesIO(text)), batch_lines=10)
    >>> learner.run()
    >>> learner.n_rows, learner.label_names, learner.quality.micro()
    (100, ('0', '1'), 1.0)
    """

    def __init__(
        self,
        stream: RowStream,
        settings: OnlineSettings | None = None,
        *,
        passes: int = 1,
        batch_lines: int = 1000,
        checkpoint: Path | None = None,
        checkpoint_every: int = 100_000,
        score: bool = True,
        n_threads: int = 1,
        limits: Limits | None = None,
    ) -> None:
        if passes > 1 and stream.source.path is None:
            raise ValueError("passes must be 1 for a stream that can be read only once")
        check_whole_number(passes, "passes")
        check_whole_number(batch_lines, "batch_lines")
        check_whole_number(checkpoint_every, "checkpoint_every")
        self.stream = stream
        self.passes, self.batch_lines = passes, min(batch_lines, checkpoint_every)
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every
        self.score, self.n_threads = score, n_threads
        n_features = stream.header[1] if stream.header else 0
        n_labels = stream.header[2] if stream.header else stream.options["n_labels"] or 0
        self.limits = limits or Limits()
        self._check_room(n_features, n_labels, n_rows=1)
        self.state = OnlineState(n_features, n_labels, settings=settings)
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
        """Learn from the rest of the stream.

        Parameters
        ----------
        progress : callable, optional
            Called with the learner after every batch.
        """
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
        """Take up what the checkpoint holds, if there is one and nothing was learned yet."""
        if self.checkpoint is not None and self.n_rows == 0 and self.checkpoint.exists():
            self._take_up(self.checkpoint)

    def _batches(self) -> Iterator[RowBatch]:
        while self._passes_done < self.passes:
            yield from self.stream.batches(self.batch_lines, self._place)
            self._passes_done += 1
            self._place = None

    def _learn(self, batch: RowBatch) -> None:
        """Learn from a batch; one that is refused leaves everything as it was."""
        n_rows = len(batch.label_starts) - 1
        self._check_size(batch.X)
        n_features = max(self.state.n_features, batch.X.shape[1])
        self._check_room(n_features, self._labels.count_with(batch.labels), n_rows)
        labels, Y = self._labels.read(batch.labels, batch.label_starts)
        X: Any = batch.X
        if not self._labels.numbers:  # rows before the first label of all are of no use
            begin = int(np.argmax((Y >= 0).any(axis=1))) if Y.size else len(Y)
            X, Y = X[begin:], Y[begin:]
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
        return self.state.settings.as_dict() | self.stream.options | own

    def _as_checkpoint(self) -> Checkpoint:
        arrays, _ = self.state.to_arrays()
        counts = {f"quality_{name}": array for name, array in self.quality.to_arrays().items()}
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
        return Checkpoint(facts, arrays | counts)

    def _take_up(self, path: Path) -> None:
        saved = Checkpoint.load(path)
        with damage_named(path):
            changed, same_input = self._changes(saved.facts)
        if changed:
            raise ValueError(f"{path} belongs to a run with other settings: {', '.join(changed)}")
        if not same_input:
            raise ValueError(f"{path} belongs to a run over another input, {saved.facts['source']}")
        with damage_named(path):
            self._restore(saved.facts, dict(saved.arrays))

    def _changes(self, facts: Mapping[str, Any]) -> tuple[list[str], bool]:
        """Return what differs between the settings, and whether the input is the same."""
        was, now = dict(facts["settings"]), self._settings()
        changed = [
            f"{key} was {was.get(key)!r}, is {now[key]!r}"
            for key in now
            if was.get(key) != now[key]
        ]
        n_bytes, digest = facts["head"]
        return changed, self.stream.source.head(int(n_bytes)) == (n_bytes, digest)

    def _restore(self, facts: Mapping[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        counts = {name: arrays.pop(f"quality_{name}") for name in self.quality.to_arrays()}
        quality = PrequentialF1.from_arrays(counts)
        state = OnlineState.from_arrays(arrays, self.state.settings.as_dict())
        labels = LabelColumns(map(as_count, facts["labels"]))
        place = Place(**{name: as_count(value) for name, value in facts["place"].items()})
        passes_done, n_rows, n_bad = (
            as_count(facts[name]) for name in ("passes_done", "n_rows", "n_bad")
        )
        if len(labels.numbers) != state.n_labels:
            raise ValueError(f"{len(labels.numbers)} labels have names, {state.n_labels} weights")
        self.state, self.quality, self._labels, self._place = state, quality, labels, place
        self._passes_done, self.n_rows, self.n_resumed = passes_done, n_rows, n_rows
        self.n_bad, self.complaint = n_bad, str(facts["complaint"])
