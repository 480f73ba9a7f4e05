"""Plain and compressed files, and limits on the memory that reading them takes.

A few bytes can declare a huge matrix, or expand to gigabytes. The limits make a corrupt or hostile
file harmless: it is rejected before the memory is allocated.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

from labelweave._common.checks import check_whole_number

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)i?B?", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_HOW_TO_RAISE = "max_memory='16GB', --max-memory on the command line"


@dataclass(frozen=True)
class Limits:
    """Limits on memory in bytes, and on the numbers of features and labels that a text declares.

    The limit on labels is smaller because a model needs kilobytes for each label: its name, its
    counts and the weights of all features.
    """

    memory: int = 2**31
    features: int = 2**24
    labels: int = 2**17

    @classmethod
    def of(
        cls,
        max_memory: int | str | None = None,
        max_features: int | None = None,
        max_labels: int | None = None,
    ) -> Limits:
        """Return the limits that the user gives, with defaults in place of None."""
        if isinstance(max_memory, str):
            max_memory = parse_size(max_memory)
        given = {"memory": max_memory, "features": max_features, "labels": max_labels}
        return cls(**{name: most for name, most in given.items() if most is not None})

    def __post_init__(self) -> None:
        for name in ("memory", "features", "labels"):
            check_whole_number(getattr(self, name), f"max_{name}")

    def check_bytes(self, n_bytes: int, source: str) -> None:
        """Raise ValueError if the content exceeds the limit."""
        if n_bytes > self.memory:
            raise ValueError(
                f"{source}: larger than {format_size(self.memory)}: if that is expected, raise "
                f"the limit ({_HOW_TO_RAISE})"
            )

    def check_matrix(self, n_rows: int, n_columns: int, what: str, source: str) -> None:
        """Raise ValueError if a matrix with 8 bytes per entry exceeds the limit."""
        self.check_memory(
            8 * n_rows * n_columns, f"a matrix of {n_rows:,} × {n_columns:,} ({what})", source
        )

    def check_memory(self, needed: int, what: str, source: str) -> None:
        """Raise ValueError if something needs more bytes than the limit."""
        if needed > self.memory:
            raise ValueError(
                f"{source}: {what} needs {format_size(needed)}, more than "
                f"{format_size(self.memory)}: select fewer or raise the limit "
                f"({_HOW_TO_RAISE})"
            )

    def check_count(
        self, count: int, what: Literal["features", "labels"], n_bytes: int, source: str
    ) -> None:
        """Raise ValueError for too many features or labels, unless the file has room for all."""
        most = getattr(self, what)
        if count > max(most, n_bytes):
            raise ValueError(
                f"{source}: {n_bytes:,} bytes declare {count:,} {what}, more than {most:,}: if "
                f"that is intended, raise the limit (max_{what}, --max-{what} on the command line)"
            )


def parse_size(text: str) -> int:
    """Return the number of bytes of a size such as 16GB."""
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * 1024 ** _UNITS[found[2].upper()]) if found else 0
    if size < 1:
        raise ValueError(f"expected a size such as 16GB, found {text!r}")
    return size


def format_size(n_bytes: int) -> str:
    """Return a number of bytes in the largest suitable unit."""
    for unit, power in reversed(_UNITS.items()):
        if power and n_bytes >= 1024**power:
            return f"{n_bytes / 1024**power:.1f} {unit}B"
    return f"{n_bytes} bytes"


FilePath: TypeAlias = "str | os.PathLike[str]"

_OPENERS: dict[str, Callable[..., object]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
_PIECE = 2**20
# Raised when a corrupt compressed file is read.
CORRUPT_FILE_ERRORS = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)


def is_compressed(path: FilePath) -> bool:
    """Whether a file's name ends in .gz, .xz or .bz2."""
    return Path(path).suffix.lower() in _OPENERS


def open_bytes(path: FilePath) -> BinaryIO:
    """Open a file for reading, decompressing it if its name ends in .gz, .xz or .bz2."""
    return cast(BinaryIO, _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb"))


def read_bytes(path: FilePath, limits: Limits | None = None) -> bytes:
    """Return the content of a file, decompressed if its name ends in .gz, .xz or .bz2.

    Compressed files are read piece by piece, so that a small file that expands to a huge one is
    rejected as soon as it exceeds the limit.
    """
    if not is_compressed(path):
        return Path(path).read_bytes()
    limits, content = limits or Limits(), io.BytesIO()
    with open_bytes(path) as file:
        while piece := _next_piece(file, path):
            content.write(piece)
            limits.check_bytes(content.tell(), display_path(path))
    return content.getvalue()


def _next_piece(file: BinaryIO, path: FilePath) -> bytes:
    try:
        return file.read(_PIECE)
    except CORRUPT_FILE_ERRORS as error:
        raise ValueError(
            f"{display_path(path)}: incomplete or corrupt {Path(path).suffix} file ({error}): "
            "download it again"
        ) from error


def read_text(path: FilePath, limits: Limits | None = None) -> bytes:
    """Return the content of a text file in UTF-8, without a byte order mark.

    Text that is not valid UTF-8 is read as Latin-1, the other encoding found in published files.
    """
    content = read_bytes(path, limits).removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode("utf-8")
    return content


def uncompressed_name(path: FilePath) -> str:
    path = Path(path)
    return path.stem if is_compressed(path) else path.name


def dataset_name(path: FilePath) -> str:
    name = uncompressed_name(path)
    for ending in (".xmc.txt", Path(name).suffix):
        if ending and name.lower().endswith(ending.lower()) and name.lower() != ending.lower():
            return name[: -len(ending)]
    return name


def display_path(path: FilePath) -> str:
    """Return a path for use in messages: valid Unicode even if the file's name is not."""
    return os.fsencode(path).decode("utf-8", "replace")
