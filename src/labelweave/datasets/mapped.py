"""Data sets in a folder of arrays that are read where they lie, however large they are.

The folder holds X as ``data.npy``, ``indices.npy`` and ``indptr.npy`` (CSR) or as ``X.npy``
(dense), the labels as ``Y.npy``, and ``header.json``, which is written last: a folder without it is
unfinished.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from labelweave._common.csr_blocks import check_csr, rows_in_order
from labelweave.datasets.compression import FilePath, display_path
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.limits import Limits
from labelweave.datasets.numbered_names import NumberedNames

HEADER = "header.json"
_FORMAT, _LAYOUT = "labelweave data set", 2
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
# More entries than this need 64-bit row starts; SciPy would widen the column indices with them.
_MOST_SMALL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Header:
    """What ``header.json`` says.

    Parameters
    ----------
    name : str
    n_rows, n_features, n_labels : int
    n_entries : int or None
        Stored entries of a sparse X; None if X is dense.
    feature_names, label_names : list of str, or str
        A string is the first of numbered names, such as ``x1``.
    n_train_rows : int or None
        Length of ``train_rows.npy``, if there is a published training set.
    """

    name: str
    n_rows: int
    n_features: int
    n_labels: int
    n_entries: int | None
    feature_names: str | list[str]
    label_names: str | list[str]
    n_train_rows: int | None = None

    def to_json(self) -> str:
        """Return the text of the file."""
        return json.dumps({"format": _FORMAT, "layout": _LAYOUT, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> Header:
        """Read the file and check what it says."""
        source = display_path(path)
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            is_ours = isinstance(fields, dict) and fields.pop("format", None) == _FORMAT
        except ValueError as error:
            raise ValueError(f"{source}: damaged header: {error}") from error
        if not is_ours:
            raise ValueError(f"{source}: not the header of a data set")
        layout = fields.pop("layout", None)
        if layout != _LAYOUT:
            raise ValueError(
                f"{source}: layout {layout!r}, but this version of labelweave reads {_LAYOUT}: "
                "write the folder anew with `labelweave convert`"
            )
        try:
            header = cls(**fields)
        except TypeError as error:
            raise ValueError(f"{source}: damaged header: {error}") from error
        header._check(source)
        return header

    def _check(self, source: str) -> None:
        counts = {
            name: value
            for name, value in asdict(self).items()
            if name.startswith("n_")
            and not (value is None and name in ("n_entries", "n_train_rows"))
        }
        for name, value in counts.items():
            if type(value) is not int or value < 0:
                raise ValueError(f"{source}: damaged header: {name} is {value!r}")
        for name in ("feature_names", "label_names"):
            names = getattr(self, name)
            is_first = isinstance(names, str) and _NUMBERED.fullmatch(names)
            if not is_first and not _are_strings(names):
                raise ValueError(
                    f"{source}: damaged header: {name} must be names, or the first of them"
                )
        if not isinstance(self.name, str):
            raise ValueError(f"{source}: damaged header: name is {self.name!r}")


def stored_names(names: Sequence[str]) -> str | list[str]:
    """Return names as a header has them."""
    return f"{names.prefix}{names.start}" if isinstance(names, NumberedNames) else list(names)


def read_mapped(folder: FilePath, *, limits: Limits | None = None) -> Dataset:
    """Open a data set that `write_mapped` has written, without reading it into memory.

    Parameters
    ----------
    folder : path
        The folder.
    limits : Limits, optional
        Limits on the numbers of features and labels. The memory limit does not apply.

    Returns
    -------
    Dataset
        Its X, a ``csr_array`` or a dense array, and its Y, of int8, are memory maps: they are read
        from the files as they are needed, and cannot be changed. A sparse X keeps 4 bytes per row
        in memory.

    Examples
    --------
    >>> import tempfile
    >>> from labelweave.datasets import load_emotions, write_mapped
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_mapped(load_emotions(), folder)
    ...     data = read_mapped(folder)
    >>> data.n_rows, data.Y.dtype
    (593, dtype('int8'))
    """
    folder = Path(folder)
    if not (folder / HEADER).is_file():
        raise ValueError(
            f"{display_path(folder)}: not a data set: {HEADER} is missing; if it was being written "
            "when the process stopped, write it anew with `labelweave convert`"
        )
    header = Header.read(folder / HEADER)
    limits, n_bytes = limits or Limits(), sum(file.stat().st_size for file in folder.glob("*.npy"))
    limits.check_count(header.n_features, "features", n_bytes, display_path(folder))
    limits.check_count(header.n_labels, "labels", n_bytes, display_path(folder))
    shape = (header.n_rows, header.n_features)
    X = _open_csr(folder, header) if header.n_entries is not None else _open(folder, "X", shape)
    Y = _open(folder, "Y", (header.n_rows, header.n_labels), np.int8)
    train_rows = None
    if header.n_train_rows is not None:
        train_rows = np.array(_open(folder, "train_rows", (header.n_train_rows,), np.int64))
    names = {
        "feature_names": _names(header.feature_names, header.n_features),
        "label_names": _names(header.label_names, header.n_labels),
    }
    try:
        return Dataset(X, Y, name=header.name, train_rows=train_rows, **names)
    except ValueError as error:
        raise ValueError(f"{display_path(folder)}: damaged data set: {error}") from error


def _open(
    folder: Path, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64
) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    source = display_path(path)
    if not path.is_file():
        raise ValueError(f"{source}: this file of the data set is missing")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{source}: damaged: {error}") from error
    if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
        raise ValueError(
            f"{source}: {array.dtype} of shape {array.shape}, but {HEADER} says "
            f"{np.dtype(dtype)} of shape {shape}"
        )
    return np.asarray(array)  # a plain view: the operations of a memmap are slow


def _open_csr(folder: Path, header: Header) -> sparse.csr_array:
    n_entries = header.n_entries or 0
    data = _open(folder, "data", (n_entries,))
    indices = _open(folder, "indices", (n_entries,), np.int32)
    indptr = _open(folder, "indptr", (header.n_rows + 1,), np.int64)
    X = sparse.csr_array((header.n_rows, header.n_features), dtype=np.float64)
    small = indptr.astype(np.int32) if n_entries <= _MOST_SMALL else indptr
    X.data, X.indices, X.indptr = data, indices, small
    try:
        check_csr(X)
    except ValueError as error:
        raise ValueError(f"{display_path(folder)}: damaged data set: {error}") from error
    if X.indptr[-1] != n_entries or not rows_in_order(X):
        raise ValueError(
            f"{display_path(folder / 'indices.npy')}: damaged: columns of a row are out of order"
        )
    X.has_canonical_format = True
    return X


def _names(stored: str | list[str], count: int) -> Sequence[str]:
    found = _NUMBERED.fullmatch(stored) if isinstance(stored, str) else None
    return NumberedNames(found[1], count, int(found[2])) if found else stored


def _are_strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
