"""Files that are whole whatever happens: written aside, forced to the disk, put in place at once.

The system forgets a lock when the process that holds it ends, however it ends, so that nothing is
left to clean up after a kill.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["LockedError", "flush_folder", "locked", "remove", "replacing", "require_writable"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when it is complete and on the disk.

    Whenever the process or the machine stops, there is the file before or the new one. An
    exception leaves the one before and nothing beside it. Of two processes that write the same
    file the second waits. What is no regular file, such as ``/dev/stdout``, is written directly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder, "greeting.txt")) as file:
    ...         _ = file.write(b"hello")
    ...     Path(folder, "greeting.txt").read_text()
    'hello'
    """
    target = Path(os.path.realpath(path))  # a link stays one
    if _is_special(target):
        with target.open("wb") as file:
            yield file
        return
    unfinished = target.with_name(target.name + ".part")
    with _open_locked(unfinished, fcntl.LOCK_EX) as file:
        try:
            file.truncate(0)  # what a killed process may have left
            yield file
            file.flush()
            os.fsync(file.fileno())
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    flush_folder(target.parent)


def remove(path: Path) -> None:
    """Delete a file, if it is there, for good."""
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
    """Raise the OSError that writing a file would end with, as far as it can be foreseen."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file")
    # A new file is written beside the old one: it is the folder that has to allow it.
    place = target if _is_special(target) else target.parent
    if not place.exists():
        raise FileNotFoundError(f"the folder {place} does not exist; make it")
    if not os.access(place, os.W_OK):
        raise PermissionError(f"{place} cannot be written to; choose another place")


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _open_locked(path: Path, operation: int) -> BinaryIO:
    """Open a file, made if need be, that nobody else holds open this way."""
    while True:
        # Not yet cut to length: another process may be writing to it.
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb")
        try:
            _lock(file, operation)
            # Whoever held it before may have renamed or deleted it: then it is another file now.
            if _is_at(path, file):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _is_at(path: Path, file: BinaryIO) -> bool:
    """Whether an open file is the one that a path names, which may vanish at any moment."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lock(file: BinaryIO, operation: int) -> None:
    try:
        fcntl.flock(file, operation)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
            raise  # else the file system has no locks, and there is nothing to be done about it


def flush_folder(folder: Path) -> None:
    """Make a change of names in a folder survive the machine's stop, where the system can."""
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
