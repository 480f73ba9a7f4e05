"""Read lines of a file or an open stream in batches, and resume from an earlier position."""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from dataclasses import dataclass, replace
from typing import BinaryIO

from labelweave.datasets.compression import (
    CORRUPT_FILE_ERRORS,
    FilePath,
    display_path,
    is_compressed,
    open_bytes,
)

_LONGEST_LINE = 2**28
_HEAD_BYTES = 2**16
_BLOCK = 2**20


@dataclass(frozen=True)
class Place:
    """A position between two lines.

    Parameters
    ----------
    offset : int
        Number of decompressed bytes before it.
    line : int
        Number of lines before it.
    checksum : int
        CRC-32 of the bytes before it.
    """

    offset: int = 0
    line: int = 0
    checksum: int = 0

    def after(self, text: bytes, n_lines: int) -> Place:
        """Return the position after some lines that begin here."""
        return Place(self.offset + len(text), self.line + n_lines, zlib.crc32(text, self.checksum))


class LineReader:
    r"""Read the lines of a file, plain or compressed, or of a stream that can be read only once.

    Parameters
    ----------
    source : path or binary file
        Where to read from. An open stream is read from its current position.

    Examples
    --------
    >>> source = LineReader(io.BytesIO(b"one\ntwo\nthree\n"))
    >>> source.peek(), source.read(2), source.place.line
    (b'one\n', (b'one\ntwo\n', 2), 2)
    """

    def __init__(self, source: FilePath | BinaryIO) -> None:
        self.path = source if isinstance(source, str | os.PathLike) else None
        if isinstance(source, str | os.PathLike):
            self.name, self._file = display_path(source), open_bytes(source)
        else:
            self.name, self._file = "standard input", source
        self.place = Place()
        self._ahead = b""

    def close(self) -> None:
        """Close the file; a stream that was passed open stays open."""
        if self.path is not None:
            self._file.close()

    def head(self, n_bytes: int = _HEAD_BYTES) -> tuple[int, str]:
        """Return the number of bytes read from the start of the file, and their SHA-256.

        They identify the file. A stream that can be read only once has none: (0, "").
        """
        if self.path is None:
            return 0, ""
        with open(self.path, "rb") as file:
            beginning = file.read(n_bytes)
        return len(beginning), hashlib.sha256(beginning).hexdigest()

    def n_bytes(self) -> int:
        """Return the size of the file, or of the next line of a stream."""
        return len(self.peek()) if self.path is None else os.path.getsize(self.path)

    def peek(self) -> bytes:
        """Return the next line without consuming it."""
        self._ahead = self._ahead or self._line(self.place.line)
        return self._ahead

    def read(self, n_lines: int) -> tuple[bytes, int]:
        """Return up to `n_lines` lines, and how many there are."""
        lines = []
        for number in range(n_lines):
            line, self._ahead = self._ahead or self._line(self.place.line + number), b""
            if not line:
                break
            lines.append(line)
        text = b"".join(lines)
        self.place = self.place.after(text, len(lines))
        return text, len(lines)

    def seek(self, place: Place) -> None:
        """Go to a position that was reached before; a file can also return to its start.

        Raises
        ------
        ValueError
            If the content before the position has changed; for uncompressed files, only the length
            is checked.
        """
        if self.path is not None:
            self._file.seek(0)
            self.place, self._ahead = Place(), b""
            if not is_compressed(self.path):
                if self._file.seek(0, io.SEEK_END) < place.offset:
                    raise ValueError(f"{self.name} is shorter than when it was last read")
                self._file.seek(place.offset)
                self.place = place
        self._read_on_to(place)

    def _read_on_to(self, place: Place) -> None:
        at = self.place
        while (left := place.offset - at.offset) > 0:
            text = self._ahead or self._guarded(min(left, _BLOCK), at.line)
            self._ahead = b""
            if not text:
                break
            at = at.after(text, text.count(b"\n"))
        # The last line counts even if it is not terminated.
        if (at.offset, at.checksum) != (place.offset, place.checksum):
            raise ValueError(
                f"{self.name} has changed since it was last read: its first {place.line} lines "
                "differ"
            )
        self.place = replace(at, line=place.line)

    def _line(self, number: int) -> bytes:
        try:
            line = self._file.readline(_LONGEST_LINE)
        except CORRUPT_FILE_ERRORS as error:
            raise ValueError(f"{self.name}:{number + 1}: cannot be read: {error}") from error
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"{self.name}:{number + 1}: the line is too long to be one row")
        return line

    def _guarded(self, n_bytes: int, number: int) -> bytes:
        try:
            return self._file.read(n_bytes)
        except CORRUPT_FILE_ERRORS as error:
            raise ValueError(f"{self.name}:{number + 1}: cannot be read: {error}") from error
