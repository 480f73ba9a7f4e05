"""Files as bytes, whatever their compression, and what their names tell."""

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
# What reading a damaged compressed file raises.
DAMAGED = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)


def is_compressed(path: FilePath) -> bool:
    """Return whether a file's name ends in .gz, .xz or .bz2."""
    return Path(path).suffix.lower() in _OPENERS


def open_bytes(path: FilePath) -> BinaryIO:
    """Open a file for reading, decompressed on the way if its name ends in .gz, .xz or .bz2."""
    return cast(BinaryIO, _OPENERS.get(Path(path).suffix.lower(), open)(path, "rb"))


def read_bytes(path: FilePath, limits: Limits | None = None) -> bytes:
    """Return the content of a file, decompressed if its name ends in .gz, .xz or .bz2.

    The latter are read piece by piece: a small file that would become a huge one is refused as soon
    as it passes the limit.
    """
    if not is_compressed(path):
        return Path(path).read_bytes()
    limits, content = limits or Limits(), io.BytesIO()
    with open_bytes(path) as file:
        while piece := _next_piece(file, path):
            content.write(piece)
            limits.check_bytes(content.tell(), shown(path))
    return content.getvalue()


def _next_piece(file: BinaryIO, path: FilePath) -> bytes:
    try:
        return file.read(_PIECE)
    except DAMAGED as error:
        raise ValueError(
            f"{shown(path)}: not a whole {Path(path).suffix} file ({error}): fetch it again"
        ) from error


def read_text(path: FilePath, limits: Limits | None = None) -> bytes:
    """Return the content of a text file in UTF-8, without the mark some editors begin it with.

    Text that is not UTF-8 is taken for Latin-1, the other encoding found in published files.
    """
    content = read_bytes(path, limits).removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1").encode("utf-8")
    return content


def plain_name(path: FilePath) -> str:
    """Return a file's name without the ending that tells its compression.

    Examples
    --------
    >>> plain_name("data/Imdb.arff.bz2")
    'Imdb.arff'
    """
    path = Path(path)
    return path.stem if is_compressed(path) else path.name


def data_name(path: FilePath) -> str:
    """Return what to call the data in a file.

    Examples
    --------
    >>> data_name("data/Imdb.arff.bz2"), data_name("rcv1.xmc.txt")
    ('Imdb', 'rcv1')
    """
    name = plain_name(path)
    for ending in (".xmc.txt", Path(name).suffix):
        if ending and name.lower().endswith(ending.lower()) and name.lower() != ending.lower():
            return name[: -len(ending)]
    return name


def shown(path: FilePath) -> str:
    """Return a path fit for a message: valid Unicode even where the file's name is not."""
    return os.fsencode(path).decode("utf-8", "replace")
