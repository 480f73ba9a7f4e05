"""Data sets of any size in folders of arrays, written piece by piece and memory-mapped to read.

A folder holds X as ``data.npy``, ``indices.npy`` and ``indptr.npy`` (CSR) or as ``X.npy`` (dense),
the labels as ``Y.npy``, and ``header.json``, which is written last: a folder without it is
unfinished.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from labelweave._common.arrays import Floats, Indices
from labelweave._common.files import remove, replacing
from labelweave._common.matrices import canonical_csr, check_csr, entry_blocks, rows_in_order
from labelweave.data.dataset import Dataset, check_finite
from labelweave.data.files import FilePath, Limits, dataset_name, display_path, format_size
from labelweave.data.numbered_names import NumberedNames
from labelweave.data.row_text import RowBatch, RowStream


class _GrowingArray:
    """A .npy file that grows along its first axis while it is written."""

    def __init__(self, file: BinaryIO, dtype: DTypeLike, row_shape: tuple[int, ...]) -> None:
        self.n_rows = 0
        self._file, self._dtype, self._row_shape = file, np.dtype(dtype), row_shape
        self._write_header()

    def append(self, rows: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self.n_rows += len(rows)

    def finish(self) -> None:
        """Write the header again, now that the number of rows is known."""
        self._file.seek(0)
        self._write_header()

    def _write_header(self) -> None:
        # NumPy leaves room for a larger number of rows, so the size of the header does not change.
        npy.write_array_header_1_0(
            self._file,
            {
                "descr": npy.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self.n_rows, *self._row_shape),
            },
        )


@contextmanager
def _growing_array(
    path: Path, dtype: DTypeLike, row_shape: tuple[int, ...] = ()
) -> Iterator[_GrowingArray]:
    """Write a .npy file that takes its name only when it is complete."""
    with replacing(path) as file:
        array = _GrowingArray(file, dtype, row_shape)
        yield array
        array.finish()


HEADER = "header.json"
_FORMAT, _LAYOUT = "labelweave data set", 2
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
# More entries than this need 64-bit row starts; SciPy would then widen the column indices.
_MOST_SMALL = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Header:
    """The content of ``header.json``: `n_entries` is None if X is dense.

    A string in place of a list of names is the first of numbered names, such as ``x1``.
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
        return json.dumps({"format": _FORMAT, "layout": _LAYOUT, **asdict(self)}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> Header:
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
                "write the folder again with `labelweave convert`"
            )
        try:
            header = cls(**fields)
        except TypeError as error:
            raise ValueError(f"{source}: damaged header: {error}") from error
        header._check(source)
        return header

    def _check(self, source: str) -> None:
        for name, value in asdict(self).items():
            may_lack = value is None and name in ("n_entries", "n_train_rows")
            is_count = type(value) is int and value >= 0
            if name.startswith("n_") and not (may_lack or is_count):
                raise ValueError(f"{source}: damaged header: {name} is {value!r}")
        for name in ("feature_names", "label_names"):
            names = getattr(self, name)
            is_first = isinstance(names, str) and _NUMBERED.fullmatch(names)
            is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if not (is_first or is_list):
                raise ValueError(
                    f"{source}: damaged header: {name} must be names, or the first of them"
                )
        if not isinstance(self.name, str):
            raise ValueError(f"{source}: damaged header: name is {self.name!r}")


def _stored_names(names: Sequence[str]) -> str | list[str]:
    return f"{names.prefix}{names.start}" if isinstance(names, NumberedNames) else list(names)


