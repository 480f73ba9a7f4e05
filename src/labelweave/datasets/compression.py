"""Read plain and compressed files, and interpret their names."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from labelweave.datasets.limits import Limits

FilePath: TypeAlias = "str | os.PathLike[str]"

_OPENERS: dict[str, Callable[..., object]] = {
    ".gz": gzip.open,
    ".xz": lzma.open,
    ".bz2": bz2.open,
}
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
    """Return a file's name without the suffix of its compression.

    Examples
    --------
    >>> uncompressed_name("data/Imdb.arff.bz2")
    'Imdb.arff'
    """
    path = Path(path)
    return path.stem if is_compressed(path) else path.name


def dataset_name(path: FilePath) -> str:
    """Return the name of the data set in a file.

    Examples
    --------
    >>> dataset_name("data/Imdb.arff.bz2"), dataset_name("rcv1.xmc.txt")
    ('Imdb', 'rcv1')
    """
    name = uncompressed_name(path)
    for ending in (".xmc.txt", Path(name).suffix):
        if ending and name.lower().endswith(ending.lower()) and name.lower() != ending.lower():
            return name[: -len(ending)]
    return name


def display_path(path: FilePath) -> str:
    """Return a path for use in messages: valid Unicode even if the file's name is not."""
    return os.fsencode(path).decode("utf-8", "replace")
