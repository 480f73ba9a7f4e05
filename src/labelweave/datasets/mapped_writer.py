"""Write data sets into folders that `read_mapped` opens, a batch of rows at a time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Floats, Indices
from labelweave._common.csr_blocks import row_blocks
from labelweave._common.features import canonical_csr
from labelweave._common.files import remove, replacing
from labelweave.datasets.compression import FilePath, dataset_name, display_path
from labelweave.datasets.dataset import Dataset, check_finite
from labelweave.datasets.growing_array import GrowingArray, growing_array
from labelweave.datasets.limits import Limits, format_size
from labelweave.datasets.mapped import HEADER, Header, read_mapped, stored_names
from labelweave.datasets.row_stream import RowBatch, RowStream

# Lines of text, and numbers of a dense matrix, that are in memory at a time.
_LINES = 10_000
_NUMBERS = 2**22
# The arrays of any data set; which of them there are depends on its kind.
_ARRAYS = ("data", "indices", "indptr", "X", "Y", "train_rows")

#: Opens the array of a name, a type and the shape of its rows.
_Open: TypeAlias = Callable[..., GrowingArray]


def write_mapped(
    source: Dataset | FilePath | Iterable[FilePath],
    folder: FilePath,
    *,
    zero_based: bool = False,
    name: str | None = None,
    limits: Limits | None = None,
) -> Dataset:
    r"""Write a data set into a folder, and open it there as `read_mapped` does.

    Text is read and written a batch of rows at a time, so it may be larger than the memory.

    Parameters
    ----------
    source : Dataset, path or iterable of paths
        A data set, or files of svmlight or XMC text, plain or compressed, whose rows follow one
        another. Headers of XMC files must agree in the numbers of features and labels. The labels
        of svmlight files are those that occur in any of them, in ascending order.
    folder : path
        The folder, which is made if need be. A data set that is there is replaced at the end; if
        there is an error before, it stays. So do other files.
    zero_based : bool, default=False
        Whether the feature indices of svmlight text start at 0.
    name : str, optional
        Name of the data set; by default that of the source.
    limits : Limits, optional
        Limits on the numbers of features and labels that a text may declare.

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

        def open_array(array: str, *shape: Any) -> GrowingArray:
            written.add(array)
            return stack.enter_context(growing_array(folder / f"{array}.npy", *shape))

        if isinstance(source, Dataset):
            header = _write_dataset(source, open_array)
        else:
            files = [source] if isinstance(source, str | os.PathLike) else list(source)
            most = limits or Limits()
            text = partial(
                RowStream,
                zero_based=zero_based,
                max_features=most.features,
                max_labels=most.labels,
            )
            header = _write_text(files, text, folder, open_array)
        # From here on, and until the new header is there, the folder is no data set.
        remove(folder / HEADER)
    for array in set(_ARRAYS) - written:
        remove(folder / f"{array}.npy")
    if name is not None:
        header = replace(header, name=name)
    with replacing(folder / HEADER) as file:
        file.write(header.to_json().encode())
    return read_mapped(folder, limits=limits)


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder, unless it is there; a new one goes again if nothing gets into it."""
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
        for block, entries in row_blocks(X):
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
        feature_names=stored_names(data.feature_names),
        label_names=stored_names(data.label_names),
        n_train_rows=None if data.train_rows is None else len(data.train_rows),
    )


def _write_matrix(matrix: NDArray[Any], array: GrowingArray) -> None:
    step = _rows_at_a_time(matrix.shape[1])
    for first in range(0, len(matrix), step):
        array.append(matrix[first : first + step])


def _rows_at_a_time(n_columns: int) -> int:
    return max(1, _NUMBERS // max(1, n_columns))


class _CsrRows:
    """The parts of a CSR matrix, to which rows are appended."""

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
    files: list[FilePath],
    read: Callable[[FilePath], RowStream],
    folder: Path,
    open_array: _Open,
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
    def told(sizes: tuple[int, int] | None) -> str:
        return f"{sizes[0]} features and {sizes[1]} labels" if sizes else "no header"

    return (
        f"{display_path(path)} has {told(sizes)}, but {display_path(first)} has {told(expected)}: "
        "they are not parts of one data set"
    )


class _LabelLists:
    """The label numbers of rows, kept in files until it is known which numbers there are."""

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
        """Return the numbers that occur, in ascending order."""
        return np.array(sorted(self._seen), dtype=np.int64)

    def write(self, known: Indices, array: GrowingArray, folder: Path) -> int:
        """Write the label matrix with a column for each known number; return its length."""
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
