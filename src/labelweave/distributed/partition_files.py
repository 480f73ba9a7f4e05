"""What the partitions of a stream taught, in files: a run that was stopped goes on from them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array

from labelweave._common.archives import damage_named
from labelweave._common.files import replacing
from labelweave.online.checkpoint import Checkpoint
from labelweave.online.partitions import LearnedPartition, PartitionSummary, RowSample
from labelweave.online.prequential import PrequentialF1
from labelweave.online.sites import Site

__all__ = ["OtherRunError", "PartitionFiles"]

_SITE_ARRAYS = ("features", "precision", "precision_mean", "biases")


class OtherRunError(ValueError):
    """A folder holds the partitions of a run over other files or with other settings."""


class PartitionFiles:
    """A folder with one file for each partition that was learned in a round.

    Parameters
    ----------
    folder : path
        Made if it does not exist.
    run : mapping
        What the results depend on, as JSON can hold it.

    Raises
    ------
    OtherRunError
        If the folder belongs to a run over other partitions or with other settings.
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
        """Keep what a partition taught in a round."""
        path = self._path(round_number, partition)
        path.parent.mkdir(exist_ok=True)
        site = learned.site
        arrays = {name: getattr(site, name) for name in _SITE_ARRAYS}
        arrays |= {f"count_{name}": array for name, array in site.counts.items()}
        arrays |= {f"quality_{name}": array for name, array in learned.quality.to_arrays().items()}
        X = learned.sample.X
        arrays |= {"X": X.data, "columns": X.indices, "starts": X.indptr, "Y": learned.sample.Y}
        facts = {
            "labels": list(site.labels),
            "row_length": site.row_length,
            "summary": asdict(learned.summary),
        }
        Checkpoint(facts, arrays).save(path)

    def load(self, round_number: int, n_partitions: int) -> Iterator[tuple[int, LearnedPartition]]:
        """Return number and content of each partition that is kept of a round, in their order."""
        for number in range(n_partitions):
            path = self._path(round_number, number)
            if path.exists():
                yield number, _read(path)

    def last_round(self) -> int:
        """Return the last round of which anything is kept, 0 if there is none."""
        rounds = [path.name.removeprefix("round-") for path in self.folder.glob("round-*")]
        return max((int(number) for number in rounds if number.isdigit()), default=0)

    def forget(self, round_number: int) -> None:
        """Remove a round that no later one needs."""
        shutil.rmtree(self.folder / f"round-{round_number}", ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, round_number: int, partition: int) -> Path:
        return self.folder / f"round-{round_number}" / f"partition-{partition:05d}"


def _read(path: Path) -> LearnedPartition:
    saved = Checkpoint.load(path)
    with damage_named(path):
        facts, arrays = saved.facts, dict(saved.arrays)
        quality = {name: arrays.pop(f"quality_{name}") for name in PrequentialF1().to_arrays()}
        known = {name: arrays.pop(name) for name in _SITE_ARRAYS}
        Y = arrays.pop("Y")
        rows = tuple(arrays.pop(name) for name in ("X", "columns", "starts"))
        X = csr_array(rows, shape=(len(Y), len(known["features"])))
        counts = {name.removeprefix("count_"): array for name, array in arrays.items()}
        site = Site(
            labels=tuple(facts["labels"]), row_length=facts["row_length"], counts=counts, **known
        )
        summary = PartitionSummary(**facts["summary"])
        sample = RowSample(X, Y)
        return LearnedPartition(site, PrequentialF1.from_arrays(quality), summary, sample)
