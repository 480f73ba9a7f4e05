"""Zip archives of arrays that may be damaged or forged: one error, and no more memory than due."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np

__all__ = [
    "DamagedFileError",
    "check_positions",
    "check_shape",
    "check_sizes",
    "damage_named",
]

# Deflate packs at most 1032 bytes into one; a few more may be left over at the end.
_MOST_PACKED, _LEFT_OVER = 1032, 64
# What an entry larger than 4 GB has beside its name; the shortest entry takes 46 bytes.
_MOST_EXTRA = 32


class DamagedFileError(ValueError):
    """A file is not what was written, or was never written by labelweave."""


@contextmanager
def damage_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever reading a file's content ends with into a `DamagedFileError` that names it.

    Bytes that anybody may have changed reach zip, JSON, NumPy and constructors, each with errors of
    its own, so there is no shorter list of them than all. Only lack of memory is no damage.

    Examples
    --------
    >>> with damage_named("model.skops"):
    ...     {}["schema"]
    Traceback (most recent call last):
    labelweave._common.archives.DamagedFileError: model.skops is damaged: KeyError: 'schema'
    """
    try:
        yield
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())
        raise DamagedFileError(f"{os.fspath(path)} is damaged: {reason}") from error


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Compare the sizes that entries and arrays claim with the bytes that are there.

    Memory is taken by what is claimed, so a forged number would take as much as it likes.
    """
    for entry in archive.infolist():
        _check_entry(entry)
        if entry.filename.endswith(".npy"):
            with archive.open(entry) as file:
                _check_array(file, entry)
        elif entry.filename.endswith(".npz"):  # a sparse array, which is an archive in itself
            with archive.open(entry) as file, zipfile.ZipFile(file) as inner:
                check_sizes(inner)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    packed = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: _MOST_PACKED}.get(entry.compress_type)
    if packed is None:
        raise ValueError(f"{entry.filename} is compressed in a way that labelweave does not use")
    if entry.file_size > packed * entry.compress_size + _LEFT_OVER:
        raise ValueError(
            f"{entry.filename} claims {entry.file_size:,} bytes and has {entry.compress_size:,}"
        )
    # A wrong length would hide the entries that follow in the directory.
    if entry.comment or len(entry.extra) > _MOST_EXTRA:
        raise ValueError(f"{entry.filename} has a note that labelweave does not write")


def _check_array(file: IO[bytes], entry: zipfile.ZipInfo) -> None:
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    claimed = dtype.itemsize
    for size in shape:
        claimed *= size
    if claimed != entry.file_size - file.tell():
        raise ValueError(
            f"{entry.filename} is an array of {claimed:,} bytes by its header and of "
            f"{entry.file_size - file.tell():,} in the file"
        )


def check_shape(array: Any, shape: tuple[int, ...], name: str) -> None:
    """Raise ValueError if something stored is no array, or sparse matrix, of this shape."""
    if getattr(array, "shape", None) != shape:
        raise ValueError(f"{name} has the shape {getattr(array, 'shape', None)}, not {shape}")


def check_positions(positions: Any, size: int, name: str) -> None:
    """Raise ValueError unless stored positions are whole numbers from 0 to ``size - 1``.

    Examples
    --------
    >>> check_positions(np.array([0, 3]), 3, "labelset")
    Traceback (most recent call last):
    ValueError: labelset has positions outside 0 to 2
    """
    whole = isinstance(positions, np.ndarray) and positions.dtype.kind in "iu"
    if not whole or positions.min(initial=0) < 0 or positions.max(initial=-1) >= size:
        raise ValueError(f"{name} has positions outside 0 to {size - 1}")