def read_mapped(folder: FilePath, *, limits: Limits | None = None) -> Dataset:
    """Open a data set that `write_mapped` has written, without reading it into memory."""
    folder = Path(folder)
    if not (folder / HEADER).is_file():
        raise ValueError(
            f"{display_path(folder)}: not a data set: {HEADER} is missing; if it was being written "
            "when the process stopped, write it again with `labelweave convert`"
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
        array = npy.open_memmap(path, mode="r")
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


# The numbers of text lines and of dense entries that are in memory at a time.
_LINES = 10_000
_NUMBERS = 2**22
# The arrays of data sets of any kind.
_ARRAYS = ("data", "indices", "indptr", "X", "Y", "train_rows")

#: Opens a growing array, given its name, its type and the shape of a row.
_Open: TypeAlias = Callable[..., _GrowingArray]


def write_mapped(
    source: Dataset | FilePath | Iterable[FilePath],
    folder: FilePath,
    *,
    zero_based: bool = False,
    name: str | None = None,
    max_features: int | None = None,
    max_labels: int | None = None,
) -> Dataset:
    r"""Write a data set into a folder, and open it there without reading it into memory.

    Text is read and written a batch of rows at a time, so it may be larger than the memory. `load`
    opens the folder again.

    Parameters
    ----------
    source : Dataset, path or iterable of paths
        A data set, or files of svmlight or XMC text, plain or compressed, whose rows follow one
        another. Headers of XMC files must agree in the numbers of features and labels. The labels
        of svmlight files are those that occur in any of them, in ascending order.
    folder : path
        The folder, created if it does not exist. A data set that is already there is replaced at
        the end, and so survives earlier errors; other files are left alone.
    zero_based : bool, default=False
        Whether the feature indices of svmlight text start at 0.
    name : str, optional
        Name of the data set; by default the name of the source.
    max_features, max_labels : int, default=2^24, 2^17
        As in `load`.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for number, text in enumerate(["7 1:0.5\n", "3,7 2:1\n"]):
    ...         _ = Path(folder, f"part-{number}.svm").write_text(text)
    ...     parts = sorted(Path(folder).glob("*.svm"))
    ...     data = write_mapped(parts, Path(folder, "whole"))
    >>> data.label_names, data.Y.tolist(), data.X.toarray().tolist()
    (('3', '7'), [[0, 1], [1, 1]], [[0.5, 0.0], [0.0, 1.0]])
    """
    folder = Path(folder)
    written = set()
    with ExitStack() as stack:
        stack.enter_context(_made(folder))

        def open_array(array: str, *shape: Any) -> _GrowingArray:
            written.add(array)
            return stack.enter_context(_growing_array(folder / f"{array}.npy", *shape))

        if isinstance(source, Dataset):
            header = _write_dataset(source, open_array)
        else:
            files = [source] if isinstance(source, str | os.PathLike) else list(source)
            text = partial(
                RowStream, zero_based=zero_based, max_features=max_features, max_labels=max_labels
            )
            header = _write_text(files, text, folder, open_array)
        # From here until the new header is written, the folder is not a data set.
        remove(folder / HEADER)
    for array in set(_ARRAYS) - written:
        remove(folder / f"{array}.npy")
    if name is not None:
        header = replace(header, name=name)
    with replacing(folder / HEADER) as file:
        file.write(header.to_json().encode())
    return read_mapped(folder, limits=Limits.of(None, max_features, max_labels))


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Create a missing folder; after an error, remove it if it is new and empty."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise


def _write_dataset(data: Dataset, open_array: _Open) -> Header:
    if data.is_mixed:
        raise ValueError(
            f"{data.name!r} has categories or missing values: convert them to numbers first, see "
            "make_preprocessor"
        )
    X: Any = data.X
    if data.is_sparse:
        rows = _CsrRows(open_array)
        for block, entries in entry_blocks(X):
            rows.add(
                X.data[entries], X.indices[entries], np.diff(X.indptr[block.start : block.stop + 1])
            )
    else:
        _write_matrix(X, open_array("X", np.float64, X.shape[1:]))
    _write_matrix(data.Y, open_array("Y", np.int8, data.Y.shape[1:]))
    if data.train_rows is not None:
        open_array("train_rows", np.int64).append(data.train_rows)
    return Header(
        name=data.name,
        n_rows=data.n_rows,
        n_features=data.n_features,
        n_labels=data.n_labels,
        n_entries=rows.n_entries if data.is_sparse else None,
        feature_names=_stored_names(data.feature_names),
        label_names=_stored_names(data.label_names),
        n_train_rows=None if data.train_rows is None else len(data.train_rows),
    )


def _write_matrix(matrix: NDArray[Any], array: _GrowingArray) -> None:
    step = _rows_at_a_time(matrix.shape[1])
    for first in range(0, len(matrix), step):
        array.append(matrix[first : first + step])


def _rows_at_a_time(n_columns: int) -> int:
    return max(1, _NUMBERS // max(1, n_columns))


class _CsrRows:
    def __init__(self, open_array: _Open) -> None:
        self.n_entries = 0
        self._data, self._indices = open_array("data", np.float64), open_array("indices", np.int32)
        self._indptr = open_array("indptr", np.int64)
        self._indptr.append(np.zeros(1, np.int64))

    def add(self, data: Floats, indices: NDArray[Any], lengths: NDArray[Any]) -> None:
        self._data.append(data)
        self._indices.append(indices)
        self._indptr.append(self.n_entries + np.cumsum(lengths, dtype=np.int64))
        self.n_entries += len(data)


def _write_text(
    files: list[FilePath], read: Callable[[FilePath], RowStream], folder: Path, open_array: _Open
) -> Header:
    if not files:
        raise ValueError("there is no file to read")
    rows, n_features = _CsrRows(open_array), 0
    sizes: tuple[int, int] | None = None
    with TemporaryFile(dir=folder) as numbers, TemporaryFile(dir=folder) as lengths:
        labels = _LabelLists(numbers, lengths)
        for number, path in enumerate(files):
            with read(path) as stream:
                declared = stream.header[1:] if stream.header else None
                first_feature = stream.first_feature
                if number and declared != sizes:
                    raise ValueError(_disagreement(path, declared, files[0], sizes))
                sizes = declared
                for batch in stream.batches(_LINES):
                    X: Any = canonical_csr(batch.X)
                    check_finite(X.data)
                    rows.add(X.data, X.indices, np.diff(X.indptr))
                    labels.add(batch)
                    n_features = max(n_features, X.shape[1])
        known = labels.occurring() if sizes is None else np.arange(sizes[1])
        n_rows = labels.write(known, open_array("Y", np.int8, known.shape), folder)
    return Header(
        name=dataset_name(files[0]),
        n_rows=n_rows,
        n_features=sizes[0] if sizes else n_features,
        n_labels=len(known),
        n_entries=rows.n_entries,
        feature_names="f0" if sizes else f"x{first_feature}",
        label_names="l0" if sizes else [str(number) for number in known],
    )


def _disagreement(
    path: FilePath, sizes: tuple[int, int] | None, first: FilePath, expected: tuple[int, int] | None
) -> str:
    def described(sizes: tuple[int, int] | None) -> str:
        return f"{sizes[0]} features and {sizes[1]} labels" if sizes else "no header"

    return (
        f"{display_path(path)} has {described(sizes)}, but {display_path(first)} has "
        f"{described(expected)}: they are not parts of one data set"
    )


class _LabelLists:
    """The label numbers of the rows, kept in files until all occurring numbers are known."""

    def __init__(self, numbers: IO[bytes], lengths: IO[bytes]) -> None:
        self._numbers, self._lengths = numbers, lengths
        self._n_rows = 0
        self._seen: set[int] = set()

    def add(self, batch: RowBatch) -> None:
        lengths = np.diff(batch.label_starts).astype(np.int32)
        self._numbers.write(batch.labels.astype(np.int32, copy=False).tobytes())
        self._lengths.write(lengths.tobytes())
        self._seen.update(np.unique(batch.labels).tolist())
        self._n_rows += len(lengths)

    def occurring(self) -> Indices:
        return np.array(sorted(self._seen), dtype=np.int64)

    def write(self, known: Indices, array: _GrowingArray, folder: Path) -> int:
        """Write the label matrix with a column for each known number; return the number of rows."""
        _check_room(self._n_rows * len(known), folder)
        for numbers, lengths in self._read(_rows_at_a_time(len(known))):
            Y = np.zeros((len(lengths), len(known)), dtype=np.int8)
            Y[np.repeat(np.arange(len(lengths)), lengths), np.searchsorted(known, numbers)] = 1
            array.append(Y)
        return self._n_rows

    def _read(self, n_rows: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        self._numbers.seek(0)
        self._lengths.seek(0)
        while read := self._lengths.read(4 * n_rows):
            lengths = np.frombuffer(read, dtype=np.int32)
            yield np.frombuffer(self._numbers.read(4 * int(lengths.sum())), np.int32), lengths


def _check_room(n_bytes: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise ValueError(
            f"the label matrix takes {format_size(n_bytes)}, but {display_path(folder)} has room "
            f"for {format_size(free)}"
        )
