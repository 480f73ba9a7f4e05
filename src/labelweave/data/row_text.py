"""Rows of svmlight and XMC text, read as a whole file or as a stream in bounded memory.

XMC text, the format of the Extreme Classification Repository, begins with the numbers of rows,
features and labels. A stream is read in batches of lines. It can go on from an earlier place if the
text before it has not changed.
"""

from __future__ import annotations

import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Indices
from labelweave._core import native
from labelweave.data.dataset import Dataset
from labelweave.data.files import (
    CORRUPT_FILE_ERRORS,
    FilePath,
    Limits,
    dataset_name,
    display_path,
    is_compressed,
    open_bytes,
    read_text,
)
from labelweave.data.numbered_names import NumberedNames

_LONGEST_LINE = 2**28
_HEAD_BYTES = 2**16
_BLOCK = 2**20


@dataclass(frozen=True)
class Place:
    """A place between two lines: the decompressed bytes and lines before it, and their CRC-32."""

    offset: int = 0
    line: int = 0
    checksum: int = 0

    def after(self, text: bytes, n_lines: int) -> Place:
        """Return the place after lines that begin here."""
        return Place(self.offset + len(text), self.line + n_lines, zlib.crc32(text, self.checksum))


class LineReader:
    """The lines of a file, plain or compressed, or of an open stream from its position on."""

    def __init__(self, source: FilePath | BinaryIO) -> None:
        self.path = source if isinstance(source, str | os.PathLike) else None
        if isinstance(source, str | os.PathLike):
            self.name, self._file = display_path(source), open_bytes(source)
        else:
            self.name, self._file = "standard input", source
        self.place = Place()
        self._ahead = b""

    def close(self) -> None:
        """Close the file; an open stream that was passed stays open."""
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
        """Go to a position that was reached before; a file can also return to its start."""
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
            text = self._ahead or self._guarded(self._file.read, min(left, _BLOCK), at.line)
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
        line = self._guarded(self._file.readline, _LONGEST_LINE, number)
        if len(line) == _LONGEST_LINE:
            raise ValueError(f"{self.name}:{number + 1}: the line is too long to be one row")
        return line

    def _guarded(self, read: Callable[[int], bytes], n_bytes: int, number: int) -> bytes:
        try:
            return read(n_bytes)
        except CORRUPT_FILE_ERRORS as error:
            raise ValueError(f"{self.name}:{number + 1}: cannot be read: {error}") from error


_MOST_COLUMNS = 2**31 - 1
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class RowBatch:
    """A batch of rows: X (n, D), and the labels of all rows, which begin at `label_starts` (n + 1).

    Without a header, D is given by the highest index in the batch. `complaint` is the error in the
    first of the `n_bad` malformed lines that were skipped.
    """

    X: sparse.csr_array[np.float64]
    labels: NDArray[np.int32]
    label_starts: Indices
    n_bad: int = 0
    complaint: str = ""


class RowStream:
    r"""Read svmlight or XMC text while holding only one batch in memory.

    XMC text is recognised by its first line, three integers: the numbers of rows, features and
    labels. Everything else is read as multi-label svmlight, whose feature indices start at 1 unless
    `zero_based` is set, and whose labels are numbered from 0, up to `n_labels` if it is given. An
    open stream is read from its current position.

    Indices beyond `max_features` and `max_labels` (by default those of `Limits`) are errors, so
    that a corrupt line or XMC header is not mistaken for a huge problem. The header of a file that
    is long enough to name more may declare more. With `skip_bad`, malformed lines are skipped and
    counted.
    """

    def __init__(
        self,
        source: FilePath | BinaryIO,
        *,
        zero_based: bool = False,
        n_labels: int | None = None,
        max_features: int | None = None,
        max_labels: int | None = None,
        skip_bad: bool = False,
    ) -> None:
        self.source = LineReader(source)
        self.skip_bad = skip_bad
        limits = Limits.of(None, max_features, max_labels)
        self._n_features = limits.features
        try:
            self.header = _header(self.source.peek())
            if self.header:
                n_bytes, name = self.source.n_bytes(), f"{self.source.name}:1"
                limits.check_count(self.header[1], "features", n_bytes, name)
                limits.check_count(self.header[2], "labels", n_bytes, name)
        except ValueError:
            self.source.close()
            raise
        #: The options that determine how the text is parsed.
        self.options = {
            "zero_based": zero_based,
            "n_labels": n_labels,
            "max_features": max_features,
            "max_labels": max_labels,
            "skip_bad": skip_bad,
        }
        self.first_feature = 0 if zero_based or self.header else 1
        self._n_labels = _MOST_COLUMNS if n_labels is None else n_labels
        if self.header:
            _, self._n_features, self._n_labels = self.header

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def batches(self, n_lines: int, start: Place | None = None) -> Iterator[RowBatch]:
        """Read batches of `n_lines` lines."""
        if start is not None or self.source.path is not None:
            self.source.seek(start or Place())
        if self.header and self.source.place.line == 0:
            self.source.read(1)
        while batch := self._read(n_lines):
            yield batch
        self._check_end()

    def _read(self, n_lines: int) -> RowBatch | None:
        place = self.source.place
        if self.header:  # every line after the header is a row
            n_lines = min(n_lines, 1 + self.header[0] - place.line)
        text, n_read = self.source.read(n_lines)
        if not n_read:
            return None
        if place.offset == 0:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        data, columns, row_starts, labels, label_starts, n_bad, complaint = (
            native.parse_labelled_lines(
                text,
                place.line + 1,
                self.source.name,
                self._n_features,
                self._n_labels,
                self.first_feature,
                self.header is None,
                self.skip_bad,
            )
        )
        n_seen = int(columns.max()) + 1 if len(columns) else 0
        shape = (len(row_starts) - 1, self.header[1] if self.header else n_seen)
        X = sparse.csr_array((data, columns, row_starts), shape=shape)
        return RowBatch(X, labels, label_starts, n_bad, complaint.decode("utf-8", "replace"))

    def _check_end(self) -> None:
        """Raise ValueError unless XMC text ends with the last row that its header declares."""
        if not self.header:
            return
        promised = f"{self.header[0]} rows, as the header says"
        place = self.source.place
        if place.line <= self.header[0]:
            raise ValueError(
                f"{self.source.name}:{place.line + 1}: expected {promised} (row {place.line} is "
                "missing), found the end of the file"
            )
        while line := self.source.read(1)[0]:
            if line.strip():
                raise ValueError(
                    f"{self.source.name}:{self.source.place.line}: expected the end of the file: "
                    f"{promised}"
                )


