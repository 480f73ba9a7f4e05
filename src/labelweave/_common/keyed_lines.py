"""Results on disk, one JSON line for each, which survive a kill of the process.

A line is forced to the disk as soon as it is written. An incomplete last line is dropped when the
file is written to again. The key of a result names everything that the result depends on, so lines
of other settings, data or code stay in the file and are ignored.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from labelweave._common.files import LockedError, flush_folder, locked

Value = TypeVar("Value")


class KeyedLinesError(ValueError):
    """A file of results is damaged, or another process writes to it."""


class KeyedLines(Generic[Value]):
    """Values by key, in a file to which lines are only appended.

    `encode` turns a value into a dict without an entry "key", and `decode` a dict into a value; its
    ValueError, KeyError, TypeError or AttributeError means that the line is damaged.
    """

    def __init__(
        self,
        file: Path,
        encode: Callable[[Value], dict[str, Any]],
        decode: Callable[[dict[str, Any]], Value],
    ) -> None:
        self.file = file
        self._encode = encode
        self._decode = decode

    def read(self) -> dict[str, Value]:
        """Return the last value of every key."""
        lines = enumerate(self._whole_lines(), start=1)
        return dict(self._parse(line, number) for number, line in lines)

    @contextmanager
    def writing(self) -> Iterator[Callable[[str, Value], None]]:
        """Hold the file and yield a function that appends a value under a key."""
        try:
            lock = self.file.with_name(self.file.name + ".lock")
            with locked(lock), self.file.open("ab") as file:
                flush_folder(self.file.parent)  # the file may be new
                os.truncate(file.fileno(), sum(map(len, self._whole_lines())))
                yield lambda key, value: self._append(file, key, value)
        except LockedError as error:
            raise KeyedLinesError(
                f"{self.file} is being written to by another run; wait for it or choose another "
                "place for the results"
            ) from error

    def _whole_lines(self) -> Iterator[bytes]:
        if self.file.exists():
            with self.file.open("rb") as file:
                yield from (line for line in file if line.endswith(b"\n"))

    def _append(self, file: BinaryIO, key: str, value: Value) -> None:
        content = {"key": key} | self._encode(value)
        file.write(json.dumps(content, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())

    def _parse(self, line: bytes, number: int) -> tuple[str, Value]:
        try:
            content = json.loads(line)
            return content.pop("key"), self._decode(content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KeyedLinesError(
                f"{self.file}: line {number} is damaged ({error}); delete the line, its result is "
                "computed again"
            ) from error
