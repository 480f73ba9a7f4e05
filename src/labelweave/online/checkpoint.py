"""Where a stream run stands, in a file that is always whole."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.archives import check_sizes, damage_named
from labelweave._common.files import replacing

_LAYOUT = 3
# Bytes that are written at a time.
_PIECE = 1 << 18


class CheckpointError(OSError):
    """A checkpoint has no place on the disk."""


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
        """Put the file in the place of the one before, whole or not at all."""
        text = json.dumps({"layout": _LAYOUT, "facts": dict(self.facts)})
        facts = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
        with (
            _cannot_be_written(path),
            replacing(path) as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
        ):
            for name, array in {"__facts__": facts, **self.arrays}.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    _write(entry, array)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read what `save` wrote."""
        with path.open("rb") as file, damage_named(path):
            with zipfile.ZipFile(file) as archive:
                check_sizes(archive)
            file.seek(0)
            with np.load(file, allow_pickle=False) as content:
                arrays = {name: content[name] for name in content.files}
            written = json.loads(arrays.pop("__facts__").tobytes())
            if written["layout"] != _LAYOUT:
                raise ValueError(f"layout {written['layout']!r} is not known to this version")
            return cls(dict(written["facts"]), arrays)


@contextmanager
def _cannot_be_written(path: Path) -> Iterator[None]:
    """Say of an error that it is the checkpoint's: the input is being read at the same time."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint {path} cannot be written: {error.strerror or error}"
        ) from error


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