def _header(line: bytes) -> tuple[int, int, int] | None:
    words = line.removeprefix(_BYTE_ORDER_MARK).split()
    if len(words) != 3 or not all(word.isdigit() and len(word) < 19 for word in words):
        return None
    rows, features, labels = (int(word) for word in words)
    return (rows, features, labels) if max(features, labels) <= _MOST_COLUMNS else None


def read_svmlight(
    path: FilePath,
    n_labels: int | None = None,
    zero_based: bool | None = None,
    *,
    limits: Limits | None = None,
) -> Dataset:
    r"""Read a multi-label svmlight (libsvm) file with lines ``label,label feature:value …``."""
    limits, source = limits or Limits(), display_path(path)
    text = read_text(path, limits)
    most_labels = _MOST_COLUMNS if n_labels is None else n_labels
    data, columns, row_starts, labels, label_starts, *_ = native.parse_labelled_lines(
        text, 1, source, _MOST_COLUMNS, most_labels, 0, True, False
    )
    start = _first_feature(columns, zero_based, source)
    n, n_features = len(row_starts) - 1, max(1, int(columns.max(initial=-1)) + 1 - start)
    limits.check_count(n_features, "features", len(text), source)
    known = np.unique(labels) if n_labels is None else np.arange(n_labels)
    limits.check_matrix(n, len(known), "rows × labels", source)
    Y = np.zeros((n, len(known)), dtype=np.int64)
    Y[np.repeat(np.arange(n), np.diff(label_starts)), np.searchsorted(known, labels)] = 1
    X = sparse.csr_array((data, columns - start, row_starts), shape=(n, n_features))
    names = NumberedNames("x", n_features, start)
    return Dataset(X, Y, names, tuple(str(label) for label in known), dataset_name(path))


def _first_feature(columns: NDArray[np.int32], zero_based: bool | None, source: str) -> int:
    has_zero = bool((columns == 0).any())
    if zero_based is False and has_zero:
        raise ValueError(
            f"{source}: found feature 0, but features start at 1 (zero_based=False, --one-based): "
            "omit that, or correct the file"
        )
    return int(not has_zero) if zero_based is None else int(not zero_based)


def read_xmc(path: FilePath, *, limits: Limits | None = None) -> Dataset:
    r"""Read XMC text: a header ``n D L``, then one row per line, with indices from 0.

    A row is ``label,label feature:value feature:value``; a row without labels starts with a blank
    or with its first feature. The file may be compressed (.gz, .xz, .bz2).
    """
    limits, source = limits or Limits(), display_path(path)
    text = read_text(path, limits)
    (n, D, L), data, columns, row_starts, labels, label_starts = native.parse_xmc(text, source)
    limits.check_count(D, "features", len(text), source)
    limits.check_count(L, "labels", len(text), source)
    limits.check_matrix(n, L, "rows × labels", source)
    Y = np.zeros((n, L), dtype=np.int64)
    Y[np.repeat(np.arange(n), np.diff(label_starts)), labels] = 1
    return Dataset(
        sparse.csr_array((data, columns, row_starts), shape=(n, D)),
        Y,
        NumberedNames("f", D),
        NumberedNames("l", L),
        dataset_name(path),
    )
