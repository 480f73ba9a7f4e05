"""Bayesian online learning from partitions of the rows, each learned by a worker.

The evidence of every partition is kept in a file, so that a run that was stopped can be resumed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelweave._common.checks import check_whole_number
from labelweave._common.engine import Call, Engine, Lost, LostWorkError
from labelweave._common.files import damage_named, replacing
from labelweave.data.files import Limits
from labelweave.models.online.partitions import (
    LearnedPartition,
    PartitionSummary,
    RowSample,
    Site,
    SiteSum,
    calibrate,
    damped,
    learn_partition,
    posterior_of,
)
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from labelweave.models.online.stream import Checkpoint, PrequentialF1

_SITE_ARRAYS = ("features", "precision", "precision_mean", "biases")


class OtherRunError(ValueError):
    """A folder holds the partitions of a run over other files or with other settings."""


class PartitionFiles:
    """A folder with one file for each partition that was learned in a round.

    The mapping `run` holds everything that the results depend on, in a form that JSON can hold.
    """

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        file, text = folder / "run.json", json.dumps(run, sort_keys=True)
        if file.exists():
            with damage_named(file):
                was, now = json.loads(file.read_text("utf-8")), json.loads(text)
                changed = [name for name in now if was.get(name) != now[name]]
            if changed:
                raise OtherRunError(f"{folder} belongs to a run with other {', '.join(changed)}")
        else:
            with replacing(file) as new:
                new.write(text.encode())

    def save(self, round_number: int, partition: int, learned: LearnedPartition) -> None:
        path = self._path(round_number, partition)
        path.parent.mkdir(exist_ok=True)
        site = learned.site
        arrays = {name: getattr(site, name) for name in _SITE_ARRAYS}
        arrays |= {f"count_{name}": array for name, array in site.counts.items()}
        arrays["quality"] = learned.quality.counts
        X = learned.sample.X
        arrays |= {"X": X.data, "columns": X.indices, "starts": X.indptr, "Y": learned.sample.Y}
        facts = {
            "labels": list(site.labels),
            "row_length": site.row_length,
            "summary": asdict(learned.summary),
        }
        Checkpoint(facts, arrays).save(path)

    def load(self, round_number: int, n_partitions: int) -> Iterator[tuple[int, LearnedPartition]]:
        """Yield the number and content of each partition that is kept from a round, in order."""
        for number in range(n_partitions):
            path = self._path(round_number, number)
            if path.exists():
                yield number, _read(path)

    def last_round(self) -> int:
        """Return the last round of which a file is kept, 0 if there is none."""
        rounds = [path.name.removeprefix("round-") for path in self.folder.glob("round-*")]
        return max((int(number) for number in rounds if number.isdigit()), default=0)

    def forget(self, round_number: int) -> None:
        shutil.rmtree(self.folder / f"round-{round_number}", ignore_errors=True)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, round_number: int, partition: int) -> Path:
        return self.folder / f"round-{round_number}" / f"partition-{partition:05d}"


def _read(path: Path) -> LearnedPartition:
    saved = Checkpoint.load(path)
    with damage_named(path):
        facts, arrays = saved.facts, dict(saved.arrays)
        quality = PrequentialF1.of(arrays.pop("quality"))
        known = {name: arrays.pop(name) for name in _SITE_ARRAYS}
        Y = arrays.pop("Y")
        rows = tuple(arrays.pop(name) for name in ("X", "columns", "starts"))
        X = csr_array(rows, shape=(len(Y), len(known["features"])))
        counts = {name.removeprefix("count_"): array for name, array in arrays.items()}
        site = Site(
            labels=tuple(facts["labels"]), row_length=facts["row_length"], counts=counts, **known
        )
        summary = PartitionSummary(**facts["summary"])
        return LearnedPartition(site, quality, summary, RowSample(X, Y))


# Number of rows, over all partitions, by which the posterior is calibrated.
_SAMPLED = 4096


class PartitionedLearner:
    """A Bayesian online learner whose rows come in partitions, learned by the workers of an engine.

    The parameters are as in `fit_stream` and `StreamLearner`. A worker learns from `batch_rows`
    rows at a time; in the first round, if `score` is true, it predicts them before. The posterior
    is the `state`.
    """

    def __init__(
        self,
        partitions: Sequence[Any],
        model: ProbitModel,
        engine: Engine,
        *,
        rounds: int = 1,
        options: Mapping[str, Any] | None = None,
        batch_rows: int = 1000,
        score: bool = True,
        limits: Limits | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        check_whole_number(rounds, "rounds")
        check_whole_number(batch_rows, "batch_rows")
        if rounds > 1 and model.forgetting:
            raise ValueError("forgetting must be 0 if there is more than one round")
        self.partitions = [_source(partition) for partition in partitions]
        names = [source for source in self.partitions if isinstance(source, str)]
        if not self.partitions:
            raise ValueError("partitions is empty: name at least one")
        if len(set(names)) < len(names):
            raise ValueError("partitions names a file twice: its rows would count twice")
        self.model, self.engine, self.rounds = model, engine, rounds
        self.options, self.batch_rows, self.score = dict(options or {}), batch_rows, score
        self.limits = limits or Limits()
        self._files = None if checkpoint is None else PartitionFiles(checkpoint, self._facts())
        self.state = OnlineState(model=model)
        self._labels: tuple[int, ...] = ()
        self.round, self.n_resumed = 1, 0
        self._before: dict[int, LearnedPartition] = {}
        self._begin_round()

    def run(self, progress: Callable[[PartitionedLearner], None] | None = None) -> None:
        self._resume()
        while True:
            self._learn_round(progress)
            self.state, self._labels = self._total.posterior(self._n_features()), self._total.labels
            if self.round >= self.rounds:
                break
            self._before = self._learned
            self.round += 1
            self._begin_round()
        if self.model.settings.calibrate and len(self.partitions) > 1:
            calibrate(self.state, self._labels, self._in_order())

    def remove_checkpoint(self) -> None:
        if self._files is not None:
            self._files.remove()

    def _begin_round(self) -> None:
        self._learned: dict[int, LearnedPartition] = {}
        self._total, self._n_added = SiteSum(self.model, self.limits), 0

    def _learn_round(self, progress: Callable[[PartitionedLearner], None] | None) -> None:
        missing = [n for n in range(len(self.partitions)) if n not in self._learned]
        shared = None
        if self._before:
            shared = self.engine.share((self.state, self._labels))
            features = np.concatenate([part.site.features for part in self._before.values()])
            self._known_to = np.bincount(features)
        calls = [self._call(number, shared) for number in missing]
        lost: list[Lost] = []
        for place, result in self.engine.run(calls):
            if isinstance(result, Lost):
                lost.append(result)
                continue
            self._keep(missing[place], result)
            if progress is not None:
                progress(self)
        if lost:
            error = LostWorkError("; ".join(f"{each.name}: {each.reason}" for each in lost))
            error.add_note(lost[0].traceback)
            raise error
        if self._files is not None:
            self._files.forget(self.round - 1)

    def _call(self, number: int, shared: Any) -> Call:
        own = self._before[number].site if self._before else None
        source = self.partitions[number]
        learn = partial(
            learn_partition,
            options=self.options,
            batch_rows=self.batch_rows,
            score=self.score and self.round == 1,
            n_sampled=-(-_SAMPLED // len(self.partitions)),
            limits=self.limits,
        )
        return Call(_name(source, number), learn, (source, self.model, shared, own))

    def _keep(self, number: int, learned: LearnedPartition) -> None:
        if self._before:  # rows are predicted in the first round only
            before = self._before[number]
            n_parts, coupled = len(self.partitions), self.model.coupled
            site = damped(before.site, learned.site, self._known_to, n_parts, coupled=coupled)
            learned = learned._replace(site=site, quality=before.quality)
        if self._files is not None:
            self._files.save(self.round, number, learned)
        self._add_up(number, learned)

    def _add_up(self, number: int, learned: LearnedPartition) -> None:
        """Add sites to the posterior, each as soon as all earlier ones have been added."""
        self._learned[number] = learned
        while self._n_added in self._learned:
            learned = self._learned[self._n_added]
            self._total.add(learned.site)
            if self.round == self.rounds:  # no further round needs the whole site
                self._learned[self._n_added] = learned.of_sample()
            self._n_added += 1

    def _n_features(self) -> int:
        summaries = [part.summary for part in self._learned.values()]
        if len({summary.declared for summary in summaries}) > 1:
            raise ValueError("all partitions must declare their sizes in the first line, or none")
        return max(summary.n_features for summary in summaries)

    def _in_order(self) -> list[LearnedPartition]:
        return [self._learned[number] for number in sorted(self._learned)]

    def _resume(self) -> None:
        if self._files is None:
            return
        n_partitions, last = len(self.partitions), self._files.last_round()
        self.round = max(1, last)
        for number, learned in self._files.load(last, n_partitions):
            self._add_up(number, learned)
            self.n_resumed += learned.summary.n_rows
        if last > 1 and len(self._learned) < n_partitions:
            self._before = dict(self._files.load(last - 1, n_partitions))
            sites = (part.site for _, part in sorted(self._before.items()))
            self.state, self._labels = posterior_of(sites, self.model, self._n_features())

    def _facts(self) -> dict[str, Any]:
        return {
            "partitions": [_name(each, n) for n, each in enumerate(self.partitions)],
            "settings": self.model.as_dict(),
            "options": self.options,
            "batch_rows": self.batch_rows,
            "score": self.score,
        }

    @property
    def n_done(self) -> int:
        """How many partitions of this round are learned."""
        return len(self._learned)

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """Names of the labels as the readers of whole files give them; None for arrays."""
        if not all(isinstance(source, str) for source in self.partitions):
            return None
        prefix = "l" if self._declared else ""
        return tuple(f"{prefix}{number}" for number in self._labels)

    @property
    def first_feature(self) -> int:
        """The number of the first feature in the files, 0 or 1."""
        return 0 if self._declared or self.options.get("zero_based") else 1

    @property
    def _declared(self) -> bool:
        """Whether the files declare their sizes, as XMC text does."""
        return any(part.summary.declared for part in self._in_order())

    @property
    def n_rows(self) -> int:
        return sum(part.summary.n_rows for part in self._learned.values())

    @property
    def n_bad(self) -> int:
        return sum(part.summary.n_bad for part in self._learned.values())

    @property
    def complaint(self) -> str:
        """The error in the first malformed line."""
        return next((p.summary.complaint for p in self._in_order() if p.summary.complaint), "")

    @property
    def quality(self) -> PrequentialF1:
        """The F1 of the first round's predictions, made from the prior in each partition."""
        return PrequentialF1.sum([(part.site.labels, part.quality) for part in self._in_order()])


def _source(partition: Any) -> Any:
    """Make a path absolute, so that workers find it from any folder; keep anything else."""
    if isinstance(partition, str | os.PathLike):
        return os.path.abspath(partition)
    return partition


def _name(source: Any, number: int) -> str:
    return source if isinstance(source, str) else f"partition {number}"
