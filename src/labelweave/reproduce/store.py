"""Results on disk: one line per finished task, written together with those that share its fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labelweave._common.keyed_lines import KeyedLines
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
        self._lines = KeyedLines(folder / "results.jsonl", asdict, _record)

    def read(self) -> dict[str, Record]:
        """Return the records by the key of their task."""
        return self._lines.read()

    @contextmanager
    def writing(self) -> Iterator[Callable[[str, Record], None]]:
        """Hold the folder and yield a function that appends a record.

        Raises
        ------
        KeyedLinesError
            If another process is writing to the folder.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lines.writing() as append:
            yield append


def _record(content: dict[str, Any]) -> Record:
    return Record(**content | {"task": Task(**content["task"])})
