"""Files that are never seen incomplete, locks, and archives that may be damaged.

A file is written beside its place, forced to the disk and renamed. The system releases a lock when
the process that holds it ends, so nothing has to be cleaned up after a kill. A damaged or forged
archive ends in one kind of error, and takes no more memory than its bytes justify.
"""

from __future__ import annotations

import errno
import fcntl
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

# Deflate packs at most 1032 bytes into one; a few bytes may be left over at the end.
_MOST_PACKED, _LEFT_OVER = 1032, 64
# The extra bytes of an entry larger than 4 GB; another entry (46 bytes) does not fit into them.
_MOST_EXTRA = 32


class DamagedFileError(ValueError):
    """A file has changed since it was written, or was not written by labelweave."""


@contextmanager
def damage_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error in reading a file's content into a `DamagedFileError` that names the file."""
    # Forged bytes reach zip, JSON, NumPy and constructors, each with errors of its own.
    try:
        yield
    except (DamagedFileError, MemoryError):
        raise
    except Exception as error:
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())
        raise DamagedFileError(f"{os.fspath(path)} is damaged: {reason}") from error


def check_sizes(archive: zipfile.ZipFile) -> None:
    """Check the declared sizes of entries and arrays, because memory is allocated by them."""
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
    form = np.lib.format
    is_first = form.read_magic(file) == (1, 0)
    read_header = form.read_array_header_1_0 if is_first else form.read_array_header_2_0
    shape, _, dtype = read_header(file)
    claimed, there = math.prod(shape) * dtype.itemsize, entry.file_size - file.tell()
    if claimed != there:
        raise ValueError(
            f"{entry.filename} is an array of {claimed:,} bytes by its header and of {there:,} in "
            "the file"
        )


def check_shape(array: Any, shape: tuple[int, ...], name: str) -> None:
    """Raise ValueError unless a stored value is an array, or sparse matrix, of this shape."""
    if getattr(array, "shape", None) != shape:
        raise ValueError(f"{name} has the shape {getattr(array, 'shape', None)}, not {shape}")


def check_positions(positions: Any, size: int, name: str) -> None:
    """Raise ValueError unless stored positions are whole numbers from 0 to ``size - 1``."""
    whole = isinstance(positions, np.ndarray) and positions.dtype.kind in "iu"
    if not whole or positions.min(initial=0) < 0 or positions.max(initial=-1) >= size:
        raise ValueError(f"{name} has positions outside 0 to {size - 1}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when it is complete and on the disk.

    Until then, and after an exception, the old file is there. If two processes write the same file,
    the second waits. Anything but a regular file, such as ``/dev/stdout``, is written directly.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if _is_special(target):
        with target.open("wb") as file:
            yield file
        return
    unfinished = target.with_name(target.name + ".part")
    with _open_locked(unfinished, fcntl.LOCK_EX) as file:
        try:
            file.truncate(0)  # a killed process may have left some bytes
            yield file
            file.flush()
            os.fsync(file.fileno())
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    flush_folder(target.parent)


def remove(path: Path) -> None:
    """Delete a file, if there is one, so that it stays deleted after a crash."""
    path.unlink(missing_ok=True)
    flush_folder(path.parent)


class LockedError(OSError):
    """Another process holds the lock."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, or raise LockedError at once."""
    try:
        file = _open_locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise LockedError(f"another process holds {path}") from error
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Raise the OSError that writing a file would raise, as far as it can be foreseen."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file")
    # A new file is written beside the old one, so the folder must be writable.
    place = target if _is_special(target) else target.parent
    if not place.exists():
        raise FileNotFoundError(f"the folder {place} does not exist; make it")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"{place} cannot be written to; choose another place")


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _open_locked(path: Path, operation: int) -> BinaryIO:
    """Open a file, created if missing, as soon as no other process holds its lock."""
    while True:
        # Not truncated yet: another process may be writing to it.
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb")
        try:
            _lock(file, operation)
            # The previous holder of the lock may have renamed or deleted the file.
            if _is_at(path, file):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Whether a path, which may vanish at any moment, names an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: BinaryIO, operation: int) -> None:
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
            raise  # other errors mean that the file system has no locks


def flush_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, if the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
