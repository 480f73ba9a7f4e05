"""Where a stream run stands, in a file that is always whole."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_LAYOUT = 3
# Bytes that are written at a time.
_PIECE = 1 << 18


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on as if it had never stopped.

    Parameters
    ----------
    facts : mapping
        Settings, the place in the input, counters: whatever JSON can hold.
    arrays : mapping of str to array
        The posterior and other counts.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "run.checkpoint")
    ...     Checkpoint({"rows": 5}, {"mean": np.zeros(2)}).save(path)
    ...     Checkpoint.load(path)
    Checkpoint(facts={'rows': 5}, arrays={'mean': array([0., 0.])})
    """

    facts: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def save(self, path: Path) -> None:
        """Write the file aside, force it to the disk, then put it in place in one step.

        Whenever the process or the machine stops, `path` is the checkpoint before or this one.
        """
        text = json.dumps({"layout": _LAYOUT, "facts": dict(self.facts)})
        facts = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
        unfinished = path.with_name(path.name + ".part")
        with unfinished.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for name, array in {"__facts__": facts, **self.arrays}.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                        _write(entry, array)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        _flush_folder(path.parent)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read what `save` wrote."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            written = json.loads(arrays.pop("__facts__").tobytes())
            if written["layout"] != _LAYOUT:
                raise ValueError(f"layout {written['layout']!r} is not known to this version")
            return cls(written["facts"], arrays)
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is no checkpoint that can be read: {error}") from error


def _write(entry: IO[bytes], array: NDArray[Any]) -> None:
    """Write an array as `numpy.savez` would, but without a copy of more than a small part."""
    header = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    np.lib.format.write_array_header_1_0(entry, header)
    rows = array.reshape(1) if array.ndim == 0 else array
    step = max(1, _PIECE * len(rows) // max(1, rows.nbytes))
    for first in range(0, len(rows), step):
        entry.write(rows[first : first + step].tobytes())


def _flush_folder(folder: Path) -> None:
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
