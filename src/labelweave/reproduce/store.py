"""Results on disk: one JSON line per finished task, kept whatever happens to the process.

A line is written and forced to the disk as soon as its task is finished, together with those that
share its fit; a line that was cut short by a kill is dropped when the file is opened again. Lines
of other settings, data or code stay in the file and are ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labelweave._common.files import LockedError, locked
from labelweave.reproduce.task import Task

__all__ = ["Record", "ResultStore"]


@dataclass(frozen=True)
class Record:
    """What a task measured.

    Parameters
    ----------
    task : Task
        The task.
    values : dict
        The measured values by name: numbers, or lists of them.
    seconds : float
        Wall-clock time of the whole task.
    error : str
        Why the task failed; empty if it did not.
    """

    task: Task
    values: dict[str, Any]
    seconds: float
    error: str = ""


class ResultStore:
    """The results in a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> task = Task("fold", "emotions", "br", 0, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with ResultStore(Path(folder)).writing() as append:
    ...         append("key", Record(task, {"exact_match": 0.25}, 1.5))
    ...     ResultStore(Path(folder)).read()["key"].values
    {'exact_match': 0.25}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "results.jsonl"

    def read(self) -> dict[str, Record]:
        """Return the records by the key of their task."""
        return {key: record for key, record, _ in self._lines()}

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Hold the folder and yield a function that appends a record.

        Raises
        ------
        ValueError
            If another process is writing to the folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            with locked(self.folder / "results.lock"):
                self._drop_torn_line()
                with self.file.open("ab") as file:
                    yield lambda key, record: _append(file, key, record)
        except LockedError as error:
            raise ValueError(
                f"{self.folder} is being written to by another run; wait for it or choose another "
                "folder for the results"
            ) from error

    def _lines(self) -> Iterator[tuple[str, Record, int]]:
        """Yield key, record and end of every whole line."""
        if not self.file.exists():
            return
        end = 0
        with self.file.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                end += len(line)
                yield *_parse(line, self.file, number), end

    def _drop_torn_line(self) -> None:
        end = max((end for *_, end in self._lines()), default=0)
        if self.file.exists() and self.file.stat().st_size > end:
            os.truncate(self.file, end)


def _append(file: Any, key: str, record: Record) -> None:
    line = json.dumps({"key": key} | asdict(record), sort_keys=True, ensure_ascii=False)
    file.write(line.encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _parse(line: bytes, path: Path, number: int) -> tuple[str, Record]:
    try:
        content = json.loads(line)
        key = content.pop("key")
        return key, Record(**content | {"task": Task(**content["task"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: line {number} is damaged ({error}); delete the line, its task is redone"
        ) from error
